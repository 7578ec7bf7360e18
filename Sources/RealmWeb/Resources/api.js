// Requests to the server, and JSON parsing that keeps all digits of large integers.

/** An error reported by the server, or a failed connection (status 0). */
export class ApiError extends Error {
  constructor(status, message, column) {
    super(message);
    Object.assign(this, { status, column });
  }
}

/** Parses JSON. Integers beyond 2^53 become BigInt, so that they keep all digits. */
export function parseJSON(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return hasSource ? JSON.parse(text, withDigits) : new Reader(text).document();
}

const withDigits = (key, value, context) => typeof value === "number" ? exact(value, context.source) : value;
const exact = (number, source) =>
  Number.isSafeInteger(number) || !/^-?\d+$/.test(source) ? number : BigInt(source);

const hasSource = (() => {
  let found = false;
  JSON.parse("1", (key, value, context) => { found = context?.source === "1"; return value; });
  return found;
})();

/** Parses JSON in browsers whose JSON.parse does not pass the source of a number; also finds the parts of a text. */
export class Reader {
  constructor(text) { Object.assign(this, { text, at: 0 }); }
  document() { return this.whole(this.value()); }

  /** Returns the source text of each member of the object that is being parsed. */
  members() {
    const found = new Map();
    this.object((name, start) => found.set(name, this.text.slice(start, this.at)));
    return this.whole(found);
  }

  fail() {
    const before = this.text.slice(0, this.at).split("\n");
    throw new SyntaxError(`not JSON at line ${before.length}, column ${before.at(-1).length + 1}`);
  }

  whole(result) { return this.next() === undefined ? result : this.fail(); }
  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  /** Skips white space and returns the character after it. */
  next() {
    this.match(/[ \t\n\r]*/y);
    return this.text[this.at];
  }

  accept(character) {
    if (this.next() !== character) return false;
    this.at += 1;
    return true;
  }

  expect(character) { if (!this.accept(character)) this.fail(); }

  value() {
    const first = this.next();
    if (first === "{") return this.object(() => {});
    if (first === "[") return this.array();
    if (first === "\"") return this.string();
    const word = this.match(/true|false|null/y);
    if (word) return JSON.parse(word);
    const number = this.match(/-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y);
    return number ? exact(Number(number), number) : this.fail();
  }

  string() {
    this.next();
    const source = this.match(/"(?:[^"\\\u0000-\u001f]|\\.)*"/y) ?? this.fail();
    try { return JSON.parse(source); } catch { return this.fail(); }
  }

  array() {
    const values = [];
    this.expect("[");
    if (this.accept("]")) return values;
    do values.push(this.value()); while (this.accept(","));
    this.expect("]");
    return values;
  }

  object(report) {
    const members = {};
    this.expect("{");
    if (this.accept("}")) return members;
    do {
      const name = this.string();
      this.expect(":");
      this.next();
      const start = this.at;
      // Not an assignment, because a name may be "__proto__".
      const value = this.value();
      Object.defineProperty(members, name, { value, enumerable: true, writable: true, configurable: true });
      report(name, start);
    } while (this.accept(","));
    this.expect("}");
    return members;
  }
}

async function send(path, options = {}) {
  const headers = options.method ? { "Content-Type": "application/json" } : {};
  try { return await fetch(`/api/${path}`, { ...options, headers }); } catch (error) {
    throw error.name === "AbortError" ? error : new ApiError(0, "no answer from realmfs: it may have ended");
  }
}

async function request(path, options) {
  const response = await send(path, options);
  const text = await response.text();
  let answer = {};
  try { answer = text ? parseJSON(text) : {}; } catch (error) {
    if (response.ok) throw new ApiError(response.status, `the answer to ${path} is ${error.message}`);
  }
  if (response.ok) return answer;
  throw new ApiError(response.status, answer.error || `status ${response.status}`, answer.column);
}

/** The versions of changes made here. A commit may be announced before the response to its change: see `answered`. */
export const ownVersions = new Set();
let pending = Promise.resolve();
export const answered = () => pending;

function change(method, path, body) {
  const answer = request(path, { method, body }).then((result) => {
    if (result.changed !== false) ownVersions.add(result.version);
    return result;
  });
  pending = Promise.allSettled([pending, answer]).then(() => {});
  return answer;
}

const name = encodeURIComponent;
const object = (cls, key) => `classes/${name(cls)}/objects/${name(key)}`;

/** Query parameters, omitting those that are empty. */
function parameters(values) {
  const present = Object.entries(values).filter(([, value]) => value !== undefined && value !== "");
  return present.length ? `?${new URLSearchParams(present)}` : "";
}

export const api = {
  info: () => request("info"),
  classes: () => request("classes"),
  rows: (cls, values, signal) => request(`classes/${name(cls)}/rows${parameters(values)}`, { signal }),
  object: (cls, key) => request(object(cls, key)),
  backlinks: (cls, key, limit) => request(`${object(cls, key)}/backlinks${parameters({ limit })}`),
  blobPath: (cls, key, property) => `/api/${object(cls, key)}/blob/${name(property)}`,
  async blob(cls, key, property) {
    const response = await send(`${object(cls, key)}/blob/${name(property)}`);
    if (!response.ok) throw new ApiError(response.status, `status ${response.status}`);
    return response.blob();
  },
  facets: (cls, property, limit) => request(`classes/${name(cls)}/facets${parameters({ property, limit })}`),
  search: (text, signal) => request(`search${parameters({ text, limit: 200 })}`, { signal }),
  exportPath: (values) => `/api/export${parameters(values)}`,
  // A preview's `expect` makes the server reject the change if the preview is out of date.
  preview: (cls, key, body) => request(`${object(cls, key)}?preview=1`, { method: "PATCH", body }),
  save: (cls, key, body, expect) => change("PATCH", object(cls, key) + parameters({ expect }), body),
  create: (cls, body) => change("POST", `classes/${name(cls)}/objects`, body),
  previewDelete: (cls, key) => request(`${object(cls, key)}?preview=1`, { method: "DELETE" }),
  delete: (cls, key, expect) => change("DELETE", object(cls, key) + parameters({ expect })),
  undo: (version) => change("POST", "undo", JSON.stringify({ version })),
  quit: () => request("quit", { method: "POST", body: "{}" }),
};
