// Commits by any program, as announced by the server, and the state of the connection.
import { api } from "./api.js";

const retryAfter = 2000;

/** Calls `events.state(name)`, `version(first)` for each connection, and `commit(commit)`. Returns a stop function. */
export function follow(events) {
  let source, retry, attempt = 0;
  const close = () => { attempt += 1; clearTimeout(retry); source?.close(); };
  const lost = () => {
    close();
    events.state("lost");
    retry = setTimeout(connect, retryAfter);
  };
  // Browsers allow six connections to a server across all tabs, so hidden tabs have none.
  async function connect() {
    close();
    if (document.visibilityState === "hidden") return;
    const current = attempt;
    // An EventSource cannot send the key.
    const url = await api.ticketed("changes").catch(() => null);
    if (current !== attempt) return;
    if (!url) { lost(); return; }
    source = new EventSource(url);
    source.onopen = () => events.state("live");
    source.onerror = lost;
    source.addEventListener("version", ({ data }) => events.version(JSON.parse(data).version));
    source.addEventListener("commit", ({ data }) => {
      const { version, changes, more } = JSON.parse(data);
      events.commit({ version, more, changes: changes.map((change) => ({ ...change, cls: change.class })) });
    });
  }
  document.addEventListener("visibilitychange", connect);
  connect();
  return () => {
    document.removeEventListener("visibilitychange", connect);
    close();
    events.state("ended");
  };
}
