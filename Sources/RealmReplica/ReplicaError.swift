// Why a replica cannot be written or compared. What helps decides the kind: to wait, to begin again, or nothing but the
// user.

public import RealmPages

/// Why a replica is not brought to the newest version.
public enum ReplicaError: Error, Sendable, CustomStringConvertible {
  /// The database cannot be reached, or the connection broke: it helps to wait.
  case connection(String)
  /// The database refused a statement: its SQLSTATE, and what it said.
  case server(state: String, String)
  /// The realm cannot be read.
  case engine(EngineError)
  /// The file at the path of the realm is not known to be a later version of what the replica shows, and to follow it
  /// would take something from the replica: why, and what to do.
  case replaced(String)
  /// What is to be done does not fit what is there: what, where and what to do.
  case unsuitable(String)
  /// Another program has written to the replica, or the realm changed its schema meanwhile: it helps to begin again.
  case overtaken
  /// The user wants to stop.
  case stopped

  /// One line for people.
  public var description: String {
    switch self {
    case .connection(let text), .unsuitable(let text), .replaced(let text): text
    case .server(let state, let text): "PostgreSQL: \(text) (\(state))\(Self.advice[state].map { "; \($0)" } ?? "")"
    case .engine(let error): error.description
    case .overtaken: "another program has written to the replica meanwhile"
    case .stopped: "stopped"
    }
  }

  /// What helps, by SQLSTATE.
  private static let advice = [
    "25006": "the server is a standby, or read-only for this role",
    "42501": "see the rights that a replica needs in docs/POSTGRESQL.md",
  ]

  /// Whether the same may succeed a little later.
  public var isTemporary: Bool {
    switch self {
    case .connection, .overtaken: true
    // Deadlocks and serialization, resources, intervention of an operator, what the system does, and a server that is
    // read-only until it takes the place of another one.
    case .server(let state, _):
      state == "25006" || ["40", "53", "57", "58", "08", "55"].contains(String(state.prefix(2)))
    case .engine, .unsuitable, .replaced, .stopped: false
    }
  }
}
