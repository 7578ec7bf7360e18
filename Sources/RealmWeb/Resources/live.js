// Commits of any program, as they are announced by the server, and the state of the connection.

const retryAfter = 2000;

/** Calls `events.state(name)`, `version(first)` for each connection, and `commit(commit)`. Returns a function to end. */
export function follow(events) {
  let source;
  let retry;
  const connect = () => {
    source = new EventSource("/api/changes");
    source.addEventListener("open", () => events.state("live"));
    source.addEventListener("version", (event) => events.version(JSON.parse(event.data).version));
    source.addEventListener("commit", (event) => {
      const { version, changes, more } = JSON.parse(event.data);
      events.commit({ version, more, changes: changes.map((change) => ({ ...change, cls: change.class })) });
    });
    source.addEventListener("error", () => {
      events.state("lost");
      // Browsers try again after a lost connection, but not after a refusal.
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(connect, retryAfter);
    });
  };
  connect();
  return () => {
    clearTimeout(retry);
    source.close();
    events.state("ended");
  };
}
