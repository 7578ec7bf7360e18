// The table of a class: only rows and columns in view are elements, and pages of rows are fetched by position.
// Beyond the height that browsers allow for an element, the scroll bar is a scale of the rows.

import { api } from "./api.js";
import { closePopup, el, menu, own, plain, popup, shown } from "./dom.js";
import { cell, isNumber, typeName } from "./values.js";

const rowHeight = 28;
const headHeight = 34;
const gutter = 76;
const heightLimit = 12_000_000;
const pageSize = 100;
const pagesKept = 40;
const manyColumns = 60;

const widths = {
  int: 110, bool: 80, float: 110, double: 130, decimal: 130, date: 190, objectId: 210, uuid: 300, link: 170,
  string: 220, data: 220, mixed: 180, embedded: 240, backlinks: 120,
};

export class Table {
  /** `events` has open(row), sort(sort), facets(property, anchor), counted(count), failed(error), deleted(number). */
  constructor(grid, events) {
    Object.assign(this, { grid, events, pages: new Map(), rowElements: new Map(), top: 0, left: 0, layout: 0 });
    Object.assign(this, { count: 0, active: { row: 0, column: 0 }, deleted: 0, generation: 0, columns: [] });
    this.head = el("div", { className: "head row", set: { role: "row", "aria-rowindex": "1" } });
    this.body = el("div", { className: "rows", set: { role: "rowgroup" } });
    this.empty = el("p", { className: "empty", hidden: true });
    grid.append(this.head, this.body, this.empty);
    grid.addEventListener("scroll", () => this.scrolled());
    grid.addEventListener("wheel", (event) => this.wheeled(event), { passive: false });
    grid.addEventListener("keydown", (event) => this.pressed(event));
    grid.addEventListener("click", (event) => this.clicked(event));
    grid.addEventListener("dblclick", (event) => this.doubleClicked(event));
    grid.addEventListener("pointerdown", (event) => this.grabbed(event));
    new ResizeObserver(() => this.render()).observe(grid);
  }

  /** Shows the rows of a class. `position` has the scroll position and the active cell of an earlier visit. */
  show(cls, { query = "", sort = "", position } = {}) {
    const same = this.cls?.name === cls.name && this.query === query && this.sort === sort;
    Object.assign(this, { cls, query, sort });
    if (!same) {
      this.active = { row: position?.row ?? 0, column: position?.column ?? 0 };
      this.count = query ? position?.count ?? 0 : Number(cls.count);
      this.known = false;
      this.body.replaceChildren();
      this.rowElements.clear();
    }
    if (!same || position) this.pending = position?.top ?? 0;
    this.loadColumns();
    return this.reload();
  }

  /** Fetches all rows in view again; `keep` shows the former ones until then. */
  async reload({ keep = false } = {}) {
    this.generation += 1;
    for (const page of this.pages.values()) page.abort?.abort();
    this.pages = keep ? new Map([...this.pages].map(([at, page]) => [at, { rows: page.rows, stale: true }])) : new Map();
    this.setDeleted(0);
    this.arrange();
    await this.fetchInView();
  }

  get position() {
    return { top: this.top, row: this.active.row, column: this.active.column, count: this.count };
  }

  // Columns.

  get columnsKey() { return `columns:${this.events.file()}:${this.cls.name}`; }

  loadColumns() {
    let stored = {};
    try { stored = JSON.parse(localStorage.getItem(this.columnsKey)) ?? {}; } catch { /* Storage may be off. */ }
    const hidden = new Set(stored.hidden ?? this.cls.properties.slice(manyColumns).map((property) => property.name));
    const known = new Map(stored.widths ?? []);
    this.all = this.cls.properties.map((property) => ({
      property, hidden: hidden.has(property.name),
      width: known.get(property.name) ?? Math.max(Math.min(300, property.name.length * 8 + 58),
        property.collection ? 220 : widths[property.kind] ?? 160),
    }));
    this.placeColumns();
  }

  storeColumns() {
    const hidden = this.all.filter((column) => column.hidden).map((column) => column.property.name);
    const stored = { hidden, widths: this.all.map((column) => [column.property.name, column.width]) };
    try { localStorage.setItem(this.columnsKey, JSON.stringify(stored)); } catch { /* Storage may be off. */ }
  }

  placeColumns() {
    this.columns = this.all.filter((column) => !column.hidden);
    let left = gutter;
    for (const column of this.columns) {
      column.left = left;
      left += column.width;
    }
    this.width = left;
    this.layout += 1;
    this.active.column = Math.max(0, Math.min(this.active.column, this.columns.length - 1));
    this.grid.setAttribute("aria-colcount", String(this.columns.length + 1));
    this.head.replaceChildren(el("div", {
      className: "gutter", textContent: "#", set: { role: "columnheader", "aria-colindex": "1", "aria-label": "Row" },
    }), ...this.columns.map((column, index) => this.header(column, index)));
  }

  header({ property, left, width }, index) {
    const descending = this.sort === `-${property.name}`;
    const sorted = descending || this.sort === property.name;
    const order = sorted ? (descending ? "descending" : "ascending") : undefined;
    const mark = property.name === this.cls.primaryKey ? "primary key" : property.indexed ? "indexed" : "";
    const element = el("div", {
      id: `cell--1-${index}`, className: isNumber(property) ? "column number" : "column", title: plain(`${property.name}: ${typeName(property)}`),
      data: { column: index },
      set: { role: "columnheader", "aria-colindex": String(index + 2), "aria-sort": order },
    },
    shown(property.name, { className: "label" }), el("span", { className: "dim", textContent: mark && "•", title: mark }),
    el("span", { className: "order", textContent: order ? (descending ? "▼" : "▲") : "" }),
    el("button", {
      type: "button", className: "more", textContent: "⋯", tabIndex: -1,
      set: { "aria-label": plain(`Menu of column ${property.name}`), "aria-haspopup": "menu" },
    }),
    el("span", { className: "grip", set: { "aria-hidden": "true" } }));
    element.style.left = `${left}px`;
    element.style.width = `${width}px`;
    return element;
  }

  changeColumns(change) {
    change();
    this.storeColumns();
    this.placeColumns();
    this.arrange();
    this.fetchInView();
  }

  hide(column, hidden) {
    const shownBefore = new Set(this.columns);
    this.changeColumns(() => { column.hidden = hidden; });
    if (!hidden && !shownBefore.has(column)) this.reload({ keep: true });
  }

  sortBy(property, descending) {
    const name = property.name;
    const next = { [name]: `-${name}`, [`-${name}`]: "" };
    this.events.sort(descending === undefined ? next[this.sort] ?? name : descending ? `-${name}` : name);
  }

  columnMenu(index) {
    const column = this.columns[index];
    const anchor = this.head.querySelector(`#cell--1-${index} .more`) ?? this.grid;
    const { property } = column;
    const sortable = !property.collection && !["embedded", "mixed", "backlinks"].includes(property.kind);
    menu(anchor, [
      { label: "Sort ascending", act: () => this.sortBy(property, false), disabled: !sortable },
      { label: "Sort descending", act: () => this.sortBy(property, true), disabled: !sortable },
      { label: "Values and their counts…", act: () => this.events.facets(property, anchor), disabled: property.collection },
      null,
      { label: "Fit to content", act: () => this.fit(column) },
      { label: "Hide column", act: () => this.hide(column, true), disabled: this.columns.length === 1 },
    ], { label: `Column ${property.name}`, refocus: this.grid });
  }

  columnsPanel(anchor) {
    const boxes = this.all.map((column) => {
      const box = el("input", { type: "checkbox", checked: !column.hidden });
      box.addEventListener("change", () => this.hide(column, !box.checked));
      return el("label", {}, box, " ", shown(column.property.name), " ",
        el("span", { className: "dim", textContent: plain(typeName(column.property)) }));
    });
    const all = (hidden) => () => {
      closePopup(true);
      this.changeColumns(() => this.all.forEach((column, index) => { column.hidden = hidden && index > 0; }));
      this.reload({ keep: true });
    };
    popup(anchor, [
      el("div", { className: "both" }, el("button", { type: "button", textContent: "All", on: { click: all(false) } }),
        el("button", { type: "button", textContent: "Only the first", on: { click: all(true) } })),
      ...boxes,
    ], { label: "Columns" });
  }

  fit(column) {
    const index = this.columns.indexOf(column);
    const cells = this.grid.querySelectorAll(`[data-column="${index}"] > :first-child`);
    const width = Math.max(...[...cells].map((content) => content.scrollWidth + 36), 60);
    this.changeColumns(() => { column.width = Math.min(width, 800); });
  }

  // Scrolling.

  get view() { return Math.max(rowHeight, this.grid.clientHeight - headHeight); }
  get total() { return this.count * rowHeight; }
  get height() { return Math.min(this.total, heightLimit); }
  /** Rows in pixels for each pixel of the scroll bar; 1 up to the limit. */
  get scale() { return this.total > heightLimit ? (this.total - this.view) / (heightLimit - this.view) : 1; }

  arrange() {
    this.body.style.height = `${this.height}px`;
    this.body.style.width = this.head.style.width = `${this.width}px`;
    this.grid.setAttribute("aria-rowcount", String(this.count + 1));
    if (this.pending !== undefined && (this.known || this.count)) {
      this.scrollTo(this.pending);
      if (this.known) this.pending = undefined;
    } else {
      this.scrollTo(this.top);
    }
  }

  scrollTo(top) {
    this.top = Math.max(0, Math.min(top, this.total - this.view));
    this.grid.scrollTop = this.top / this.scale;
    this.lastScroll = this.grid.scrollTop;
    this.render();
    this.scheduleFetch();
  }

  scrolled() {
    const { scrollTop } = this.grid;
    if (scrollTop !== this.lastScroll) {
      const atEnd = scrollTop >= this.height - this.view - 1;
      this.top = this.scale === 1 ? scrollTop : atEnd ? this.total - this.view : scrollTop * this.scale;
      this.lastScroll = scrollTop;
    }
    this.render();
    this.scheduleFetch();
  }

  /** On a scale, the wheel still moves by pixels of rows. */
  wheeled(event) {
    if (this.scale === 1 || event.ctrlKey || event.shiftKey || !event.deltaY) return;
    event.preventDefault();
    const unit = event.deltaMode === 1 ? rowHeight : event.deltaMode === 2 ? this.view : 1;
    this.grid.scrollLeft += event.deltaX;
    this.scrollTo(this.top + event.deltaY * unit);
  }

  get range() {
    const first = Math.max(0, Math.floor(this.top / rowHeight));
    return [first, Math.min(this.count, first + Math.ceil(this.view / rowHeight) + 1)];
  }

  row(index) { return this.pages.get(Math.floor(index / pageSize))?.rows?.[index % pageSize]; }

  // Drawing.

  render() {
    if (!this.cls) return;
    const [first, end] = this.range;
    const { scrollLeft, clientWidth, scrollTop } = this.grid;
    const from = Math.max(0, this.columns.findIndex((column) => column.left + column.width > scrollLeft));
    const past = this.columns.findIndex((column) => column.left > scrollLeft + clientWidth);
    const columns = `${this.layout} ${from} ${past}`;
    for (const [index, element] of this.rowElements) {
      if (index >= first && index < end) continue;
      element.remove();
      this.rowElements.delete(index);
    }
    for (let index = first; index < end; index += 1) {
      const data = this.row(index);
      let element = this.rowElements.get(index);
      if (!element) {
        element = el("div", { set: { role: "row", "aria-rowindex": String(index + 2) }, data: { row: index } });
        this.rowElements.set(index, element);
        this.body.append(element);
      }
      if (element.shownData !== data || element.shownColumns !== columns) {
        this.fill(element, index, data, from, past < 0 ? this.columns.length : past);
        Object.assign(element, { shownData: data, shownColumns: columns });
      }
      element.className = `row${index % 2 ? " odd" : ""}${data?.deleted ? " deleted" : ""}${data?.changed ? " changed" : ""}`
        + `${data && data.key === this.selected ? " selected" : ""}`;
      element.setAttribute("aria-selected", String(Boolean(data && data.key === this.selected)));
      const y = this.scale === 1 ? index * rowHeight : scrollTop + index * rowHeight - this.top;
      element.style.transform = `translateY(${y}px)`;
    }
    this.markActive();
    this.empty.hidden = this.count > 0 || !this.known;
    this.empty.textContent = this.query ? "No object matches the query." : "This class has no objects.";
  }

  fill(element, index, data, from, past) {
    element.style.width = `${this.width}px`;
    const number = el("div", {
      className: "gutter", textContent: (index + 1).toLocaleString("en-US"),
      set: { role: "rowheader", "aria-colindex": "1" },
    });
    const cells = this.columns.slice(from, past).map(({ property, left, width }, offset) => {
      const column = from + offset;
      const error = own(data?.errors, property.name);
      const content = !data ? null : error ? el("span", { className: "problem", title: plain(error) }, "unreadable")
        : cell(own(data.values, property.name), property, own(data.cut, property.name));
      for (const link of content?.querySelectorAll("a") ?? []) link.tabIndex = -1;
      if (content?.tagName === "A") content.tabIndex = -1;
      const box = el("div", {
        id: `cell-${index}-${column}`, className: isNumber(property) ? "cell number" : "cell", data: { column },
        set: { role: "gridcell", "aria-colindex": String(column + 2) },
      }, content);
      box.style.left = `${left}px`;
      box.style.width = `${width}px`;
      return box;
    });
    element.replaceChildren(number, ...cells);
  }

  markActive() {
    this.grid.querySelector(".active")?.classList.remove("active");
    const id = `cell-${this.active.row}-${this.active.column}`;
    const element = document.getElementById(id);
    element?.classList.add("active");
    if (element) this.grid.setAttribute("aria-activedescendant", id);
    else this.grid.removeAttribute("aria-activedescendant");
  }

  select(key) {
    this.selected = key;
    this.render();
  }

  // Pages.

  /** Fetches now, or after a pause while the scroll bar is dragged far. */
  scheduleFetch() {
    clearTimeout(this.timer);
    const far = Math.abs(this.top - (this.fetchedAt ?? 0)) > 3 * this.view;
    this.fetchedAt = this.top;
    if (far) this.timer = setTimeout(() => this.fetchInView(), 60);
    else this.fetchInView();
  }

  async fetchInView() {
    if (!this.cls) return;
    const [first, end] = this.range;
    const from = Math.floor(first / pageSize);
    const to = Math.max(from, Math.floor(Math.max(first, end - 1) / pageSize));
    for (const [at, page] of this.pages) {
      if (page.abort && (at < from - 1 || at > to + 1)) {
        page.abort.abort();
        this.pages.delete(at);
      }
    }
    const wanted = [];
    for (let at = from; at <= to; at += 1) {
      const page = this.pages.get(at);
      if (!page || (page.stale && !page.abort)) wanted.push(this.fetch(at, page));
    }
    this.dropDistant(from, to);
    await Promise.all(wanted);
  }

  dropDistant(from, to) {
    if (this.pages.size <= pagesKept) return;
    const distance = (at) => Math.max(from - at, at - to, 0);
    const farthest = [...this.pages.keys()].sort((a, b) => distance(b) - distance(a));
    for (const at of farthest.slice(0, this.pages.size - pagesKept)) this.pages.delete(at);
  }

  async fetch(at, former) {
    // A page fetched after rows were deleted does not fit the pages before it.
    if (!former && this.deleted) return this.reload();
    const abort = new AbortController();
    const { generation } = this;
    this.pages.set(at, { rows: former?.rows, abort });
    try {
      const answer = await api.rows(this.cls.name, {
        query: this.query, sort: this.sort, position: at * pageSize, limit: pageSize, columns: this.wantedColumns,
      }, abort.signal);
      if (generation !== this.generation) return undefined;
      this.received(at, answer, former);
    } catch (error) {
      if (error.name === "AbortError" || generation !== this.generation) return undefined;
      this.pages.delete(at);
      this.events.failed(error);
    }
    return undefined;
  }

  get wantedColumns() {
    if (this.columns.length === this.all.length) return "";
    const names = this.columns.map((column) => column.property.name);
    return names.some((name) => name.includes(",")) ? "" : names.join(",");
  }

  received(at, answer, former) {
    if (this.version !== undefined && answer.version !== this.version) {
      for (const [other, page] of this.pages) if (other !== at && page.rows) page.stale = true;
    }
    this.version = answer.version;
    const before = new Map((former?.rows ?? []).map((row) => [row.key, row]));
    for (const row of answer.rows) {
      const same = before.get(row.key);
      if (same?.changed) row.changed = true;
    }
    this.anchor(at, former?.rows, answer.rows);
    this.pages.set(at, { rows: answer.rows });
    this.known = true;
    if (this.count !== Number(answer.count) || this.pending !== undefined) {
      this.count = Number(answer.count);
      this.arrange();
    }
    this.events.counted(this.count);
    this.render();
  }

  /** Keeps the first row in view where it is when rows before it came or went, and the active row with its object. */
  anchor(at, former, rows) {
    if (!former) return;
    const shift = (index) => {
      const key = Math.floor(index / pageSize) === at ? former[index % pageSize]?.key : undefined;
      const found = key === undefined ? -1 : rows.findIndex((row) => row.key === key);
      return found < 0 ? 0 : found + at * pageSize - index;
    };
    const move = shift(this.range[0]);
    this.active.row += shift(this.active.row);
    if (move && this.top > 0) this.top += move * rowHeight;
  }

  // Changes of other programs.

  /** Marks what a commit changed. Deleted rows stay, struck through, until the rows are fetched again. */
  async changedBy(changes) {
    const changed = new Map(changes.filter(({ cls }) => cls === this.cls?.name).map(({ key, change }) => [key, change]));
    if (!changed.size) return;
    let deleted = 0;
    for (const page of this.pages.values()) {
      for (const [index, row] of (page.rows ?? []).entries()) {
        if (changed.get(row.key) !== "delete" || row.deleted) continue;
        page.rows[index] = { ...row, deleted: true };
        deleted += 1;
      }
    }
    if (deleted || this.deleted) {
      this.setDeleted(this.deleted + deleted);
      await this.mergeInView(changed);
    } else {
      for (const page of this.pages.values()) page.stale = true;
      const { generation } = this;
      await this.fetchInView();
      if (generation !== this.generation) return;
    }
    this.flash(changed);
  }

  /** Fetches changed rows in view while deleted ones are shown: positions differ, so rows are found by their keys. */
  async mergeInView(changed) {
    this.render();
    const [first, end] = this.range;
    if (![...changed.values()].some((change) => change === "update")) return;
    const position = Math.max(0, first - this.deleted);
    const limit = Math.min(500, end - position + 1);
    const { generation } = this;
    const answer = await api.rows(this.cls.name, {
      query: this.query, sort: this.sort, position, limit, columns: this.wantedColumns,
    }).catch(() => null);
    if (!answer || generation !== this.generation) return;
    const fresh = new Map(answer.rows.map((row) => [row.key, row]));
    for (const page of this.pages.values()) {
      page.rows = page.rows?.map((row) => changed.get(row.key) === "update" && fresh.get(row.key) || row);
    }
  }

  flash(changed) {
    const marked = [];
    for (const page of this.pages.values()) {
      for (const row of page.rows ?? []) {
        if (changed.has(row.key) && changed.get(row.key) !== "delete") marked.push(row);
      }
    }
    for (const row of marked) row.changed = true;
    this.render();
    setTimeout(() => {
      for (const row of marked) row.changed = false;
      this.render();
    }, 2500);
  }

  setDeleted(number) {
    this.deleted = number;
    this.events.deleted(number);
  }

  // Keyboard and pointer.

  go(row, column, { scroll = true } = {}) {
    this.active = {
      row: Math.max(-1, Math.min(row, this.count - 1)),
      column: Math.max(0, Math.min(column, this.columns.length - 1)),
    };
    if (scroll) this.reveal();
    this.markActive();
  }

  reveal() {
    const { row, column } = this.active;
    const place = this.columns[column];
    if (place) {
      const { scrollLeft, clientWidth } = this.grid;
      if (place.left - gutter < scrollLeft) this.grid.scrollLeft = place.left - gutter;
      else if (place.left + place.width > scrollLeft + clientWidth) {
        this.grid.scrollLeft = Math.min(place.left - gutter, place.left + place.width - clientWidth);
      }
    }
    if (row < 0) return;
    if (row * rowHeight < this.top) this.scrollTo(row * rowHeight);
    else if ((row + 1) * rowHeight > this.top + this.view) this.scrollTo((row + 1) * rowHeight - this.view);
    else this.render();
  }

  pressed(event) {
    if (event.target !== this.grid && event.target.closest("button")) return;
    const { row, column } = this.active;
    const page = Math.max(1, Math.floor(this.view / rowHeight) - 1);
    const all = event.ctrlKey || event.metaKey;
    const last = this.count - 1;
    const resize = event.shiftKey && row < 0 && event.key.startsWith("Arrow") && this.columns[column];
    const moves = {
      ArrowUp: [all ? 0 : row - 1, column], ArrowDown: [all ? last : row + 1, column],
      ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
      PageUp: [Math.max(0, row - page), column], PageDown: [Math.max(0, row) + page, column],
      Home: [all ? 0 : row, all ? column : 0], End: [all ? last : row, all ? column : this.columns.length - 1],
    };
    if (resize && event.key !== "ArrowUp" && event.key !== "ArrowDown") {
      const step = event.key === "ArrowLeft" ? -16 : 16;
      this.changeColumns(() => { resize.width = Math.max(48, resize.width + step); });
    } else if (row < 0 && event.key === "ArrowDown" && event.altKey) this.columnMenu(column);
    else if (event.altKey) return;
    else if (event.key in moves) this.go(...moves[event.key]);
    else if (event.key === "Enter" && row < 0) this.sortBy(this.columns[column].property);
    else if (event.key === "Enter" && all) this.followLink();
    else if (event.key === "Enter" || event.key === " ") this.openActive();
    else if (event.key === "f") this.followLink();
    else if (event.key === "m") this.columnMenu(column);
    else return;
    event.preventDefault();
  }

  openActive() {
    const data = this.row(this.active.row);
    if (data) this.events.open(data);
  }

  followLink() {
    document.getElementById(`cell-${this.active.row}-${this.active.column}`)?.querySelector("a")?.click();
  }

  clicked(event) {
    const header = event.target.closest(".column");
    if (header) {
      const column = Number(header.dataset.column);
      this.go(-1, column, { scroll: false });
      if (event.target.closest(".more")) this.columnMenu(column);
      else if (!event.target.closest(".grip")) this.sortBy(this.columns[column].property);
      return;
    }
    const row = event.target.closest(".rows > .row");
    if (!row || event.target.closest("a")) return;
    const place = event.target.closest(".cell");
    this.go(Number(row.dataset.row), place ? Number(place.dataset.column) : this.active.column, { scroll: false });
    if (!event.ctrlKey && !event.metaKey && !String(getSelection())) this.openActive();
  }

  doubleClicked(event) {
    const header = event.target.closest(".grip")?.closest(".column");
    if (header) this.fit(this.columns[Number(header.dataset.column)]);
  }

  /** Resizes a column by its edge. */
  grabbed(event) {
    const grip = event.target.closest(".grip");
    if (!grip) return;
    event.preventDefault();
    const column = this.columns[Number(grip.closest(".column").dataset.column)];
    const start = event.clientX - column.width;
    const leave = new AbortController();
    const move = (moved) => {
      column.width = Math.max(48, moved.clientX - start);
      this.placeColumns();
      this.arrange();
    };
    const stop = () => {
      leave.abort();
      this.storeColumns();
    };
    addEventListener("pointermove", move, { signal: leave.signal });
    addEventListener("pointerup", stop, { signal: leave.signal });
    addEventListener("pointercancel", stop, { signal: leave.signal });
  }
}
