// The query line: completion, errors under their column, and the values of a property with their counts.
import { api } from "./api.js";
import { byId, closePopup, digits, dim, el, plain, popup, shown } from "./dom.js";
import { cell, condition, isNumber, quoted } from "./values.js";

const comparisons = ["==", "!=", "<", "<=", ">", ">=", "IN", "BETWEEN"];
const textOperators = ["==", "!=", "BEGINSWITH", "CONTAINS", "ENDSWITH", "LIKE", "==[c]", "CONTAINS[c]", "IN"];
const operators = {
  string: textOperators, bool: ["==", "!="], link: ["==", "!="], objectId: ["==", "!=", "IN"], data: ["==", "!="],
  uuid: ["==", "!=", "IN"], mixed: [...comparisons, "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE"],
};
const tokenPattern =
  /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|(?:`(?:[^`]|``)*`?|[A-Za-z_$@\u0080-\uffff][\w\u0080-\uffff]*)(?:\.(?:`(?:[^`]|``)*`?|[@\w\u0080-\uffff]+))*\.?(?:\[c?d?\])?|[-+]?\d[\w.:-]*|[=!<>&|]+|[(){},[\]]/g;
const connecting = /^(and|or|not|&&|\|\||!|\(|,|any|all|none|some)$/i;
const operatorToken = /^([=!<>]+|in|between|contains|beginswith|endswith|like)(\[c?d?\])?$/i;
const ordering = /^(sort|distinct)$/i;
const unquoted = (part) => part.startsWith("`") ? part.replace(/^`|`$/g, "").replaceAll("``", "`") : part;

/** The parts of a path such as owner.`first name`. */
const pathParts = (path) => path.match(/`(?:[^`]|``)*`?|[^.`]+/g) ?? [];

/** Splits SORT, DISTINCT and LIMIT from the predicate before them. */
export function splitOrder(query) {
  for (const found of query.matchAll(tokenPattern)) {
    if (/^(sort|distinct|limit)$/i.test(found[0])) return [query.slice(0, found.index).trim(), query.slice(found.index)];
  }
  return [query.trim(), ""];
}

/** The query with one more condition. */
export function conjoin(query, condition) {
  const [predicate, order] = splitOrder(query);
  const former = /\bor\b|\|\|/i.test(predicate) ? `(${predicate})` : predicate;
  return [former && !/^truepredicate$/i.test(former) ? `${former} AND ${condition}` : condition, order]
    .filter(Boolean).join(" ");
}

export class QueryLine {
  /** `events` has run(query) and leave(). */
  constructor(events) {
    Object.assign(this, { events, input: byId("query"), list: byId("completions"), error: byId("query-error") });
    Object.assign(this, { clear: byId("clear-query"), items: [], chosen: -1 });
    this.input.addEventListener("input", () => { this.showError(null); this.complete(); });
    this.input.addEventListener("keydown", (event) => this.pressed(event));
    this.input.addEventListener("blur", () => this.close());
    this.input.addEventListener("scroll", () => this.placeMark());
    this.list.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      const item = event.target.closest("li");
      if (item) this.accept(Number(item.dataset.index));
    });
    this.clear.addEventListener("click", () => { this.input.value = ""; this.run(); this.input.focus(); });
  }

  show(cls, classes, query) {
    Object.assign(this, { cls, classes });
    if (this.input.value !== query) { this.input.value = query; this.showError(null); }
    this.clear.hidden = !query;
    const example = cls.properties.find((property) => isNumber(property)) ?? cls.properties[0];
    this.input.placeholder = example ? `such as ${plain(quoted(example.name))} ${isNumber(example) ? "> 30" : "!= NULL"}` : "";
  }

  run() {
    this.close();
    this.events.run(this.input.value.trim());
  }

  /** Shows an error below the line, with a marker under its column. */
  showError(error) {
    this.error.hidden = !error;
    this.input.setAttribute("aria-invalid", String(Boolean(error)));
    this.column = error?.column;
    this.mark = el("span", { className: "mark", textContent: this.column ? "^" : "", set: { "aria-hidden": "true" } });
    this.error.replaceChildren(this.mark, shown(error?.message.replace(/^column \d+: /, "") ?? ""),
      this.column ? dim(` (column ${this.column})`) : "");
    this.placeMark();
  }

  /** Columns count characters. Characters of double width shift the mark. */
  placeMark() {
    if (this.column) this.mark.style.left = `clamp(0px, ${this.column - 1}ch + ${10 - this.input.scrollLeft}px, 100% - 1ch)`;
  }

  /** The class at the end of a path of links, or undefined. */
  resolve(parts) {
    const names = parts.map(unquoted);
    let cls = this.cls;
    while (cls && names.length) {
      const name = names.shift();
      // A path such as @links.Person.dog leads to objects of the class Person.
      cls = name === "@links" ? this.classes.get(names.splice(0, 2)[0]) : cls.byName.get(name)?.targetClass;
    }
    return cls;
  }

  property(path) {
    const parts = pathParts(path.replace(/\[c?d?\]$/, ""));
    return this.resolve(parts.slice(0, -1))?.byName.get(unquoted(parts.at(-1) ?? ""));
  }

  /** Suggestions at the cursor: the text that they replace, and their kind. */
  suggestions(always) {
    const before = this.input.value.slice(0, this.input.selectionStart);
    const tokens = before.match(tokenPattern) ?? [];
    const last = tokens.at(-1) ?? "";
    const isOpen = before.endsWith(last);
    if (isOpen && /^["'\d]/.test(last)) return [];
    const word = isOpen && /^[A-Za-z_@`\u0080-\uffff]/.test(last) ? tokens.pop() : "";
    const previous = tokens.at(-1) ?? "";
    const inOrder = previous === "(" && ordering.test(tokens.at(-2));
    const make = (texts, note) => texts.map((text) => ({ text, note, word }));
    let found;
    if (!previous || connecting.test(previous)) {
      found = this.names(word);
      if (!inOrder && !word.includes(".")) found.push(...make(["NOT", "ANY", "TRUEPREDICATE", "SORT(", "LIMIT("], "keyword"));
    } else if (operatorToken.test(previous)) {
      const property = this.property(tokens.at(-2) ?? "");
      found = make(property?.kind === "bool" ? ["true", "false", "NULL"] : property?.nullable ? ["NULL"] : [], "value");
    } else if (this.property(previous)) {
      const property = this.property(previous);
      const list = property.collection ? [...comparisons, "CONTAINS"] : operators[property.kind] ?? comparisons;
      found = make(list, "operator");
      if (tokens.some((text) => /^sort$/i.test(text))) found = make(["ASC", "DESC"], "order");
    } else found = make(["AND", "OR", "SORT(", "DISTINCT(", "LIMIT("], "keyword");
    if (!always && !word && (!before.endsWith(" ") || !previous || connecting.test(previous))) return [];
    const prefix = unquoted(pathParts(word).at(-1) ?? "").toLowerCase();
    const tail = word.endsWith(".") ? "" : prefix;
    return found.filter(({ text, name }) => (name ?? text).toLowerCase().startsWith(tail) && text !== word).slice(0, 100);
  }

  names(word) {
    const parts = pathParts(word);
    const stem = word.endsWith(".") ? parts : parts.slice(0, -1);
    const prefix = stem.map((part) => `${part}.`).join("");
    if (stem[0] === "@links" && stem.length < 3) {
      const linking = (cls) => cls.properties.filter((property) => property.target === this.cls.name);
      const found = stem.length === 1 ? [...this.classes.values()].filter((cls) => linking(cls).length)
        : linking(this.classes.get(unquoted(stem[1])) ?? { properties: [] });
      return found.map(({ name }) => ({ text: `${prefix}${quoted(name)}.`, name, note: "backlinks", word }));
    }
    const found = this.resolve(stem)?.properties ?? [];
    return [...found.map(({ name, type, target }) => ({ text: prefix + quoted(name), name, note: target ?? type, word })),
      ...word.startsWith("@") ? [{ text: "@links.", note: "backlinks", word }] : []];
  }

  complete(always = false) { this.offer(this.cls ? this.suggestions(always) : []); }
  close() { this.offer([]); }

  offer(items) {
    Object.assign(this, { items, chosen: -1 });
    this.list.replaceChildren(...this.items.map(({ text, note }, index) => el("li", {
      id: `completion-${index}`, data: { index }, set: { role: "option", "aria-selected": "false" },
    }, shown(text), dim(plain(note)))));
    this.list.hidden = !this.items.length;
    this.input.setAttribute("aria-expanded", String(this.items.length > 0));
    this.input.removeAttribute("aria-activedescendant");
  }

  choose(index) {
    this.chosen = (index + this.items.length) % this.items.length;
    for (const [at, item] of [...this.list.children].entries()) item.setAttribute("aria-selected", String(at === this.chosen));
    this.list.children[this.chosen].scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", `completion-${this.chosen}`);
  }

  accept(index) {
    const { text, word } = this.items[index];
    const at = this.input.selectionStart;
    const spaced = /[(.]$/.test(text) ? text : `${text} `;
    this.input.setRangeText(spaced, at - word.length, at, "end");
    this.showError(null);
    this.complete();
  }

  pressed(event) {
    const isOpen = this.items.length > 0;
    if (event.key === "ArrowDown" && !isOpen) this.complete(true);
    else if (event.key === " " && event.ctrlKey) this.complete(true);
    else if (event.key === "ArrowDown") this.choose(this.chosen + 1);
    else if (event.key === "ArrowUp" && isOpen) this.choose(this.chosen < 0 ? -1 : this.chosen - 1);
    else if (event.key === "Tab" && isOpen && !event.shiftKey) this.accept(Math.max(0, this.chosen));
    else if (event.key === "Enter" && isOpen && this.chosen >= 0) this.accept(this.chosen);
    else if (event.key === "Enter") this.run();
    else if (event.key === "Escape" && isOpen) this.close();
    else if (event.key === "Escape") this.events.leave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** Opens the list of a property's values; choosing one adds it to the query. */
export async function showFacets(cls, property, anchor, { query, run, refocus }) {
  const status = el("p", { className: "dim", textContent: "Counting…", set: { role: "status" } });
  const panel = popup(anchor, [el("h3", {}, shown(property.name)), status],
    { label: plain(`Values of ${property.name}`), refocus, className: "facets" });
  panel.tabIndex = -1;
  panel.focus();
  let answer;
  try { answer = await api.facets(cls.name, property.name, 50); } catch (error) {
    return status.replaceChildren(shown(error.message));
  }
  const most = Math.max(1, ...answer.values.map((facet) => Number(facet.count)));
  const element = { ...property, collection: null };
  const entries = answer.values.map(({ value, count }) => {
    const text = condition(element, value);
    const bar = el("span", { className: "share", set: { "aria-hidden": "true" } });
    bar.style.width = `${100 * Number(count) / most}%`;
    const label = cell(value, element);
    const content = label.tagName === "A" ? shown(label.textContent) : label;
    const act = () => { closePopup(); run(conjoin(query(), text)); };
    return el("button", { type: "button", disabled: text === null, on: { click: act } }, bar,
      el("span", { className: "value" }, content), dim(digits(count)));
  });
  status.textContent = !entries.length ? "No values." : answer.more ? "The 50 most frequent values:" : "";
  status.hidden = !status.textContent;
  panel.append(...entries);
  return panel.querySelector("button")?.focus();
}
