// Commits by any program, as announced by the server, and the state of the connection.
import { send } from "./api.js";

const retryAfter = 2000;

/** Calls `events.state(name)`, `version(first)` for each connection, and `commit(commit)`. Returns a stop function. */
export function follow(events) {
  let abort, retry;
  // Browsers allow six connections to a server across all tabs, so hidden tabs have none.
  const connect = async () => {
    close();
    if (document.visibilityState === "hidden") return;
    const { signal } = abort = new AbortController();
    // An EventSource cannot send the key.
    try {
      const response = await send("changes", { signal });
      if (response.ok) events.state("live");
      if (response.ok) for await (const event of eventsOf(response.body)) received(event);
    } catch { /* Stopped, or the connection was lost. */ }
    if (signal.aborted) return;
    events.state("lost");
    retry = setTimeout(connect, retryAfter);
  };
  const received = ({ event, data }) => {
    const { version, changes, more } = JSON.parse(data);
    if (event === "version") events.version(version);
    else events.commit({ version, more, changes: changes.map((change) => ({ ...change, cls: change.class })) });
  };
  const close = () => { clearTimeout(retry); abort?.abort(); };
  document.addEventListener("visibilitychange", connect);
  connect();
  return () => {
    document.removeEventListener("visibilitychange", connect);
    close();
    events.state("ended");
  };
}

/** The server-sent events of a body, without comments. */
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const fields = Object.fromEntries(part.split("\n").map((line) => line.split(/: (.*)/s)));
      if (fields.data) yield fields;
    }
  }
}
