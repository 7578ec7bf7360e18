// The check of a new realm file before it gets its name: what is not sound takes the place of nothing.

/// How a new file is checked.
struct CopyCheck {
  /// The version that the file was made of, to tell damage that was there from damage that was made; nil if it is known
  /// to be damaged.
  let original: Snapshot?

  /// Reads the file back, which is to be the realm at `path` or to be made of it, and throws `damaged` if it is not
  /// sound. Memory: as ``Verifier`` says, and 256 MiB at most of an encrypted one. Cost: about half a second for a
  /// million objects, twice that if they are encrypted.
  func run(_ file: FileHandle, key: EncryptionKey?, path: String) throws(EngineError) {
    let snapshot = try WorkRealm.look(file, key, path, topRef: 0)
    var first: Verifier.Problem?
    let summary = Verifier(snapshot, memory: .bounded).run(limit: 1) { if !$0.isLeftover { first = first ?? $0 } }
    guard let first else { return }
    let problems = summary.problems == 1 ? "\(first)" : "\(first), and \(summary.problems - 1) more"
    if let original, Verifier(original).run(limit: 1, { _ in }).isSound {
      throw EngineError(
        .damaged,
        "\(path): the new file would be damaged, although this one is sound, so nothing was changed: \(problems); "
          + "this is a fault of this program: please report it"
      )
    }
    if original == nil {
      throw EngineError(
        .damaged,
        "\(path): what was saved is not sound, so no file was made: \(problems); --no-verify makes it all the same"
      )
    }
    throw EngineError(
      .damaged,
      "\(path): the realm is damaged, so nothing was changed: \(problems); 'realmfs check' lists all, "
        + "'realmfs recover' saves what can be read to a new file, and --no-verify goes on in spite of it"
    )
  }
}
