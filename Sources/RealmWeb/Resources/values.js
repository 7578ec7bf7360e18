// Values as shown in the table and the object view, and as written in queries and edits.
import { button, bytes, count, dim, el, own, plain, shown } from "./dom.js";

const kinds = { object: "link", decimal128: "decimal", any: "mixed", linkingObjects: "backlinks" };

/** Adds to each class a Map of its properties, and to each property its kind, which determines how it is shown. */
export function prepare(list) {
  const classes = new Map(list.map((cls) => [cls.name, cls]));
  for (const cls of list) {
    for (const property of cls.properties) {
      const target = property.target && classes.get(property.target);
      property.kind = target ? (target.kind === "embedded" ? "embedded" : "link")
        : kinds[property.type] ?? property.type;
      property.targetClass = target;
    }
    cls.byName = new Map(cls.properties.map((property) => [property.name, property]));
  }
  return classes;
}

/** The name of a property's type, such as "list of Dog?". */
export function typeName(property) {
  const element = (property.target ?? kinds[property.type] ?? property.type)
    + (property.nullable && property.kind !== "link" ? "?" : "");
  return property.collection ? `${property.collection} of ${element}` : element;
}

const numbers = new Set(["int", "float", "double", "decimal"]);
export const isNumber = (property) => numbers.has(property.kind) && !property.collection;

/** The decoded size of base64 text in bytes. */
const decodedSize = (text) => Math.max(0, Math.floor(text.length * 3 / 4) - (text.match(/=*$/)?.[0].length ?? 0));

/** Decodes the first bytes of base64 text; the limit is divisible by 3. */
const decode = (text, limit) =>
  Uint8Array.from(atob(text.slice(0, limit / 3 * 4)), (character) => character.charCodeAt(0));
const hex = (data) => [...data].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");

/** The text in these bytes, or null if they are not printable UTF-8. */
function textIn(data) {
  const text = new TextDecoder().decode(data, { stream: true });
  return /^[^\u0000-\u0008\u000e-\u001f\u007f\ufffd]+$/.test(text) ? text : null;
}

const two = (number) => String(number).padStart(2, "0");

/** A date of a realm in local time, with its stored fraction of a second; null if it is not a date. */
export function localDate(text) {
  const date = new Date(text);
  if (!/^\d{4}-/.test(text) || Number.isNaN(date.getTime())) return null;
  const day = `${String(date.getFullYear()).padStart(4, "0")}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const fraction = /\.\d+/.exec(text)?.[0] ?? "";
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}${fraction}`;
}

/** A dictionary without its wrapper; pairs, for names that are not UTF-8, become members. */
function unwrapped(value) {
  const inner = own(value, "$dictionary");
  if (!inner || typeof inner !== "object" || Object.keys(value).length > 1) return value;
  if (!Array.isArray(inner) || !inner.every(Array.isArray)) return inner;
  return Object.fromEntries(inner.map(([name, element]) => [brief(name, 1000), element]));
}

/** Resolves Extended JSON: the kind of a value and the value itself. */
function typed(value, kind) {
  if (value === null || value === undefined) return ["null", null];
  if (typeof value === "boolean") return ["bool", value];
  if (Array.isArray(value)) return ["list", value];
  if (typeof value !== "object") {
    if (kind !== "mixed") return [kind, value];
    return [typeof value === "string" ? "string" : "double", value];
  }
  const names = Object.keys(value);
  const inner = value[names[0]];
  // Rows represent all kinds of links in this format, including links to embedded objects.
  if (["link", "embedded", "mixed"].includes(kind) && names.join() === "class,key,label") return ["link", value];
  if (kind === "embedded") return ["embedded", value];
  switch (names[0]) {
    case "$numberLong": case "$numberInt": return ["int", inner];
    case "$numberDouble": case "$numberFloat": return ["double", inner];
    case "$numberDecimal": return ["decimal", inner];
    case "$oid": return ["objectId", inner];
    case "$uuid": return ["uuid", inner];
    case "$ref": return ["link", { class: value.$ref, id: own(value, "$id"), key: own(value, "key") }];
    case "$link": return ["link", inner];
    case "$binary": return ["data", inner?.base64 ?? ""];
    case "$invalidString": return ["invalid", inner?.base64 ?? ""];
    case "$date": return typeof inner === "string" ? ["date", inner]
      : ["date", `${brief(inner?.seconds ?? inner?.$numberLong, 80)} s since 1970`];
    case "$dictionary": return ["dictionary", unwrapped(value)];
    default: return ["dictionary", value];
  }
}

/** The address of a class or of an object: `key` is its object key, or "=" and its primary key. */
export function address(cls, key, { query, sort } = {}) {
  const parameters = new URLSearchParams();
  if (query) parameters.set("query", query);
  if (sort) parameters.set("sort", sort);
  const path = `#/${encodeURIComponent(cls)}${key === undefined ? "" : `/${encodeURIComponent(key)}`}`;
  return parameters.size ? `${path}?${parameters}` : path;
}

/** JSON in which dictionaries are shown without their wrappers. */
const json = (value) => JSON.stringify(value, (key, inner) => inner && typeof inner === "object" ? unwrapped(inner) : inner);

/** A link: rows contain the object key, complete objects the primary key or, without one, the object key. */
export function linkTo(value, property) {
  const cls = value?.class ?? property?.target;
  const id = value?.id !== undefined ? value.id : value?.key === undefined ? value : undefined;
  const byKey = property?.targetClass?.primaryKey === null && id !== undefined ? String(id) : undefined;
  const key = value?.key ?? byKey ?? `=${JSON.stringify(id)}`;
  const label = value?.label ?? typed(id, "mixed")[1] ?? (property?.kind === "embedded" ? cls : `#${value.key}`);
  return el("a", { className: "link", href: address(cls, key), title: plain(`${cls} ${label}`) },
    shown(label === "" ? "(empty)" : String(label)));
}

/** The result of `make` for a value. A value that resembles Extended JSON may not be displayable. */
function safely(make) {
  try { return make(); } catch { return el("span", { className: "problem", textContent: "unreadable" }); }
}

/** The content of a cell: one line, with links. `size` is the full size of a truncated value. */
export const cell = (value, property, size) => safely(() => content(value, property, size));

function content(value, property, size) {
  if (value === undefined) return dim("…");
  if (property.collection && value !== null) return summary(unwrapped(value), property, size);
  const [kind, inner] = typed(value, property.kind);
  switch (kind) {
    case "null": return dim("null");
    case "link": return linkTo(inner, property);
    case "data": case "invalid": return binary(inner, size);
    case "date": return date(inner);
    case "string":
      return el("span", { className: kind }, shown(inner), size ? dim(`… ${bytes(size)}`) : inner ? "" : dim("empty"));
    case "embedded": case "list": case "dictionary": return summary(inner, property, size);
    default: return shown(String(inner), { className: kind });
  }
}

function date(text) {
  const local = localDate(text);
  return el("time", { dateTime: local ? text : "", title: local ? `${text} (UTC)` : "" }, local ?? plain(text));
}

function binary(text, size) {
  const data = decode(text, 24);
  return el("span", { className: "binary" }, dim(bytes(size ?? decodedSize(text))), ` ${hex(data)}`);
}

/** The elements of a collection, with their names. */
const elements = (value) => Array.isArray(value) ? value.map((element) => [null, element]) : Object.entries(value);

/** A collection or an embedded object on one line. `size` is the full size of a truncated collection. */
function summary(value, property, size) {
  const entries = elements(value);
  const total = size ?? entries.length;
  const line = el("span", { className: "summary" });
  if (property.collection || Array.isArray(value)) line.append(dim(`${total} `));
  const target = property.kind === "embedded" && property.targetClass;
  if (property.collection && property.kind === "embedded") return line.append(property.target) ?? line;
  for (const [index, [name, element]] of entries.slice(0, 8).entries()) {
    if (index) line.append(", ");
    if (name !== null) line.append(shown(name, { className: "name" }), " ");
    const inner = target && !property.collection ? target.byName.get(name) : { ...property, collection: null };
    line.append(short(element, inner ?? { kind: "mixed" }));
  }
  if (total > Math.min(8, entries.length)) line.append(dim(", …"));
  return line;
}

/** A value within a line: nested collections and objects are not expanded. */
function short(value, property) {
  if (Array.isArray(value)) return dim(count(value.length, "value"));
  const isNested = ["embedded", "dictionary"].includes(typed(value, property.kind)[0]);
  return isNested ? safely(() => shown(brief(value, 80))) : cell(value, property);
}

/** The beginning of a value as JSON, or of a string as text. */
export function brief(value, limit) {
  const text = typeof value === "string" ? value : value?.$numberLong ?? json(value) ?? "nothing";
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

/** The value in the object view: collections and embedded objects expand. `at` is the URL of a binary value. */
export const full = (value, property, at) => safely(() => opened(value, property, at));

function opened(value, property, at) {
  if (property.collection && value !== null && value !== undefined) return folded(unwrapped(value), property, null);
  const [kind, content] = typed(value, property.kind);
  switch (kind) {
    case "string": return beginning(content, "span", 1000);
    case "data": return blob(content, at);
    case "embedded": return folded(content, property, property.targetClass);
    case "list": case "dictionary": return folded(content, { ...property, kind: "mixed" }, null);
    default: return cell(value, property);
  }
}

/** A text; for a long one, the beginning and a button for the rest. */
export function beginning(text, tag, limit) {
  if (text === "") return dim("empty");
  const box = el(tag, { className: "text" }, shown(text.slice(0, limit), { lines: true }));
  if (text.length <= limit) return box;
  const all = button(`Show all ${count(text.length, "character")}`, () => {
    box.replaceChildren(shown(text, { lines: true }));
    all.remove();
  });
  return el("div", {}, box, all);
}

/** Bytes: an image or text if they are one, otherwise the first bytes in hexadecimal; with a link to all bytes. */
function blob(text, at) {
  const size = decodedSize(text);
  const data = decode(text, 1500);
  const written = textIn(data);
  const link = at ? button("Download", () => at.download()) : "";
  const box = el("div", { className: "blob" }, el("p", {}, dim(bytes(size)), " ", link));
  if (at && isImage(data)) showImage(box, at);
  else if (written) box.append(el("pre", {}, shown(written, { lines: true }), size > 1500 ? "…" : ""));
  else if (size) box.append(el("pre", { className: "hex" }, hex(data.slice(0, 64)), size > 64 ? " …" : ""));
  return box;
}

const isImage = (data) =>
  /^(\u0089PNG|\u00ff\u00d8\u00ff|GIF8|RIFF[^]{4}WEBP)/.test(String.fromCharCode(...data.slice(0, 12)));

async function showImage(box, at) {
  const damaged = () => image.replaceWith(dim("damaged image"));
  const image = el("img", { alt: plain(`Image in ${at.property}`), on: { error: damaged } });
  box.append(image);
  image.src = await at.url().catch(() => "");
}

/** A collection or an embedded object. Its content is created when it is expanded, a thousand elements at a time. */
function folded(value, property, target) {
  const entries = elements(value);
  if (!entries.length) return dim(target ? "{ }" : `empty ${property.collection ?? "collection"}`);
  const head = el("summary", { data: { open: target ? plain(target.name) : count(entries.length, "value") } },
    summary(value, property));
  const rows = el("dl", { className: "fold" });
  const details = el("details", {}, head, rows);
  let made = 0;
  const more = () => {
    for (const [name, element] of entries.slice(made, made + 1000)) {
      const inner = target ? target.byName.get(name) : { ...property, collection: null };
      rows.append(el("dt", {}, name === null ? dim(String(made)) : shown(name)),
        el("dd", {}, full(element, inner ?? { kind: "mixed" })));
      made += 1;
    }
    if (made === entries.length) return;
    const next = button(count(entries.length - made, "more element"), () => { next.remove(); more(); });
    rows.append(next);
  };
  const open = () => { if (details.open && !made) more(); };
  details.addEventListener("toggle", open);
  details.open = Boolean(target);
  open();
  return details;
}

const keywords = new Set(("and or not in any all none some between contains beginswith endswith like true false null nil "
  + "sort distinct limit subquery truepredicate falsepredicate ascending descending asc desc oid uuid obj binary "
  + "geowithin inf infinity nan first last size").split(" "));

/** A property's name as written in a query. */
export const quoted = (name) => /^[A-Za-z_]\w*$/.test(name) && !keywords.has(name.toLowerCase())
  ? name : `\`${name.replaceAll("`", "``")}\``;

/** A value as written in a query, or null if a query cannot express it. */
export function literal(value, property) {
  const [kind, content] = typed(value, property.kind);
  if (content !== null && typeof content === "object") return null;
  switch (kind) {
    case "null": return "NULL";
    case "string": return JSON.stringify(content);
    case "objectId": return `oid(${content})`;
    case "uuid": return `uuid(${content})`;
    case "data": return `B64${json(content)}`;
    case "bool": case "int": case "float": case "double": case "decimal": case "date": return String(content);
    default: return null;
  }
}

/** The condition that finds objects with this value of a property, or null if a query cannot express it. */
export function condition(property, value) {
  const target = property.targetClass;
  const id = property.kind === "link" && value !== null && target.byName.get(target.primaryKey);
  const text = id ? literal(value.label, id) : literal(value, property);
  // Longer values are truncated.
  if (text === null || new TextEncoder().encode(text).length > (id ? 78 : 250)) return null;
  return `${quoted(property.name)}${id ? `.${quoted(id.name)}` : ""} == ${text}`;
}

/** The query that finds one object by its primary key, given as JSON. */
export function findByPrimaryKey(cls, id) {
  const property = cls.byName.get(cls.primaryKey);
  return `${quoted(cls.primaryKey)} == ${literal(id, property)}`;
}

/** The name of an object: its primary key or, if its class has none, its object key. */
export function nameOf(cls, id, key) {
  if (!cls.primaryKey) return `#${key}`;
  return id === "" ? "(empty)" : String(typed(id, "mixed")[1]);
}
