// Requests to the server.

/** An error reported by the server, or a failed connection (status 0). */
export class ApiError extends Error {
  constructor(status, message, column) {
    super(message);
    Object.assign(this, { status, column });
  }
}

/** The server's key, from the URL of the first page. Cookies are shared by all ports of a host; storage is not. */
const key = (() => {
  const given = new URLSearchParams(location.search).get("key");
  if (given) history.replaceState(history.state, "", location.pathname + location.hash);
  try {
    if (given) localStorage.setItem("key", given);
    return given ?? localStorage.getItem("key") ?? "";
  } catch { return given ?? ""; }
})();

async function request(path, options = {}) {
  const headers = { "X-Realmfs-Key": key, ...options.method && { "Content-Type": "application/json" } };
  const response = await fetch(`/api/${path}`, { ...options, headers }).catch((error) => {
    throw error.name === "AbortError" ? error : new ApiError(0, "no answer from realmfs: it may have ended");
  });
  const text = await response.text();
  let answer = {};
  try { answer = text ? JSON.parse(text) : {}; } catch (error) {
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

/** The parameters of a read request for the shown version. */
const shown = (values = {}) => parameters({ ...values, version: api.version });

export const api = {
  /** The version that is shown; undefined for the newest. */
  version: undefined,
  info: () => request("info"),
  versions: () => request("versions"),
  classes: () => request(`classes${shown()}`),
  rows: (cls, values, signal) => request(`classes/${name(cls)}/rows${shown(values)}`, { signal }),
  object: (cls, key) => request(object(cls, key) + shown()),
  backlinks: (cls, key, limit) => request(`${object(cls, key)}/backlinks${shown({ limit })}`),
  blobPath: (cls, key, property) => `${object(cls, key)}/blob/${name(property)}${shown()}`,
  facets: (cls, property, limit) => request(`classes/${name(cls)}/facets${shown({ property, limit })}`),
  search: (text, signal) => request(`search${shown({ text, limit: 200 })}`, { signal }),
  deleted: (cls) => request(`classes/${name(cls)}/deleted?limit=500`),
  exportPath: (values) => `export${shown(values)}`,
  /** The URL of a request that the browser makes without the page's headers. A ticket authorizes it once. */
  async ticketed(path) {
    const { ticket } = await request("ticket", { method: "POST", body: "{}" });
    return `/api/${path}${path.includes("?") ? "&" : "?"}ticket=${ticket}`;
  },
  async download(path) {
    const link = document.createElement("a");
    Object.assign(link, { href: await api.ticketed(path), download: "" }).click();
  },
  // A preview's `expect` makes the server reject the change if the preview is out of date.
  preview: (cls, key, body) => request(`${object(cls, key)}?preview=1`, { method: "PATCH", body }),
  save: (cls, key, body, expect) => change("PATCH", object(cls, key) + parameters({ expect }), body),
  create: (cls, body) => change("POST", `classes/${name(cls)}/objects`, body),
  previewDelete: (cls, key) => request(`${object(cls, key)}?preview=1`, { method: "DELETE" }),
  delete: (cls, key, expect) => change("DELETE", object(cls, key) + parameters({ expect })),
  undo: (version) => change("POST", "undo", JSON.stringify({ version })),
  quit: () => request("quit", { method: "POST", body: "{}" }),
};
