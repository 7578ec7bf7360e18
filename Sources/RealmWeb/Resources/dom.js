// Elements, text that shows its invisible characters, and the page's menus and dialogs. Data only becomes text nodes
// and element properties; it is never interpreted as markup.

/** Creates an element. `on` has event handlers, `set` attributes, `data` the dataset; the rest are DOM properties. */
export function el(tag, { on = {}, set = {}, data = {}, ...properties } = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  for (const [name, value] of Object.entries(set)) if (value !== undefined) element.setAttribute(name, value);
  for (const [event, handler] of Object.entries(on)) element.addEventListener(event, handler);
  Object.assign(element.dataset, data);
  element.append(...children.filter((child) => child ?? false));
  return element;
}

export const byId = (id) => document.getElementById(id);
export const on = (id, event, act) => byId(id).addEventListener(event, act);
export const dim = (text) => el("span", { className: "dim", textContent: text });
export const button = (textContent, click, more = {}) =>
  el("button", { type: "button", textContent, on: { click }, ...more });

/** The member with this name; inherited members are ignored. */
export const own = (object, name) => object && Object.hasOwn(object, name) ? object[name] : undefined;

// Controls, zero-width and bidirectional characters, and unpaired surrogates.
const invisible =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const short = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };
const escaped = (character) =>
  short[character] ?? `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

/** The string with invisible characters escaped, for attributes and titles. */
export const plain = (text) => String(text).replace(invisible, escaped);

/** A <bdi> with the text; invisible characters become marked escapes. With `lines`, line breaks are kept. */
export function shown(text, { lines = false, className = "" } = {}) {
  const element = el("bdi", { className });
  let last = 0;
  invisible.lastIndex = 0;
  for (const found of String(text).matchAll(invisible)) {
    if (lines && (found[0] === "\n" || found[0] === "\t")) continue;
    element.append(text.slice(last, found.index), el("span", { className: "esc", textContent: escaped(found[0]) }));
    last = found.index + found[0].length;
  }
  element.append(last ? text.slice(last) : String(text));
  return element;
}

export const digits = (number) => Number(number).toLocaleString("en-US");
export const count = (number, singular, plural = `${singular}s`) =>
  `${digits(number)} ${Number(number) === 1 ? singular : plural}`;
export const bytes = (size) => size < 1024 ? `${size} B`
  : size < 1048576 ? `${(size / 1024).toFixed(1)} KB` : `${(size / 1048576).toFixed(1)} MB`;
let open = null;

/** Closes the open menu or panel. */
export function closePopup(refocus = false) {
  if (!open) return;
  const { panel, anchor, leave } = open;
  open = null;
  leave.abort();
  panel.remove();
  if (anchor.hasAttribute("aria-haspopup")) anchor.setAttribute("aria-expanded", "false");
  if (refocus) anchor.focus();
}

/** Opens a panel at an element. The arrow keys move through its items; Esc closes it. */
export function popup(anchor, content, { role = "dialog", label, refocus = anchor, className = "" } = {}) {
  closePopup();
  const panel = el("div", { className: `popup ${className}`, set: { role, "aria-label": label } }, ...content);
  document.body.append(panel);
  const box = anchor.getBoundingClientRect();
  panel.style.left = `${Math.max(8, Math.min(box.left, innerWidth - panel.offsetWidth - 8))}px`;
  const below = innerHeight - box.bottom;
  if (below < panel.offsetHeight + 12 && box.top > below) panel.style.bottom = `${innerHeight - box.top + 4}px`;
  else panel.style.top = `${box.bottom + 4}px`;
  panel.style.maxHeight = `${Math.max(below, box.top) - 16}px`;
  if (anchor.hasAttribute("aria-haspopup")) anchor.setAttribute("aria-expanded", "true");
  const leave = new AbortController();
  open = { panel, anchor: refocus, leave };
  const outside = (event) => { if (!panel.contains(event.target) && event.target !== anchor) closePopup(); };
  addEventListener("pointerdown", outside, { signal: leave.signal });
  addEventListener("resize", () => closePopup(), { signal: leave.signal });
  panel.addEventListener("keydown", (event) => movePopup(event, panel));
  (panel.querySelector("[data-first], input, button, a") ?? panel).focus();
  return panel;
}

function movePopup(event, panel) {
  const items = [...panel.querySelectorAll("button, a, input")].filter((item) => !item.disabled);
  const at = items.indexOf(document.activeElement);
  const steps = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 };
  if (event.key === "Escape" || event.key === "Tab") closePopup(true);
  else if (event.key in steps) items.at(steps[event.key] % items.length)?.focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** A menu of buttons: `{ label, act, disabled }`. */
export function menu(anchor, entries, options = {}) {
  popup(anchor, entries.map(({ label, act, disabled }) =>
    button(label, () => { closePopup(true); act(); }, { disabled: Boolean(disabled), set: { role: "menuitem" } })),
  { role: "menu", ...options });
}

/** Asks in a modal dialog; resolves to true if confirmed. `confirm` may be async, and throws to refuse. */
export function ask({ title, content, action, danger = false, confirm }) {
  return new Promise((resolve) => {
    const problem = el("p", { className: "problem", hidden: true, set: { role: "alert" } });
    let done = false;
    const proceed = async (event) => {
      event.preventDefault();
      button.disabled = true;
      try {
        await confirm?.();
        done = true;
        dialog.close();
      } catch (error) {
        problem.replaceChildren(shown(error.message));
        problem.hidden = false;
      }
      button.disabled = false;
    };
    const button = el("button", { className: danger ? "danger" : "primary", textContent: action ?? "Close" });
    const cancel = el("button", { type: "button", textContent: "Cancel", on: { click: () => dialog.close() } });
    const heading = el("h2", { id: "dialog-title" }, title);
    const buttons = el("div", { className: "actions" }, action ? cancel : null, button);
    const form = el("form", { on: { submit: proceed } }, heading, ...content, problem, buttons);
    const dialog = el("dialog", { set: { "aria-labelledby": "dialog-title" } }, form);
    dialog.addEventListener("close", () => { dialog.remove(); resolve(done); });
    closePopup();
    document.body.append(dialog);
    dialog.showModal();
    (dialog.querySelector("textarea") ?? (danger ? cancel : button)).focus();
  });
}
