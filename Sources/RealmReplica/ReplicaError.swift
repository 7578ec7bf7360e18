// The errors of writing and comparing replicas. The cases differ by remedy: wait, start again, or ask the user.

/// The reason that a replica is not updated to the newest version.
public enum ReplicaError: Error, Sendable, CustomStringConvertible {
  /// The database cannot be reached, or the connection broke; retry later.
  case connection(String)
  /// The database rejected a statement: its SQLSTATE and message.
  case server(state: String, String)
  /// The file at the path of the realm is not known to be a later version of the one in the replica, and following it
  /// would lose data of the replica: the reason and the remedy.
  case replaced(String)
  /// The operation does not suit the database or the realm: what, where, and the remedy.
  case unsuitable(String)
  /// Another program has written to the replica, or the schema of the realm has changed in the meantime; start again.
  case overtaken
  /// The user requested a stop.
  case stopped

  /// The message, on one line.
  public var description: String {
    switch self {
    case .connection(let text), .unsuitable(let text), .replaced(let text): text
    case .server(let state, let text): "PostgreSQL: \(text) (\(state))\(Self.advice[state].map { "; \($0)" } ?? "")"
    case .overtaken: "another program wrote to the replica in the meantime"
    case .stopped: "stopped"
    }
  }

  /// The remedy, by SQLSTATE.
  private static let advice = [
    "25006": "the server is a standby, or read-only for this role",
    "42501": "see the privileges that a replica needs in docs/POSTGRESQL.md",
  ]

  /// True if a retry may succeed a little later.
  public var isTemporary: Bool {
    switch self {
    case .connection, .overtaken: true
    // Deadlocks and serialization failures, insufficient resources, operator intervention, system errors, connection
    // errors, and a server that is read-only until its failover completes.
    case .server(let state, _):
      state == "25006" || ["40", "53", "57", "58", "08", "55"].contains(String(state.prefix(2)))
    case .unsuitable, .replaced, .stopped: false
    }
  }
}
