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
  /// What is to be done does not fit what is there: what, where and what to do.
  case unsuitable(String)
  /// Another program has written to the replica, or the realm changed its schema meanwhile: it helps to begin again.
  case overtaken
  /// The user wants to stop.
  case stopped

  /// One line for people.
  public var description: String {
    switch self {
    case .connection(let text), .unsuitable(let text): text
    case .server(let state, let text): "PostgreSQL: \(text) (\(state))"
    case .engine(let error): error.description
    case .overtaken: "another program has written to the replica meanwhile"
    case .stopped: "stopped"
    }
  }

  /// Whether the same may succeed a little later.
  public var isTemporary: Bool {
    switch self {
    case .connection, .overtaken: true
    // Deadlocks and serialization, resources, intervention of an operator, and what the system does.
    case .server(let state, _): ["40", "53", "57", "58", "08", "55"].contains(String(state.prefix(2)))
    case .engine, .unsuitable, .stopped: false
    }
  }
}
