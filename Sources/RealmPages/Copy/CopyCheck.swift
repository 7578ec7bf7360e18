// The check of a new realm file before it gets its name: a file that is not sound never replaces another one.

/// A check of a new file.
struct CopyCheck {
  /// The version that the file was made from, to distinguish existing damage from damage by the copy; nil if that
  /// version is known to be damaged.
  let original: Snapshot?

  /// Reads back the file, which will become the realm at `path` or is derived from it, and throws `damaged` if it is
  /// not sound. Memory: that of ``Verifier``, plus up to 256 MiB for an encrypted file. Cost: about half a second for a
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
        "\(path): what was saved is damaged, so no file was created: \(problems); --no-verify creates it anyway"
      )
    }
    throw EngineError(
      .damaged,
      "\(path): the realm is damaged, so nothing was changed: \(problems); 'realmfs check' lists all, "
        + "'realmfs recover' saves what can be read to a new file, and --no-verify continues anyway"
    )
  }
}
