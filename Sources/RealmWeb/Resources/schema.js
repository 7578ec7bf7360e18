// The schema diagram: classes are boxes in columns, links are lines in the gaps between the boxes, so that no line
// crosses a box. Each segment of a line has a track; the gaps are as wide as their tracks require.
import { digits, plain } from "./dom.js";
import { address, typeName } from "./values.js";

const [lineHeight, headHeight, space, track, linesShown] = [18, 28, 26, 7, 14];

/** An SVG element; `text` is its content. */
function svg(tag, attributes = {}, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

const cut = (text, limit) => text.length > limit ? `${text.slice(0, limit - 1)}…` : text;

function makeBox(cls) {
  const important = (property) => property.name === cls.primaryKey || property.target;
  const chosen = new Set([...cls.properties.filter(important), ...cls.properties].slice(0, linesShown));
  const lines = cls.properties.filter((property) => chosen.has(property));
  const texts = lines.map((property) => [cut(plain(property.name), 24), cut(plain(typeName(property)), 22)]);
  const title = cut(plain(cls.name), 28);
  const longest = Math.max(title.length + 8, ...texts.map(([name, type]) => name.length + type.length + 2));
  const rest = cls.properties.length - lines.length;
  return {
    cls, lines, texts, title, rest, width: Math.max(130, longest * 6.9 + 22),
    height: headHeight + (lines.length + (rest ? 1 : 0)) * lineHeight + 8, links: [],
  };
}

/** Arranges boxes in columns, so that most links go from one column to the next. */
function arrange(boxes) {
  const layers = new Map();
  const linked = new Set(boxes.flatMap((box) => box.links.flatMap(({ to }) => to === box ? [] : [box, to])));
  const targets = new Set(boxes.flatMap((box) => box.links.filter(({ to }) => to !== box).map(({ to }) => to)));
  const roots = [...linked].filter((box) => !targets.has(box));
  for (const start of [...roots, ...linked]) {
    const queue = layers.has(start) ? [] : [[start, 0]];
    for (const [box, layer] of queue) {
      if (layers.has(box)) continue;
      layers.set(box, layer);
      queue.push(...box.links.map(({ to }) => [to, layer + 1]));
    }
  }
  const area = boxes.reduce((sum, box) => sum + (box.width + 60) * (box.height + space), 0);
  const limit = Math.max(Math.sqrt(area * 0.7), ...boxes.map((box) => box.height + space));
  const columns = [];
  for (let layer = 0; layer <= Math.max(-1, ...layers.values()); layer += 1) {
    let height = Infinity;
    for (const box of boxes.filter((other) => layers.get(other) === layer)) {
      if (height + box.height + space > limit) { columns.push([]); height = 0; }
      columns.at(-1).push(box);
      height += box.height + space;
    }
  }
  const heightOf = (column) => column.reduce((sum, box) => sum + box.height + space, 0);
  for (const box of boxes.filter((other) => !linked.has(other))) {
    const fitting = columns.find((column) => heightOf(column) + box.height <= limit);
    if (fitting) fitting.push(box); else columns.push([box]);
  }
  const rank = (box) => box.column.indexOf(box) / box.column.length;
  for (const column of columns) for (const box of column) box.column = column;
  for (let pass = 0; pass < 4; pass += 1) {
    for (const column of columns) {
      const wanted = new Map(column.map((box) => {
        const near = boxes.filter((other) => other !== box
          && (box.links.some(({ to }) => to === other) || other.links.some(({ to }) => to === box)));
        return [box, near.length ? near.reduce((sum, other) => sum + rank(other), 0) / near.length : rank(box)];
      }));
      column.sort((a, b) => wanted.get(a) - wanted.get(b));
    }
  }
  return columns;
}

/** Finds the gaps that each line passes through, then positions boxes and tracks. Returns the size and the lines. */
function route(columns) {
  const channels = Array.from({ length: columns.length + 1 }, () => 0);
  const gaps = columns.map((column) => Array.from({ length: column.length + 1 }, () => 0));
  const place = () => {
    let x = 12;
    columns.forEach((column, at) => {
      x += (at ? space : 0) + channels[at] * track;
      const width = Math.max(...column.map((box) => box.width));
      let y = 12;
      column.forEach((box, index) => {
        y += (index ? space : 0) + gaps[at][index] * track;
        Object.assign(box, { x, y, at });
        y += box.height;
      });
      x += width;
    });
    return x;
  };
  place();
  const boxes = columns.flat();
  const lines = boxes.flatMap((from) => from.links.map(({ to, property }) => {
    const forward = to.at > from.at;
    const [first, last] = forward ? [from.at + 1, to.at] : [to.at === from.at ? from.at + 1 : from.at, to.at + 1];
    const step = forward ? 1 : -1;
    const line = from.lines.indexOf(property);
    const exit = headHeight + (line < 0 ? from.lines.length : line) * lineHeight + 9;
    const vertical = [];
    const horizontal = [];
    for (let channel = first; ; channel += step) {
      vertical.push([channel, channels[channel]++]);
      if (channel === last) break;
      const at = forward ? channel : channel - 1;
      const edges = columns[at].map((box) => box.y - space / 2);
      edges.push(columns[at].at(-1).y + columns[at].at(-1).height + space / 2);
      const middle = (from.y + exit + to.y) / 2;
      const nearest = edges.reduce((best, y, index) => Math.abs(y - middle) < Math.abs(edges[best] - middle) ? index : best, 0);
      horizontal.push([at, nearest, gaps[at][nearest]++]);
    }
    return { from, to, property, exit, forward, vertical, horizontal };
  }));
  const right = place();
  const channelX = ([channel, number]) => channel === columns.length ? right + 8 + number * track
    : columns[channel][0].x - space / 2 - number * track;
  const gapY = ([at, index, number]) => {
    const box = columns[at][index];
    return box ? box.y - space / 2 - number * track
      : columns[at].at(-1).y + columns[at].at(-1).height + space / 2 + number * track;
  };
  for (const line of lines) {
    const { from, to, exit, forward, vertical, horizontal } = line;
    const leaves = forward || to.at === from.at ? from.x + from.width : from.x;
    const points = [[leaves, from.y + exit]];
    vertical.forEach((space, index) => {
      const x = channelX(space);
      points.push([x, points.at(-1)[1]]);
      points.push([x, index < horizontal.length ? gapY(horizontal[index]) : to.y + headHeight / 2]);
    });
    points.push([forward ? to.x : to.x + to.width, to.y + headHeight / 2]);
    line.points = points;
  }
  const all = lines.flatMap((line) => line.points);
  return {
    lines, width: Math.max(right, ...all.map(([x]) => x)) + 16,
    height: Math.max(...boxes.map((box) => box.y + box.height), ...all.map(([, y]) => y)) + 16,
  };
}

export class SchemaDrawing {
  constructor(host) { Object.assign(this, { host, zoom: 1 }); }

  show(classes) {
    const boxes = new Map([...classes.values()].map((cls) => [cls.name, makeBox(cls)]));
    for (const box of boxes.values()) {
      for (const property of box.cls.properties) {
        const to = boxes.get(property.target);
        if (to) box.links.push({ to, property });
      }
    }
    this.host.replaceChildren();
    if (!boxes.size) return;
    const columns = arrange([...boxes.values()]);
    const { lines, width, height } = route(columns);
    Object.assign(this, { width, height });
    this.drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "schema", role: "group" });
    const head = svg("marker", { id: "arrow", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" });
    head.append(svg("path", { d: "M0 0L8 4L0 8z", class: "tip" }));
    this.drawing.append(head);
    for (const line of lines) {
      line.element = svg("path", { d: `M${line.points.join("L")}`, class: "edge", "marker-end": "url(#arrow)" });
      line.element.append(svg("title", {}, plain(`${line.from.cls.name}.${line.property.name} → ${line.to.cls.name}`)));
      this.drawing.append(line.element);
    }
    for (const box of boxes.values()) this.drawing.append(this.box(box, lines));
    this.host.append(this.drawing);
    this.resize(1);
  }

  box(box, lines) {
    const { cls, x, y, width, height, texts, title, rest } = box;
    const link = svg("a", { href: address(cls.name), class: `box ${cls.kind}`, "aria-label": plain(`Class ${cls.name}`) });
    const left = (text, top, className) => svg("text", { x: x + 10, y: y + top, class: className }, text);
    const right = (text, top) => svg("text", { x: x + width - 10, y: y + top, class: "faint", "text-anchor": "end" }, text);
    const top = (line) => headHeight + line * lineHeight + 13;
    link.append(svg("rect", { x, y, width, height, rx: 5, class: "outline" }),
      svg("path", { d: `M${x} ${y + headHeight}h${width}`, class: "rule" }), left(title, 19, "name"),
      right(digits(cls.count), 19));
    texts.forEach(([name, type], line) => {
      const className = box.lines[line].name === cls.primaryKey ? "key" : "";
      link.append(left(name, top(line), className), right(type, top(line)));
    });
    if (rest) link.append(left(`+ ${rest} more`, top(texts.length), "faint"));
    const mark = (on) => () => {
      for (const line of lines) if (line.from === box || line.to === box) line.element.classList.toggle("hot", on);
    };
    for (const event of ["pointerenter", "focus"]) link.addEventListener(event, mark(true));
    for (const event of ["pointerleave", "blur"]) link.addEventListener(event, mark(false));
    return link;
  }

  resize(zoom) {
    this.zoom = Math.min(4, Math.max(0.1, zoom));
    for (const side of ["width", "height"]) this.drawing?.setAttribute(side, String(this[side] * this.zoom));
  }

  /** Scales the diagram to fit the view, but not above its natural size. */
  fit() {
    this.resize(Math.min(1, (this.host.clientWidth - 4) / this.width, (this.host.clientHeight - 4) / this.height));
  }
}
