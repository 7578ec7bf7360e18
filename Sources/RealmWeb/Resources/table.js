// The table of a class: only visible rows and columns are elements, and pages of rows are fetched by position. Beyond
// the maximum height of an element in browsers, the scroll bar is scaled.
import { api } from "./api.js";
import { digits, dim, el, menu, own, plain, popup, shown } from "./dom.js";
import { cell, isNumber, typeName } from "./values.js";

const rowHeight = 28;
const headHeight = 34;
const gutter = 76;
const heightLimit = 12_000_000;
const pageSize = 100;
const pagesKept = 40;
const manyColumns = 60;
/** How long changed and deleted rows are marked, in milliseconds. */
const markTime = 2500;

const widths = {
  int: 110, bool: 80, float: 110, double: 130, decimal: 130, date: 190, objectId: 210, uuid: 300, link: 170,
  string: 220, data: 220, mixed: 180, embedded: 240, backlinks: 120,
};
const isSortable = (property) => !property.collection && !["embedded", "link", "backlinks"].includes(property.kind);

export class Table {
  /** `events` has open(row), sort(sort), facets(property, anchor), counted(count), failed(error), former(number). */
  constructor(grid, events) {
    Object.assign(this, { grid, events, pages: new Map(), rowElements: new Map(), columns: [], top: 0, layout: 0 });
    Object.assign(this, { count: 0, deletedRows: [], active: { row: 0, column: 0 }, gone: new Set(), marked: new Set(), generation: 0 });
    this.head = el("div", { className: "head row", set: { role: "row", "aria-rowindex": "1" } });
    this.body = el("div", { className: "rows", set: { role: "rowgroup" } });
    this.empty = el("p", { className: "empty", hidden: true });
    grid.append(this.head, this.body, this.empty);
    grid.addEventListener("scroll", () => this.scrolled());
    grid.addEventListener("wheel", (event) => this.wheeled(event), { passive: false });
    grid.addEventListener("keydown", (event) => this.pressed(event));
    grid.addEventListener("click", (event) => this.clicked(event));
    grid.addEventListener("pointerdown", (event) => this.grabbed(event));
    new ResizeObserver(() => this.render()).observe(grid);
  }

  /** Shows the rows of a class. `position` contains the scroll position and the active cell of an earlier visit. */
  show(cls, { query = "", sort = "", position } = {}) {
    const same = this.cls?.name === cls.name && this.query === query && this.sort === sort;
    Object.assign(this, { cls, query, sort });
    if (!same) {
      this.showDeleted([]);
      this.active = { row: position?.row ?? 0, column: position?.column ?? 0 };
      this.count = query ? position?.count ?? 0 : Number(cls.count);
      this.known = false;
      this.body.replaceChildren();
      this.rowElements.clear();
      this.marked.clear();
      this.gone.clear();
    }
    if (!same || position) this.pending = position?.top ?? 0;
    this.loadColumns();
    return this.reload();
  }

  /** Fetches all rows in view again; `keep` shows the previous ones until then. */
  async reload({ keep = false } = {}) {
    this.generation += 1;
    for (const page of this.pages.values()) page.abort?.abort();
    this.pages = keep ? new Map([...this.pages].map(([at, page]) => [at, { rows: page.rows, stale: true }])) : new Map();
    this.arrange();
    await this.fetchInView();
    this.gone.clear();
  }

  /** Shows deleted objects, struck through, after the last row. */
  showDeleted(rows) {
    this.deletedRows = rows;
    this.events.former(rows.length);
    if (!this.cls) return;
    this.arrange();
    if (rows.length) this.go(this.count, this.active.column);
  }

  get position() { return { ...this.active, top: this.top, count: this.count }; }

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
    this.width = gutter;
    for (const column of this.columns) {
      column.left = this.width;
      this.width += column.width;
    }
    this.layout += 1;
    this.active.column = Math.max(0, Math.min(this.active.column, this.columns.length - 1));
    this.grid.setAttribute("aria-colcount", String(this.columns.length + 1));
    this.head.replaceChildren(el("div", {
      className: "gutter", textContent: "#", set: { role: "columnheader", "aria-colindex": 1, "aria-label": "Row" },
    }), ...this.columns.map((column, index) => this.header(column, index)));
  }

  header({ property, left, width }, index) {
    const descending = this.sort === `-${property.name}`;
    const sorted = descending || this.sort === property.name;
    const order = sorted ? (descending ? "descending" : "ascending") : undefined;
    const mark = property.name === this.cls.primaryKey ? "primary key" : property.indexed ? "indexed" : "";
    const element = el("div", {
      id: `cell--1-${index}`, className: isNumber(property) ? "column number" : "column", data: { column: index },
      title: plain(`${property.name}: ${typeName(property)}`),
      set: { role: "columnheader", "aria-colindex": index + 2, "aria-sort": order },
    },
    shown(property.name, { className: "label" }), el("span", { className: "dim", textContent: mark && "•", title: mark }),
    el("span", { className: "order", textContent: order ? (descending ? "▼" : "▲") : "" }),
    el("button", {
      type: "button", className: "more", textContent: "⋯", tabIndex: -1,
      set: { "aria-label": plain(`Menu of column ${property.name}`), "aria-haspopup": "menu" },
    }), el("span", { className: "grip", set: { "aria-hidden": "true" } }));
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
    this.changeColumns(() => { column.hidden = hidden; });
    if (!hidden) this.reload({ keep: true });
  }

  sortBy(property, descending) {
    if (!isSortable(property)) return;
    const name = property.name;
    const next = { [name]: `-${name}`, [`-${name}`]: "" };
    this.events.sort(descending === undefined ? next[this.sort] ?? name : descending ? `-${name}` : name);
  }

  columnMenu(index) {
    const column = this.columns[index];
    const anchor = this.head.querySelector(`#cell--1-${index} .more`) ?? this.grid;
    const { property } = column;
    menu(anchor, [
      { label: "Sort ascending", act: () => this.sortBy(property, false), disabled: !isSortable(property) },
      { label: "Sort descending", act: () => this.sortBy(property, true), disabled: !isSortable(property) },
      { label: "Values and counts…", act: () => this.events.facets(property, anchor), disabled: property.collection },
      { label: "Hide column", act: () => this.hide(column, true), disabled: this.columns.length === 1 },
    ], { label: `Column ${property.name}`, refocus: this.grid });
  }

  columnsPanel(anchor) {
    const boxes = this.all.map((column) => {
      const box = el("input", { type: "checkbox", checked: !column.hidden });
      box.addEventListener("change", () => this.hide(column, !box.checked));
      return el("label", {}, box, " ", shown(column.property.name), " ",
        dim(plain(typeName(column.property))));
    });
    popup(anchor, boxes, { label: "Columns" });
  }

  get view() { return Math.max(rowHeight, this.grid.clientHeight - headHeight); }
  get rowCount() { return this.count + this.deletedRows.length; }
  get total() { return this.rowCount * rowHeight; }
  get height() { return Math.min(this.total, heightLimit); }
  /** Pixels of rows for each pixel of the scroll bar; 1 up to the limit. */
  get scale() { return this.total > heightLimit ? (this.total - this.view) / (heightLimit - this.view) : 1; }

  arrange() {
    this.body.style.height = `${this.height}px`;
    this.body.style.width = this.head.style.width = `${this.width}px`;
    this.grid.setAttribute("aria-rowcount", String(this.rowCount + 1));
    this.scrollTo(this.pending ?? this.top);
    if (this.known) this.pending = undefined;
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

  /** On a scaled scroll bar, the wheel still moves by pixels of rows. */
  wheeled(event) {
    if (this.scale === 1 || event.ctrlKey || event.shiftKey || !event.deltaY) return;
    event.preventDefault();
    const unit = event.deltaMode === 1 ? rowHeight : event.deltaMode === 2 ? this.view : 1;
    this.grid.scrollLeft += event.deltaX;
    this.scrollTo(this.top + event.deltaY * unit);
  }

  get range() {
    const first = Math.max(0, Math.floor(this.top / rowHeight));
    return [first, Math.min(this.rowCount, first + Math.ceil(this.view / rowHeight) + 1)];
  }
  get rows() { return [...this.pages.values()].flatMap((page) => page.rows ?? []); }
  row(index) {
    if (index >= this.count) return this.deletedRows[index - this.count];
    return this.pages.get(Math.floor(index / pageSize))?.rows?.[index % pageSize];
  }

  render() {
    if (!this.cls) return;
    const [first, end] = this.range;
    const { scrollLeft, clientWidth, scrollTop } = this.grid;
    const from = Math.max(0, this.columns.findIndex((column) => column.left + column.width > scrollLeft));
    const past = this.columns.findIndex((column) => column.left > scrollLeft + clientWidth);
    const columns = `${this.layout} ${from} ${past}`;
    for (const [index, element] of this.rowElements) {
      if (index < first || index >= end) element.remove() ?? this.rowElements.delete(index);
    }
    for (let index = first; index < end; index += 1) {
      const data = this.row(index);
      let element = this.rowElements.get(index);
      if (!element) {
        element = el("div", { set: { role: "row", "aria-rowindex": index + 2 }, data: { row: index } });
        this.rowElements.set(index, element);
        this.body.append(element);
      }
      if (element.shownData !== data || element.shownColumns !== columns) {
        this.fill(element, index, data, from, past < 0 ? this.columns.length : past);
        Object.assign(element, { shownData: data, shownColumns: columns });
      }
      const isDeleted = index >= this.count || (data && this.gone.has(data.key));
      const isSelected = Boolean(data && index < this.count && data.key === this.selected);
      element.className = ["row", isDeleted && "deleted",
        data && this.marked.has(data.key) && "changed", isSelected && "selected"].filter(Boolean).join(" ");
      element.setAttribute("aria-selected", isSelected);
      const y = this.scale === 1 ? index * rowHeight : scrollTop + index * rowHeight - this.top;
      element.style.transform = `translateY(${y}px)`;
    }
    this.markActive();
    this.empty.hidden = this.rowCount > 0 || !this.known;
    this.empty.textContent = this.query ? "No object matches the query." : "This class has no objects.";
  }

  fill(element, index, data, from, past) {
    element.style.width = `${this.width}px`;
    const number = el("div", {
      className: "gutter", textContent: index < this.count ? digits(index + 1) : "deleted", set: { role: "rowheader", "aria-colindex": 1 },
    });
    const cells = this.columns.slice(from, past).map(({ property, left, width }, offset) => {
      const column = from + offset;
      const error = own(data?.errors, property.name);
      const box = el("div", {
        id: `cell-${index}-${column}`, className: isNumber(property) ? "cell number" : "cell", data: { column },
        set: { role: "gridcell", "aria-colindex": column + 2 },
      }, !data ? null : error ? el("span", { className: "problem", title: plain(error) }, "unreadable")
        : cell(own(data.values, property.name), property, own(data.cut, property.name)));
      for (const link of box.querySelectorAll("a")) link.tabIndex = -1;
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

  /** Fetches immediately, or after a pause while the scroll bar is dragged far. */
  scheduleFetch() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fetchInView(), Math.abs(this.top - (this.fetchedAt ?? 0)) > 3 * this.view ? 60 : 0);
    this.fetchedAt = this.top;
  }

  async fetchInView() {
    if (!this.cls) return;
    const [first, end] = this.range;
    const from = Math.floor(Math.min(first, Math.max(0, this.count - 1)) / pageSize);
    const to = Math.max(from, Math.floor(Math.max(first, Math.min(end, this.count || end) - 1) / pageSize));
    for (const [at, page] of this.pages) {
      if (!page.abort || (at >= from - 1 && at <= to + 1)) continue;
      page.abort.abort();
      this.pages.delete(at);
    }
    const wanted = [];
    for (let at = from; at <= to; at += 1) {
      const page = this.pages.get(at);
      if (!page || (page.stale && !page.abort)) wanted.push(this.fetch(at, page));
    }
    const nearest = [...this.pages.keys()].sort((a, b) => Math.abs(a - from) - Math.abs(b - from));
    for (const at of nearest.slice(pagesKept)) this.pages.delete(at);
    await Promise.all(wanted);
  }

  request(position, limit, signal) {
    const names = this.columns.map((column) => column.property.name);
    const isAll = names.length === this.all.length || names.some((name) => name.includes(","));
    const { query, sort } = this;
    return api.rows(this.cls.name, { query, sort, position, limit, columns: isAll ? "" : names.join(",") }, signal);
  }

  async fetch(at, former) {
    const page = { rows: former?.rows, abort: new AbortController() };
    const { generation } = this;
    this.pages.set(at, page);
    try {
      const answer = await this.request(at * pageSize, pageSize, page.abort.signal);
      if (generation !== this.generation) return undefined;
      this.received(at, answer, former);
    } catch (error) {
      if (error.name === "AbortError" || generation !== this.generation) return undefined;
      this.pages.delete(at);
      this.events.failed(error);
    }
    // A commit arrived before the response.
    if (!page.stale || !this.pages.has(at)) return undefined;
    this.pages.get(at).stale = true;
    return this.fetchInView();
  }

  received(at, answer, former) {
    if (answer.version !== this.version) for (const page of this.pages.values()) page.stale ||= !page.abort;
    this.version = answer.version;
    const isMoved = this.anchor(at, former?.rows, answer.rows);
    this.pages.set(at, { rows: answer.rows });
    this.known = true;
    if (isMoved || this.count !== Number(answer.count) || this.pending !== undefined) {
      this.count = Number(answer.count);
      this.arrange();
    }
    this.events.counted(this.count);
    this.render();
  }

  /** Keeps the first visible row in place when rows above it are added or removed, and the active row on its object. */
  anchor(at, former, rows) {
    if (!former) return false;
    const shift = (index) => {
      const key = Math.floor(index / pageSize) === at ? former[index % pageSize]?.key : undefined;
      const found = key === undefined ? -1 : rows.findIndex((row) => row.key === key);
      return found < 0 ? 0 : found + at * pageSize - index;
    };
    const move = this.top > 0 ? shift(this.range[0]) : 0;
    this.active.row += shift(this.active.row);
    this.top += move * rowHeight;
    return move !== 0;
  }

  /** Marks changed rows. Deleted rows are struck through before the rows are fetched again. */
  async changedBy(changes) {
    const changed = new Map(changes.filter(({ cls }) => cls === this.cls?.name).map(({ key, change }) => [key, change]));
    if (!changed.size) return;
    for (const { key } of this.rows) if (changed.get(key) === "delete") this.gone.add(key);
    for (const [key, change] of changed) {
      if (change !== "delete") this.marked.add(key);
      if (change === "create") this.gone.delete(key);
    }
    for (const page of this.pages.values()) page.stale = true;
    const isDeleted = this.gone.size > 0;
    if (!isDeleted) await this.fetchInView();
    this.render();
    setTimeout(() => {
      for (const key of changed.keys()) this.marked.delete(key);
      if (isDeleted) this.reload({ keep: true });
      this.render();
    }, markTime);
  }

  go(row, column, { scroll = true } = {}) {
    const within = (value, least, count) => Math.max(least, Math.min(value, count - 1));
    this.active = { row: within(row, -1, this.rowCount), column: within(column, 0, this.columns.length) };
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
    const last = this.rowCount - 1;
    const step = event.shiftKey && row < 0 && { ArrowLeft: -16, ArrowRight: 16 }[event.key];
    const moves = {
      ArrowUp: [all ? 0 : row - 1, column], ArrowDown: [all ? last : row + 1, column],
      ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
      PageUp: [Math.max(0, row - page), column], PageDown: [Math.max(0, row) + page, column],
      Home: [all ? 0 : row, all ? column : 0], End: [all ? last : row, all ? column : this.columns.length - 1],
    };
    if (step) {
      const place = this.columns[column];
      this.changeColumns(() => { place.width = Math.max(48, place.width + step); });
    } else if (row < 0 && event.key === "ArrowDown" && event.altKey) this.columnMenu(column);
    else if (event.altKey) return;
    else if (event.key in moves) this.go(...moves[event.key]);
    else if (event.key === "Enter" && row < 0) this.sortBy(this.columns[column].property);
    else if (event.key === "Enter" || event.key === " ") this.openActive();
    else if (event.key === "f") this.grid.querySelector(".active a")?.click();
    else if (event.key === "m") this.columnMenu(column);
    else return;
    event.preventDefault();
  }

  openActive() {
    const data = this.row(this.active.row);
    if (data) this.events.open(data);
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

  /** Resizes a column by dragging its edge. */
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
    const stop = () => { leave.abort(); this.storeColumns(); };
    addEventListener("pointermove", move, { signal: leave.signal });
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, stop, { signal: leave.signal });
  }
}
