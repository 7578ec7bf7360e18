// The facts about the server in a mirror file, available even when nothing is mounted and the server is unreachable.
// They contain no secrets: tokens are never stored, and the salts that prove an identity are not shown.
import RealmJSON
import RealmPages
import RealmSync

/// The facts about the server of a mirror.
struct MirrorFacts {
  private let state: MirrorState

  /// Reads the facts; nil if the realm is not a mirror, or if this program does not know its layout.
  init?(_ snapshot: Snapshot) {
    // The commands that need the state report that it cannot be read.
    guard let state = try? MirrorState(in: snapshot) else { return nil }
    self.state = state
  }

  /// The lines that `realmfs info` prints.
  var lines: [(String, String)] {
    let progress = state.isComplete ? "complete" : "not completely downloaded yet"
    return [
      ("mirror of", state.url),
      ("server version", "\(state.version) of \(state.latest.version), \(progress)"),
      ("known to server", known),
      ("refused last", state.refused ?? "nothing"),
    ]
  }

  private var known: String {
    let reader = state.reader.file == 0 ? "not yet" : "as file \(state.reader.file)"
    return reader + (state.writer.file == 0 ? "" : ", writes as file \(state.writer.file)")
  }

  /// The JSON members that `realmfs info` prints.
  var members: [(String, JSONValue)] {
    func file(_ identity: FileIdentity) -> JSONValue { identity.file == 0 ? .null : .number(Int(identity.file)) }
    return [
      ("url", .string(state.url)), ("complete", .bool(state.isComplete)), ("version", .number(Int(state.version))),
      ("serverVersion", .number(Int(state.latest.version))), ("readerFile", file(state.reader)),
      ("writerFile", file(state.writer)), ("refused", state.refused.map { .string($0) } ?? .null),
    ]
  }
}
