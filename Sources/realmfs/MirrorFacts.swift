// What a mirror knows of its server, from the file alone: also when nothing is mounted and the server is away. Secrets
// are none of it: tokens are never stored, and the salts that prove an identity are not shown.
import RealmJSON
import RealmPages
import RealmSync

/// The server's side of a mirror.
struct MirrorFacts {
  private let state: MirrorState

  /// Nil if the realm is no mirror, or one of a layout that this program does not know.
  init?(_ snapshot: Snapshot) {
    // What cannot be read is reported by commands that need it.
    guard let state = try? MirrorState(in: snapshot) else { return nil }
    self.state = state
  }

  /// The lines of `realmfs info`.
  var lines: [(String, String)] {
    let progress = state.isComplete ? "complete" : "not downloaded as a whole yet"
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

  /// The same for programs.
  var members: [(String, JSONValue)] {
    func file(_ identity: FileIdentity) -> JSONValue { identity.file == 0 ? .null : .number(Int(identity.file)) }
    return [
      ("url", .string(state.url)), ("complete", .bool(state.isComplete)), ("version", .number(Int(state.version))),
      ("serverVersion", .number(Int(state.latest.version))), ("readerFile", file(state.reader)),
      ("writerFile", file(state.writer)), ("refused", state.refused.map { .string($0) } ?? .null),
    ]
  }
}
