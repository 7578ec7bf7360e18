// Commits of any program, as they are announced by the server, and the state of the connection.

const retryAfter = 2000;

/** Calls `events.state(name)` with connecting, live, lost or ended, and `events.commit(commit)` for each commit. */
export function follow(events) {
  let source;
  let retry;
  let wasOpen = false;
  const connect = () => {
    source = new EventSource("/api/changes");
    source.addEventListener("open", () => {
      events.state("live");
      // Commits may have been missed since the connection was lost.
      if (wasOpen) events.commit({ changes: [], more: true });
      wasOpen = true;
    });
    source.addEventListener("commit", (event) => {
      const { version, changes = [], more = false } = JSON.parse(event.data);
      events.commit({
        version, more, changes: changes.map((change) => ({ cls: change.class, key: String(change.key), change: change.change })),
      });
    });
    source.addEventListener("error", () => {
      events.state("lost");
      // Browsers try again after a lost connection, but not after a refusal.
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(connect, retryAfter);
    });
  };
  connect();
  return {
    end() {
      clearTimeout(retry);
      source.close();
      events.state("ended");
    },
  };
}
