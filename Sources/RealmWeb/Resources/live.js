// Commits by any program, as announced by the server, and the state of the connection.

const retryAfter = 2000;

/** Calls `events.state(name)`, `version(first)` for each connection, and `commit(commit)`. Returns a stop function. */
export function follow(events) {
  let source, retry;
  // Browsers allow six connections to a server across all tabs, so hidden tabs have none.
  const connect = () => {
    close();
    if (document.visibilityState === "hidden") return;
    source = new EventSource("/api/changes");
    source.addEventListener("open", () => events.state("live"));
    source.addEventListener("version", (event) => events.version(JSON.parse(event.data).version));
    source.addEventListener("commit", (event) => {
      const { version, changes, more } = JSON.parse(event.data);
      events.commit({ version, more, changes: changes.map((change) => ({ ...change, cls: change.class })) });
    });
    source.addEventListener("error", () => {
      events.state("lost");
      // Browsers retry after a lost connection, but not after an error response.
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(connect, retryAfter);
    });
  };
  const close = () => { clearTimeout(retry); source?.close(); };
  document.addEventListener("visibilitychange", connect);
  connect();
  return () => {
    document.removeEventListener("visibilitychange", connect);
    close();
    events.state("ended");
  };
}
