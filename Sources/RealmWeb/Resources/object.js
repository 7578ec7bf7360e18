// One object: as a form, as JSON and by the links to it; edited, deleted and created if the realm is writable.
import { api } from "./api.js";
import { ask, button, byId, count, digits, dim, el, own, plain, shown } from "./dom.js";
import { address, beginning, brief, full, localDate, nameOf, typeName } from "./values.js";

const textLimit = 200_000;
const editable = new Set(["int", "float", "double", "decimal", "string", "date", "bool", "objectId", "uuid"]);

export class ObjectPane {
  /** `events` has closed(), saved(version, what) and writable(). */
  constructor(pane, events) { Object.assign(this, { pane, events, tab: "form", edits: new Map(), generation: 0 }); }
  get isOpen() { return !this.pane.hidden; }
  get isEdited() { return this.edits.size > 0 || (this.editor && this.editor.value !== this.object.text); }
  shows(cls, key) { return this.isOpen && this.cls?.name === cls.name && this.key === key; }

  async show(cls, key) {
    if (this.shows(cls, key) && this.object) return;
    Object.assign(this, { cls, key, object: null, links: null, editor: null });
    this.edits.clear();
    this.pane.hidden = false;
    this.pane.replaceChildren(this.frame(dim("Loading…")));
    await this.load();
  }

  close() {
    this.generation += 1;
    this.pane.hidden = true;
    this.object = this.editor = null;
    this.edits.clear();
    this.pane.replaceChildren();
  }

  /** Fetches and draws the object, unless a later load has begun or the object is being edited. */
  async load() {
    const { cls, key } = this;
    const generation = this.generation += 1;
    const isCurrent = () => generation === this.generation;
    this.pane.setAttribute("aria-busy", "true");
    try {
      const [object, links] = await Promise.all([api.object(cls.name, key), api.backlinks(cls.name, key, 200)]);
      if (!isCurrent()) return;
      if (this.isEdited) return this.keepEdits();
      const top = byId("object-content")?.scrollTop ?? 0;
      Object.assign(this, { object, links });
      this.draw();
      byId("object-content").scrollTop = top;
    } catch (error) {
      if (!isCurrent()) return;
      if (this.isEdited) this.notice(error.message);
      else this.pane.replaceChildren(this.frame(problemLine(error.message)));
    } finally { if (isCurrent()) this.pane.setAttribute("aria-busy", "false"); }
  }

  /** Handles a commit by another program: shows the new content unless that would overwrite an edit. */
  async changedBy(change) {
    if (change === "delete") {
      this.pane.classList.add("gone");
      return this.notice("Another program deleted this object.");
    }
    if (this.isEdited) return this.keepEdits();
    await this.load();
    this.pane.classList.add("changed");
    return setTimeout(() => this.pane.classList.remove("changed"), 2500);
  }

  forget() { this.edits.clear(); this.editor = null; }
  keepEdits() {
    this.notice("Another program changed this object. Your edits are kept.", "Discard edits", () => this.reload());
  }

  /** Discards the edits and fetches the object. Anything typed before it arrives is a new edit. */
  async reload() {
    if (this.isEdited) { this.forget(); this.draw(); }
    await this.load();
  }

  notice(text, label, act) {
    const box = byId("object-notice");
    box.replaceChildren(el("p", {}, shown(text)), label ? button(label, act) : "");
    box.hidden = false;
  }

  frame(...content) {
    const label = this.object ? nameOf(this.cls, this.object.primaryKey, this.key) : `#${this.key}`;
    const close = button("×", () => this.events.closed(), {
      className: "quiet close", title: "Close (Esc)", set: { "aria-label": "Close the object" },
    });
    const remove = this.events.writable() && this.object && this.cls.kind !== "embedded"
      && button("Delete…", () => this.remove(), { className: "danger" });
    const heading = el("div", { className: "heading" },
      el("div", { className: "title" }, el("p", { className: "dim" }, shown(this.cls.name)), el("h2", {}, shown(label))),
      el("div", { className: "actions" }, remove || null, close));
    const box = document.createDocumentFragment();
    box.append(heading, el("div", { id: "object-notice", hidden: true, set: { role: "status" } }), ...content);
    return box;
  }

  draw() {
    this.pane.classList.remove("gone");
    const names = { form: "Form", json: "JSON", links: `Linked from ${digits(this.links.count)}` };
    const tabs = Object.entries(names).map(([name, label]) => button(label, () => this.switchTo(name), {
      id: `tab-${name}`, tabIndex: name === this.tab ? 0 : -1,
      set: { role: "tab", "aria-selected": name === this.tab, "aria-controls": "object-content" },
    }));
    const list = el("div", { className: "tabs", set: { role: "tablist", "aria-label": "Views of the object" } }, ...tabs);
    list.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      const order = Object.keys(names);
      this.switchTo(order.at((order.indexOf(this.tab) + step) % order.length));
      byId(`tab-${this.tab}`).focus();
      event.preventDefault();
    });
    const content = { form: () => this.form(), json: () => this.json(), links: () => this.backlinks() }[this.tab]();
    this.pane.replaceChildren(this.frame(list, el("div", {
      id: "object-content", className: `content ${this.tab}`, tabIndex: 0,
      set: { role: "tabpanel", "aria-labelledby": `tab-${this.tab}` },
    }, content)));
    if (this.events.writable() && this.tab !== "links") this.pane.append(this.saveBar());
    this.edited();
  }

  switchTo(tab) {
    if (this.isEdited) {
      this.notice("Save or discard the edits here first.", "Discard edits", () => this.reload());
      return;
    }
    this.tab = tab;
    this.editor = null;
    this.draw();
  }

  form() {
    const { problem } = this.object;
    return el("div", {}, problem ? problemLine(problem) : null, ...this.cls.properties.map((property) => this.field(property)));
  }

  field(property) {
    const { json, values, cut, errors } = this.object;
    // Links in rows include the object keys, which the JSON of the object does not contain.
    const isWhole = own(cut, property.name) === undefined && ["link", "mixed"].includes(property.kind);
    const known = own(isWhole || !json ? values : json, property.name);
    const value = property.kind === "int" ? known?.$numberLong ?? known : known;
    const problem = own(errors, property.name);
    const isKey = property.name === this.cls.primaryKey;
    const canEdit = this.events.writable() && json && editable.has(property.kind) && !property.collection && !isKey
      && (value === null || typeof value !== "object") && String(value).length <= textLimit
      // A form control would not show invisible characters.
      && plain(String(value).replaceAll("\n", "")) === String(value).replaceAll("\n", "");
    const id = `field-${this.cls.properties.indexOf(property)}`;
    const label = el(canEdit ? "label" : "span", { className: "label" }, shown(property.name),
      dim(plain(`${isKey ? "primary key, " : ""}${typeName(property)}`)));
    if (canEdit) label.htmlFor = id;
    const path = api.blobPath(this.cls.name, this.key, property.name);
    const blob = property.kind === "data" && !property.collection && value !== null
      && { property: property.name, download: () => api.download(path), url: () => api.ticketed(path) };
    const content = problem ? problemLine(problem) : canEdit ? this.control(property, value, id) : full(value, property, blob);
    return el("div", { className: "field" }, label, el("div", { className: "value" }, content));
  }

  control(property, value, id) {
    const change = (raw) => {
      if (raw === undefined) this.edits.delete(property.name);
      else this.edits.set(property.name, raw);
      this.edited();
    };
    if (property.kind === "bool") {
      const options = property.nullable ? ["true", "false", "null"] : ["true", "false"];
      const select = el("select", { id }, ...options.map((text) => el("option", { value: text, textContent: text })));
      select.value = String(value);
      select.addEventListener("change", () => change(select.value === String(value) ? undefined : select.value));
      return select;
    }
    const stored = value === null || value === undefined ? "" : String(value);
    const isLong = property.kind === "string" && (stored.length > 28 || stored.includes("\n"));
    const input = el(isLong ? "textarea" : "input", {
      id, value: stored, placeholder: value === null ? "null" : "", spellcheck: false, autocomplete: "off",
      title: property.kind === "date" && value !== null ? `${localDate(stored)} in local time` : "",
    });
    if (isLong) input.rows = Math.min(10, 1 + Math.ceil(stored.length / 40));
    else if (property.kind !== "string") input.inputMode = property.kind === "int" ? "numeric" : "text";
    let isNull = value === null;
    const update = () => {
      const unchanged = isNull ? value === null : value !== null && input.value === stored;
      input.placeholder = isNull ? "null" : "";
      change(unchanged ? undefined : isNull ? "null" : written(input.value, property));
    };
    input.addEventListener("input", () => { isNull = false; update(); });
    const clear = property.nullable && button("null", () => { input.value = ""; isNull = true; update(); }, {
      className: "quiet", title: "Set to null", set: { "aria-label": plain(`Set ${property.name} to null`) },
    });
    return el("div", { className: "control" }, input, clear || null);
  }

  json() {
    const { text, problem } = this.object;
    if (text === null) return problemLine(problem);
    if (!this.events.writable()) return beginning(text, "pre", textLimit);
    return this.editor = jsonEditor(text, { input: () => this.edited() });
  }

  backlinks() {
    const { links } = this.links;
    if (!links.length) return el("p", { className: "pad" }, dim("No object links to this one."));
    const isAll = links.length === Number(this.links.count);
    return el("div", {}, linkList(links), isAll ? null : el("p", { className: "pad" }, dim(`The first ${links.length} links.`)));
  }

  saveBar() {
    const review = button("Review and save…", () => this.save(), { id: "review", className: "primary" });
    return el("div", { id: "save-bar", hidden: true },
      el("p", { id: "save-problem", className: "problem", hidden: true, set: { role: "alert" } }),
      el("div", { className: "actions" }, button("Discard", () => this.reload()), review));
  }

  edited() {
    const bar = byId("save-bar");
    if (!bar) return;
    bar.hidden = !this.isEdited;
    byId("save-problem").hidden = true;
  }

  /** The changed properties as JSON; for an edited text, only those that differ, so that other changes are kept. */
  body() {
    const changed = this.editor ? differing(this.object.text, this.editor.value) : this.edits;
    return `{${[...changed].map(([name, raw]) => `${JSON.stringify(name)}:${raw}`).join(",")}}`;
  }

  async save() {
    if (!this.isEdited) return;
    const { cls, key } = this;
    const label = nameOf(cls, this.object.primaryKey, key);
    const problem = byId("save-problem");
    let body, preview;
    try {
      body = this.body();
      preview = await api.preview(cls.name, key, body);
      if (!preview.changes.length) throw new Error("nothing would change");
    } catch (error) {
      problem.replaceChildren(shown(error.message));
      problem.hidden = false;
      return;
    }
    const rows = preview.changes.map((change) => el("tr", {}, el("th", { scope: "row" }, shown(change.property)),
      el("td", { className: "from" }, shown(brief(change.from, 400))), el("td", { className: "to" }, shown(brief(change.to, 400)))));
    const head = el("tr", {}, ...["Property", "From", "To"].map((text) => el("th", { scope: "col", textContent: text })));
    await ask({
      title: "Save these changes?", action: "Save", content: [el("table", { className: "changes" }, head, ...rows)],
      confirm: async () => {
        const { version } = await api.save(cls.name, key, body, preview.expect);
        this.events.saved(version, `Saved ${cls.name} ${label}`);
        if (this.shows(cls, key)) await this.reload();
      },
    });
  }

  async remove() {
    const { cls, key } = this;
    const label = nameOf(cls, this.object.primaryKey, key);
    const preview = await api.previewDelete(cls.name, key).catch((error) => this.notice(error.message));
    if (!preview) return;
    const total = Number(preview.count);
    const content = total
      ? [el("p", { textContent: `${count(total, "link")} to it will be cut:` }), linkList(preview.links, { isPlain: true })]
      : [el("p", { textContent: "No object links to it." })];
    await ask({
      title: el("span", {}, "Delete ", shown(`${cls.name} ${label}`), "?"), action: "Delete", danger: true, content,
      confirm: async () => {
        const { version } = await api.delete(cls.name, key, preview.expect);
        this.events.saved(version, `Deleted ${cls.name} ${label}`);
        if (this.shows(cls, key)) { this.forget(); this.events.closed(); }
      },
    });
  }
}

/** The text of a form's control as JSON. The server rejects values that do not fit the property. */
function written(text, property) {
  const isPlain = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text.trim());
  if (["int", "float", "double"].includes(property.kind)) {
    if (isPlain) return text.trim();
    if (/^(NaN|-?Infinity)$/.test(text.trim())) return JSON.stringify({ $numberDouble: text.trim() });
  }
  return JSON.stringify(text);
}

/** The properties of the object in `text` that differ from those in `former`, as JSON. */
function differing(former, text) {
  const before = members(former);
  return [...members(text)].filter(([name, source]) => before.get(name) !== source);
}

/** The members of a JSON object as text, so that numbers stay as written. */
function members(text) {
  const found = new Map();
  if (Object.prototype.toString.call(JSON.parse(text)) !== "[object Object]") throw new Error("expected an object: { … }");
  let depth = 0, name, value = "";
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|\S/g)) {
    if (token === "}" || token === "]") depth -= 1;
    if (depth === 0 || depth === 1 && token === ",") {
      if (name) found.set(JSON.parse(name), value);
      [name, value] = [undefined, ""];
    } else if (!name) name = token;
    else if (depth > 1 || value || token !== ":") value += token;
    if (token === "{" || token === "[") depth += 1;
  }
  return found;
}

/** Links to an object, by class and property. */
function linkList(links, { isPlain = false } = {}) {
  const groups = new Map(links.map((link) => [groupName(link), []]));
  for (const link of links) groups.get(groupName(link)).push(link);
  return el("div", { className: "links" }, ...[...groups].map(([name, members]) => el("section", {},
    el("h3", {}, shown(name), dim(` ${members.length}`)), el("ul", {}, ...members.map((link) => {
      const label = shown(link.label ?? `#${link.key}`);
      return el("li", {}, isPlain ? label : el("a", { className: "link", href: address(link.class, link.key) }, label));
    })))));
}

const jsonEditor = (value, on) =>
  el("textarea", { className: "json", value, spellcheck: false, set: { "aria-label": "The object as JSON" }, on });
const groupName = (link) => `${link.class}.${link.property}`;
const problemLine = (text) => el("p", { className: "problem pad", set: { role: "alert" } }, shown(text));

const defaults = { int: 0, float: 0, double: 0, bool: false };

/** Asks for a new object as JSON; the initial text contains the required properties. */
export function create(cls, saved) {
  const lines = cls.properties.filter((property) => property.name === cls.primaryKey
    || (!property.collection && !property.nullable))
    .map((property) => `  ${JSON.stringify(property.name)}: ${defaults[property.kind] ?? "\"\""}`);
  const editor = jsonEditor(`{\n${lines.join(",\n")}\n}`);
  editor.rows = Math.min(20, lines.length + 3);
  return ask({
    title: el("span", {}, "New ", shown(cls.name)), action: "Create", content: [editor],
    confirm: async () => saved(await api.create(cls.name, editor.value)),
  });
}
