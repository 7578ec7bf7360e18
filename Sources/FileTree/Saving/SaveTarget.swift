// From the bytes of a file to a commit: what saving a file changes, and what becomes of a text that is refused.

import RealmPages

/// What saving a file changes.
protocol SaveTarget: Sendable {
  /// What it is called where refusals are noted.
  var operation: String { get }
  /// What its text is. `write` rehearses a text that is complete, because shells do not see the errors of `close`.
  var form: TextForm { get }
  /// Whether no bytes at all are a text, too, so that a file that was only emptied is saved.
  var takesNothing: Bool { get }
  /// True if emptying the file carries out the command that it is.
  var obeysTruncation: Bool { get }

  /// Changes the realm to what the bytes say.
  func save(_ request: SaveRequest, _ saver: Saver, _ tree: TreeContext) throws(FileTreeError) -> SavedAs
  /// Changes a transaction that is thrown away to what the bytes say, on the version that `view` shows. Throws what
  /// saving would throw because of them.
  func rehearse(
    _ bytes: [UInt8],
    _ view: VersionView,
    _ transaction: borrowing WriteTransaction,
    _ tree: TreeContext
  ) throws(FileTreeError)
  /// Where users look for what was refused; nil if the target cannot be named.
  func shownPlace(_ tree: TreeContext) -> ShownPlace?
  /// The same, when the target went by `name` and may be gone.
  func shownPlace(_ tree: TreeContext, known name: [UInt8]?) -> ShownPlace?
}

/// What is to be saved, and for whom.
struct SaveRequest {
  let text: ChunkedBytes
  /// Who owns the text if it is refused.
  let caller: Caller
  /// The name that the target went by, for when it is gone.
  let name: [UInt8]?
  /// Whether something that exists is not replaced.
  let mustBeNew: Bool
  /// The object that goes with the save, because its file is renamed onto the target's.
  var moved: ObjectMove?

  /// All bytes as one array, a copy if they are many.
  var bytes: [UInt8] { get throws(FileTreeError) { try text.whole } }

  init(_ contents: MemoryFile.Contents, by caller: Caller, name: [UInt8]? = nil, mustBeNew: Bool = false) {
    text = contents.text
    self.caller = caller
    self.name = name
    self.mustBeNew = mustBeNew
  }

  /// A request to save the text of an object whose file is renamed onto the target.
  init(_ text: ChunkedBytes, of moved: ObjectMove, by caller: Caller, mustBeNew: Bool) {
    self.text = text
    self.caller = caller
    self.moved = moved
    self.mustBeNew = mustBeNew
    name = nil
  }
}

extension SaveTarget {
  var operation: String { "save" }
  var form: TextForm { .object }
  var takesNothing: Bool { false }
  var obeysTruncation: Bool { false }
  func shownPlace(_ tree: TreeContext, known name: [UInt8]?) -> ShownPlace? { shownPlace(tree) }
}

/// Where the bytes of a saved file are now, and whether saving them changed the realm.
enum SavedAs: Sendable {
  /// They are an object.
  case object(TableOrdinal, ObjKey, hasChanged: Bool)
  /// A computed file of the tree has them; what is written next goes to this target, too.
  case computed(any SaveTarget, hasChanged: Bool)
  /// Nowhere.
  case nothing

  /// True if the realm was changed.
  var hasChanged: Bool {
    switch self {
    case .object(_, _, let hasChanged), .computed(_, let hasChanged): hasChanged
    case .nothing: true
    }
  }
}

/// The path that users know a target by, and where its refused text is.
struct ShownPlace {
  let path: String
  /// Nil where there is no text worth keeping.
  let rejected: RejectedText?
}

extension TreeContext {
  /// Saves bytes and says what they became. What is refused is kept where the user finds it.
  func save(_ request: SaveRequest, as target: any SaveTarget) throws(FileTreeError) -> SavedAs {
    guard let saver else { throw .readOnly }
    if let staged, staged.hasEnded { throw .stale }
    do throws(FileTreeError) {
      let result = try target.save(request, saver, self)
      takeBackKept()
      // Editors put the former text back after a refusal. That text does not replace the refused one.
      if result.hasChanged { clearRefusal(of: target, by: request.caller) }
      return result
    } catch {
      refused(error, target, request)
      throw error
    }
  }

  /// Throws what saving would throw because of the text, without saving: on the newest version, without a turn as
  /// writer.
  func rehearse(_ bytes: [UInt8], as target: any SaveTarget) throws(FileTreeError) {
    guard let saver else { throw .readOnly }
    try read { view throws(FileTreeError) in
      // Nothing is written to a file that the path does not lead to.
      if [.gone, .shared].contains(realm.standing.place) {
        throw .refused(.moved, RealmWriter.hasMoved(realm.configuration.path))
      }
      try saver.rehearse(on: view.snapshot) { transaction throws(FileTreeError) in
        try target.rehearse(bytes, view, transaction, self)
        return .none
      }
    }
  }

  /// What a file at a place changes when it is saved; nil for a scratch file.
  func saveTarget(of place: Overlay.Place) throws(FileTreeError) -> (any SaveTarget)? {
    guard saver != nil else { throw .readOnly }
    return try node(place.directory).saveTarget(of: place.name, self)
  }

  /// Drops what was refused of the caller's for a target before. What was refused of other users' stays.
  private func clearRefusal(of target: any SaveTarget, by caller: Caller) {
    if !refusals.mayHaveAny { return }
    guard let place = target.shownPlace(self) else { return }
    refusals.clear(place.path, of: caller.user)
    if let rejected = place.rejected { _ = overlay.unlink(rejected.place(of: caller.user, self)) }
  }

  /// Keeps what was refused where its user, and nobody else, finds it.
  func refused(_ error: FileTreeError, _ target: any SaveTarget, _ request: SaveRequest) {
    guard let place = target.shownPlace(self, known: request.name) else { return }
    let caller = request.caller
    refusals.note(place.path, target.operation, Reason(error, of: caller.user), by: caller.wholeProcess)
    options.log?("\(place.path): \(error)")
    guard let rejected = place.rejected else { return }
    overlay.keepRefused(request.text, of: place.path, at: rejected.place(of: caller.user, self), .of(caller))
    for gone in overlay.limitRefused(to: options.memoryLimit / 2) {
      let text = "the text was dropped, because refused texts take no more than half of the memory of the mount"
      refusals.remark(shownPath(of: gone), "drop", text)
    }
  }

  /// The path that users know a place by.
  func shownPath(of place: Overlay.Place) -> String {
    let name = String(decoding: place.name, as: UTF8.self)
    // Without a directory the name is all there is to say.
    guard let directory = nodes.node(place.directory), let path = try? directory.shownPath(self) else { return name }
    return path + "/" + name
  }

  /// Changes the schema, and notes why if that is refused.
  func changeSchema(_ operation: String, _ path: String, _ change: Saver.Change) throws(FileTreeError) {
    guard let saver else { throw .readOnly }
    do throws(FileTreeError) { try saver.save(mayWait: false, change) } catch {
      refusals.note(path, operation, Reason(error, of: nil))
      options.log?("\(path): \(error)")
      throw error
    }
  }
}

/// What a handle saves to that was opened when a certain file was the realm. Its text was meant for that file.
struct OpenedTarget: SaveTarget {
  private let target: any SaveTarget
  /// `Standing.file` when the handle was opened.
  private let file: Int

  init(_ target: any SaveTarget, _ file: Int) {
    self.target = target
    self.file = file
  }

  var operation: String { target.operation }
  var form: TextForm { target.form }
  var takesNothing: Bool { target.takesNothing }
  var obeysTruncation: Bool { target.obeysTruncation }

  private func check(_ tree: TreeContext) throws(FileTreeError) {
    if tree.realm.standing.file != file { throw .replaced }
  }

  func save(_ request: SaveRequest, _ saver: Saver, _ tree: TreeContext) throws(FileTreeError) -> SavedAs {
    try check(tree)
    do throws(FileTreeError) { return try target.save(request, saver.saving(to: file), tree) } catch {
      // What the other file does not have is not the reason.
      try check(tree)
      throw error
    }
  }

  func rehearse(
    _ bytes: [UInt8],
    _ view: VersionView,
    _ transaction: borrowing WriteTransaction,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    try check(tree)
    try target.rehearse(bytes, view, transaction, tree)
  }

  func shownPlace(_ tree: TreeContext) -> ShownPlace? { target.shownPlace(tree) }

  func shownPlace(_ tree: TreeContext, known name: [UInt8]?) -> ShownPlace? { target.shownPlace(tree, known: name) }
}

extension FileTreeError {
  /// Another file has taken the realm's place since a handle was opened.
  static let replaced = FileTreeError.refused(
    .moved,
    "the realm was replaced by another file since this one was opened; save again"
  )
}

/// The wish to compact the file.
struct CompactTarget: SaveTarget {
  var operation: String { "compact" }
  var form: TextForm { .command }

  func save(_ request: SaveRequest, _ saver: Saver, _ tree: TreeContext) throws(FileTreeError) -> SavedAs {
    switch String(decoding: try request.bytes, as: UTF8.self).filter({ !$0.isWhitespace }) {
    case "1": try saver.compact()
    case "0": break
    default: throw .refused(.invalid, "write 1 to compact the realm")
    }
    return .nothing
  }

  func rehearse(
    _ bytes: [UInt8],
    _ view: VersionView,
    _ transaction: borrowing WriteTransaction,
    _ tree: TreeContext
  ) throws(FileTreeError) {}

  func shownPlace(_ tree: TreeContext) -> ShownPlace? { ShownPlace(path: ".realm/compact", rejected: nil) }
}
