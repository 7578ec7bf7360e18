// The page: addresses, panes, keys, and the reaction to commits.
import { answered, api, ownVersions } from "./api.js";
import { ask, byId, bytes, closePopup, count, digits, dim, el, menu, on, plain, shown } from "./dom.js";
import { follow } from "./live.js";
import { create, ObjectPane } from "./object.js";
import { QueryLine, showFacets, splitOrder } from "./query.js";
import { SchemaDrawing } from "./schema.js";
import { Table } from "./table.js";
import { address, findByPrimaryKey, prepare } from "./values.js";

const state = { info: {}, classes: new Map(), route: {}, ownVersion: null, counting: Promise.resolve(), versions: [] };
/** True if the realm can be changed and the newest version is shown. */
const canWrite = () => state.info.writable && api.version === undefined;
const narrow = matchMedia("(max-width: 760px)");

// Addresses: #/CLASS?query=..&sort=.., #/CLASS/KEY, #/?search=.., #/?view=schema

function parse(hash) {
  const [path, parameters = ""] = hash.replace(/^#\/?/, "").split("?");
  const values = new URLSearchParams(parameters);
  let names = [];
  try { names = path.split("/").map(decodeURIComponent); } catch { /* An address that was typed. */ }
  return {
    cls: names[0] || undefined, key: names[1] || undefined, query: values.get("query") ?? "",
    sort: values.get("sort") ?? "", search: values.get("search"), schema: values.get("view") === "schema",
  };
}

/** Navigates to an address; the position in the table is kept for the way back. */
function go(hash, { replace = false } = {}) {
  if (hash === location.hash) return show();
  keepPlace();
  history[replace ? "replaceState" : "pushState"](replace ? history.state : null, "", hash);
  return show();
}

function keepPlace() {
  if (state.shown === location.hash && state.route.cls) {
    history.replaceState({ ...history.state, position: table.position }, "", location.hash);
  }
}

async function show() {
  const route = parse(location.hash);
  const former = state.route;
  closePopup();
  if (object.isEdited && (route.cls !== former.cls || route.key !== former.key)) {
    const content = [el("p", { textContent: "The object has edits that are not saved." })];
    if (!await ask({ title: "Discard the edits?", action: "Discard", danger: true, content })) {
      history.pushState(null, "", state.shown || "#/");
      return;
    }
    object.close();
  }
  state.shown = location.hash;
  if (route.cls && !state.classes.has(route.cls)) { message(`There is no class ${plain(route.cls)}.`); return; }
  if (route.key?.startsWith("=")) { resolve(route); return; }
  state.route = route;
  byId("search").value = route.search ?? "";
  const cls = state.classes.get(route.cls);
  view(route.search !== null ? "search" : route.schema ? "schema" : cls ? (route.key ? "object" : "table") : "classes");
  markClass();
  document.title = [cls && plain(cls.name), plain(state.info.file ?? ""), "realmfs"].filter(Boolean).join(" – ");
  if (route.schema) showSchema();
  else if (route.search !== null) showSearch(route.search);
  else if (cls) showClass(cls, route, former);
  else {
    byId("message").textContent = "Choose a class.";
    object.close();
  }
}

function showClass(cls, route, former) {
  const same = table.cls && ["cls", "query", "sort"].every((name) => former[name] === route[name]);
  byId("table-title").replaceChildren(shown(cls.name));
  byId("create").hidden = !canWrite() || cls.kind === "embedded";
  query.show(cls, state.classes, route.query);
  table.selected = route.key;
  query.showError(null);
  if (same) table.render();
  else table.show(cls, { ...route, position: history.state?.position });
  if (route.key) object.show(cls, route.key);
  else object.close();
}

/** Finds the object for an address that contains a primary key. */
async function resolve(route) {
  const cls = state.classes.get(route.cls);
  try {
    const answer = await api.rows(cls.name, { query: findByPrimaryKey(cls, JSON.parse(route.key.slice(1))), limit: 1 });
    if (!answer.rows.length) return message(`${plain(cls.name)} has no object ${plain(route.key.slice(1))}.`);
    return go(address(cls.name, answer.rows[0].key), { replace: true });
  } catch (error) { return message(error.message); }
}

function message(text) {
  byId("message").replaceChildren(shown(text));
  object.close();
  view("message");
}

function view(name) {
  document.body.dataset.view = name;
  const main = { object: "table", classes: "table" }[name] ?? name;
  const visible = main === "table" && !state.route.cls ? "message" : main;
  for (const other of ["table", "search", "schema", "message"]) byId(`${other}-view`).hidden = other !== visible;
  byId("show-schema").setAttribute("aria-pressed", String(name === "schema"));
}

function drawClasses() {
  const wanted = byId("class-filter").value.trim().toLowerCase();
  const classes = [...state.classes.values()].filter((cls) => cls.name.toLowerCase().includes(wanted));
  const order = (a, b) => (a.kind === "embedded") - (b.kind === "embedded")
    || a.name.localeCompare(b.name, "en", { numeric: true });
  byId("class-list").replaceChildren(...classes.sort(order).map((cls) => {
    const tag = cls.damage ? "damaged" : cls.kind === "object" ? "" : cls.kind;
    return el("li", {}, el("a", { href: address(cls.name), title: plain(cls.damage ?? cls.name), data: { cls: cls.name } },
      shown(cls.name, { className: "name" }), tag && el("span", { className: "tag", textContent: tag }),
      el("span", { className: "count", textContent: digits(cls.count) })));
  }));
  if (!classes.length) byId("class-list").append(dim(state.classes.size ? "No such class." : "No classes."));
  markClass();
}

function markClass() {
  for (const link of byId("class-list").querySelectorAll("a")) {
    link.ariaCurrent = link.dataset.cls === state.route.cls ? "page" : null;
  }
}

async function loadClasses() {
  const answer = await api.classes();
  state.classes = prepare(answer.classes);
  byId("version").textContent = `Version ${answer.version}`;
  drawClasses();
  const cls = state.classes.get(state.route.cls);
  if (cls && table.cls) table.cls = cls;
  return answer.version;
}

let searching = null;

async function showSearch(text) {
  searching?.abort();
  const abort = searching = new AbortController();
  object.close();
  byId("search-title").replaceChildren("Search ", shown(text));
  byId("search-count").textContent = "Searching…";
  byId("search-hits").replaceChildren();
  let answer;
  try { answer = await api.search(text, abort.signal); } catch (error) {
    if (error.name !== "AbortError") byId("search-count").replaceChildren(shown(error.message));
    return;
  }
  const { hits } = answer;
  byId("search-count").textContent = `${count(hits.length, "hit")}${answer.complete ? "" : "; there are more"}`;
  byId("search-hits").replaceChildren(el("ul", { className: "hits" }, ...hits.map((hit) => el("li", {},
    el("a", { href: address(hit.class, hit.key) }, shown(`${hit.class}.${hit.property}`, { className: "dim" }),
      shown(hit.excerpt))))));
}

function showSchema() {
  object.close();
  schema.show(state.classes);
  const links = [...state.classes.values()].flatMap((cls) => cls.properties.filter((property) => property.target));
  byId("schema-count").textContent = `${count(state.classes.size, "class", "classes")}, ${count(links.length, "link")}`;
  if (narrow.matches) schema.fit();
}

function announce(text) { byId("news").replaceChildren(shown(text)); }

/** Counts the objects again: once for several commits, and one request at a time. */
function countAgain() {
  state.timer ??= setTimeout(() => {
    state.counting = state.counting.then(() => { state.timer = null; return loadClasses(); }).catch(failed);
  }, 50);
}

async function committed({ version, changes, more }) {
  state.version = version;
  const isShown = !byId("timeline").hidden;
  if (isShown) state.versions.push({ version, state: "whole" });
  if (api.version !== undefined) return announce(`Version ${version} was committed`);
  if (isShown) drawTimeline(state.versions.length - 1);
  countAgain();
  // Only when no change is in progress is it known whether a commit was made here.
  await answered();
  const isOwn = ownVersions.has(version);
  if (!isOwn && (more || version > state.ownVersion)) setUndo(null);
  if (more) table.reload({ keep: true });
  else table.changedBy(changes);
  const here = changes.find((change) => change.cls === state.route.cls && change.key === state.route.key);
  if (object.isOpen && !isOwn && (here || more)) object.changedBy(here?.change ?? "update");
  if (!isOwn) announce(`Version ${version}: ${more ? "many objects" : count(changes.length, "object")} changed`);
}

// Former versions and deleted objects

async function showVersions() {
  if (!byId("timeline").hidden) return closeVersions();
  announce("Looking for versions…");
  try {
    const { versions } = await api.versions();
    state.versions = versions.filter((version) => version.state !== "partial").reverse();
  } catch (error) { return announce(error.message); }
  announce(`${count(state.versions.length, "version")} in the file`);
  byId("timeline").hidden = false;
  byId("show-versions").setAttribute("aria-pressed", "true");
  drawTimeline(state.versions.length - 1);
  return byId("slider").focus();
}

function closeVersions() {
  byId("timeline").hidden = true;
  byId("show-versions").setAttribute("aria-pressed", "false");
  return showVersion(state.versions.length - 1);
}

function drawTimeline(index) {
  const slider = byId("slider");
  const { version, state: name } = state.versions[index] ?? {};
  const note = index === state.versions.length - 1 ? ", newest" : name === "whole" ? "" : `, ${name}`;
  const text = `${version}${note}`;
  Object.assign(slider, { max: Math.max(0, state.versions.length - 1), value: index });
  slider.setAttribute("aria-valuetext", text);
  byId("slider-text").textContent = text;
  slider.title = name === "unproven" ? "Later commits may have overwritten values of this version." : "";
}

/** Shows one of the versions in the file. */
async function showVersion(index) {
  drawTimeline(index);
  const wanted = index < state.versions.length - 1 ? state.versions[index].version : undefined;
  if (wanted === api.version) return;
  if (object.isEdited) {
    drawTimeline(state.versions.length - 1);
    return announce("Save or discard the edits of the object first.");
  }
  const former = api.version;
  api.version = wanted;
  byId("show-deleted").hidden = wanted !== undefined;
  table.showDeleted([]);
  try { await loadClasses(); } catch (error) {
    // The file may no longer hold the version.
    api.version = former;
    announce(error.message);
    return drawTimeline(state.versions.findIndex(({ version }) => version === former));
  }
  object.close();
  setUndo(null);
  table.cls = null;
  return show();
}

async function showDeleted() {
  if (table.deletedRows.length) return table.showDeleted([]);
  const { cls } = state.route;
  announce("Looking for deleted objects…");
  try {
    const { rows, more } = await api.deleted(cls);
    if (cls !== state.route.cls) return undefined;
    announce(`${count(rows.length, "deleted object")} of ${plain(cls)} in the file${more ? "; there are more" : ""}`);
    return table.showDeleted(rows);
  } catch (error) { return announce(error.message); }
}

/** Shows the last state of a deleted object. */
const showFormer = (row) => ask({
  title: `Deleted after version ${row.lastVersion}`, content: [
    row.confidence === "certain" ? null : el("p", { textContent: "Some values may be those of another state." }),
    el("pre", {}, shown(JSON.stringify(row.json, null, 2), { lines: true })),
  ].filter(Boolean),
});

/** Offers to undo the last change made here. */
function setUndo(version, text) {
  state.ownVersion = version;
  byId("undo").hidden = version === null;
  if (text) announce(text);
}

async function undo() {
  try {
    const { version } = await api.undo(state.ownVersion);
    setUndo(null, `Undone; now version ${version}`);
    if (object.isOpen) object.load();
  } catch (error) {
    announce(error.message);
    if (error.status === 409) setUndo(null);
  }
}

const failed = (error) => error.status === 400 ? query.showError(error) : announce(error.message);
const states = { connecting: "Connecting…", live: "Live", lost: "Connection lost; trying again…", ended: "Ended" };

async function quit() {
  const done = await ask({
    title: "End realmfs browse?", content: [el("p", { textContent: "The page can then be closed." })], action: "Quit",
    confirm: () => api.quit(),
  });
  if (!done) return;
  state.ended = true;
  endFollowing();
  message("realmfs browse has ended. You can close this page.");
}

const keys = [
  ["/", "Query line"], ["s", "Search all classes"], ["c", "Classes"], ["t", "Table"], ["o", "Object"], ["g", "Schema"], ["v", "Versions"], ["d", "Deleted objects"],
  ["↑ ↓ ← →", "Cell; the heads of the columns are above the first row"], ["Page Up, Page Down", "A screen of rows"],
  ["Ctrl+Home, Ctrl+End", "First and last row"], ["Enter", "Open the object; sort at a column head"],
  ["f", "Follow the link in the cell"], ["m", "Menu of the column"], ["Shift+← →", "Width of the column, at its head"],
  ["r", "Fetch the rows again"], ["Ctrl+S", "Review and save"], ["Esc", "Close, or back"], ["?", "These keys"],
];

const showKeys = () => ask({
  title: "Keys", content: [el("dl", { className: "keys" }, ...keys.flatMap(([key, what]) =>
    [el("dt", {}, el("kbd", { textContent: key })), el("dd", { textContent: what })]))],
});

function pressed(event) {
  if (event.defaultPrevented || document.querySelector("dialog")) return;
  const isTyping = event.target.matches("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape") {
    if (isTyping && event.target.closest("#object")) byId("object-content").focus();
    else if (isTyping) (state.route.cls ? byId("grid") : byId("class-filter")).focus();
    else if (object.isOpen) closeObject();
    return;
  }
  if ((event.ctrlKey || event.metaKey) && event.key === "s") { event.preventDefault(); object.save(); }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const actions = {
    "/": () => { byId("query").focus(); byId("query").select(); }, "?": showKeys, s: () => byId("search").focus(),
    c: () => (byId("class-list").querySelector("[aria-current], a") ?? byId("class-filter")).focus(),
    t: () => byId("grid").focus(), o: () => byId("object-content")?.focus(), g: () => go("#/?view=schema"),
    r: () => table.reload({ keep: true }), v: showVersions,
    d: () => byId("show-deleted").checkVisibility() && showDeleted(),
  };
  if (!Object.hasOwn(actions, event.key)) return;
  event.preventDefault();
  actions[event.key]();
}

/** Moves through the classes with the arrow keys. */
function movedInClasses(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const items = [byId("class-filter"), ...byId("class-list").querySelectorAll("a")];
  items[Math.max(0, Math.min(items.length - 1, items.indexOf(document.activeElement) + step))].focus();
  event.preventDefault();
}

function closeObject() {
  const { cls, query: text, sort } = state.route;
  go(address(cls, undefined, { query: text, sort }));
  byId("grid").focus();
}

function download(anchor) {
  const [query, order] = splitOrder(state.route.query);
  if (/\b(distinct|limit)\b/i.test(order)) return announce("Downloads take no DISTINCT or LIMIT: remove it first.");
  const path = (format) => api.exportPath({ class: state.route.cls, query, format });
  const formats = { csv: "CSV", jsonl: "JSON Lines", json: "JSON", xlsx: "Excel (xlsx)", sqlite: "SQLite" };
  return menu(anchor, Object.entries(formats).map(([format, label]) =>
    ({ label, act: () => api.download(path(format)).catch(failed) })), { label: "Download what is shown" });
}

const table = new Table(byId("grid"), {
  file: () => state.info.path ?? "",
  open: (row) => row.json !== undefined ? showFormer(row) : go(address(state.route.cls, row.key, state.route)),
  sort: (sort) => go(address(state.route.cls, state.route.key, { ...state.route, sort })),
  facets: (property, anchor) => showFacets(state.classes.get(state.route.cls), property, anchor, {
    query: () => state.route.query, run: (text) => query.events.run(text), refocus: byId("grid"),
  }),
  counted: (number) => {
    query.showError(null);
    const total = state.classes.get(state.route.cls)?.count;
    byId("table-count").textContent = state.route.query
      ? `${digits(number)} of ${count(total, "object")}` : count(number, "object");
  },
  failed,
  former: (number) => byId("show-deleted").setAttribute("aria-pressed", String(number > 0)),
});
const query = new QueryLine({
  run: (text) => {
    const { cls, key, sort } = state.route;
    if (text === state.route.query) table.reload();
    else go(address(cls, key, { query: text, sort }));
  },
  leave: () => byId("grid").focus(),
});
const object = new ObjectPane(byId("object"), {
  closed: closeObject, saved: setUndo, writable: canWrite,
});
const schema = new SchemaDrawing(byId("schema-drawing"));
let endFollowing;

function listen() {
  addEventListener("popstate", show);
  addEventListener("keydown", pressed);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#/']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    go(link.getAttribute("href"));
  });
  let timer;
  on("grid", "scroll", () => { clearTimeout(timer); timer = setTimeout(keepPlace, 200); });
  addEventListener("beforeunload", (event) => { if (object.isEdited) event.preventDefault(); });
  on("classes", "keydown", movedInClasses);
  on("class-filter", "input", drawClasses);
  on("search", "keydown", (event) => {
    const text = event.target.value.trim();
    if (event.key === "Enter" && text) go(`#/?${new URLSearchParams({ search: text })}`);
  });
  on("columns", "click", (event) => table.columnsPanel(event.currentTarget));
  on("download", "click", (event) => download(event.currentTarget));
  on("create", "click", () => create(state.classes.get(state.route.cls), ({ version, key }) => {
    setUndo(version, `Created an object of ${state.route.cls}`);
    table.reload({ keep: true });
    go(address(state.route.cls, key, state.route));
  }));
  on("undo", "click", undo);
  on("show-versions", "click", showVersions);
  on("slider", "input", () => drawTimeline(Number(byId("slider").value)));
  on("slider", "change", () => showVersion(Number(byId("slider").value)));
  on("newest", "click", () => showVersion(state.versions.length - 1));
  on("show-deleted", "click", showDeleted);
  on("show-schema", "click", () => go(state.route.schema ? "#/" : "#/?view=schema"));
  on("zoom-fit", "click", () => schema.fit());
  on("zoom-in", "click", () => schema.resize(schema.zoom * 1.25));
  on("zoom-out", "click", () => schema.resize(schema.zoom / 1.25));
  on("show-keys", "click", showKeys);
  on("quit", "click", quit);
  on("back", "click", () => object.isOpen ? closeObject() : go("#/"));
}

async function start() {
  listen();
  const info = state.info = await api.info();
  state.version = await loadClasses();
  byId("file-name").replaceChildren(shown(info.file));
  byId("file-name").title = plain(info.path);
  byId("file-facts").textContent = [bytes(Number(info.fileSize)), `format ${info.format}`,
    info.writable ? "writable" : "read-only", info.encrypted ? "encrypted" : "", info.synced ? "synced" : ""]
    .filter(Boolean).join(" · ");
  byId("grid").setAttribute("aria-readonly", String(!info.writable));
  endFollowing = follow({
    state: (name) => {
      if (state.ended && name !== "ended") return;
      byId("live").dataset.state = name;
      byId("live").textContent = states[name];
      if (name === "live") table.fetchInView();
    },
    // Other commits may have been made before the connection, or while there was none.
    version: (version) => { if (version !== state.version) committed({ version, changes: [], more: true }); },
    commit: committed,
  });
  const largest = [...state.classes.values()].filter((cls) => cls.kind === "object")
    .sort((a, b) => Number(b.count) - Number(a.count))[0];
  const isChosen = location.hash.startsWith("#/") || !largest || narrow.matches;
  if (!isChosen) history.replaceState(null, "", address(largest.name));
  await show();
}

start().catch((error) => message(error.message));
