// A draft: the bytes that a program is writing, what they are to change, and how far they are from it. The table in
// docs/SEMANTICS.md, "Saving", has the state that each operation leads to.

import RealmPages

/// A text that a program is writing.
struct Draft: Sendable {
  /// The bytes and their state.
  let memory: MemoryFile
  /// The part of the realm that a save changes; nil for a file of the overlay, whose name says it.
  let target: (any DraftTarget)?
  /// The file that was the realm when the draft was opened, by `Standing.file`. The text is meant for that file alone.
  /// Nil if it may go to any file.
  var realmFile: Int?
  /// True if the handle reads, or may be mapped.
  var reads = true

  init(_ memory: MemoryFile, of target: (any DraftTarget)? = nil, for realmFile: Int? = nil, reads: Bool = true) {
    self.memory = memory
    self.target = target
    self.realmFile = realmFile
    self.reads = reads
  }
}

/// How far a draft is from what was opened or saved last.
enum DraftState: Sendable {
  /// It is the same. A draft that was only truncated to nothing is clean, too: it changes nothing.
  case clean
  /// It was written, or truncated to another size than 0.
  case dirty
  /// A save failed for a reason that may pass, such as a full disk. The next write, close or sync tries again.
  case failed
  /// A complete text cannot be saved for this reason, or a part of it could not be written. Each write and close
  /// reports the reason until the draft is truncated to nothing.
  case refused(FileTreeError)
}

/// The text of a draft that is checked or saved.
struct DraftText {
  private(set) var text: ChunkedBytes
  /// Of lines, the number of the first one.
  private(set) var firstLine = 1
  /// The user who owns the text if it is refused.
  let caller: Caller
  /// The name that the target had, for when it is gone.
  let name: [UInt8]?
  /// True if an object that exists must not be replaced.
  let mustBeNew: Bool
  /// The object or property that a program removed to make room for this text.
  let removal: Removal?
  /// The object that the save removes, because its file is renamed onto the target's.
  let moved: ObjectMove?
  /// True if the text is only checked. Links may lead to objects of later lines then, and no objects are converted to
  /// another schema.
  private(set) var isCheck = false

  /// All bytes as one array, a copy if they are many.
  var bytes: [UInt8] { get throws(FileTreeError) { try text.whole } }

  init(
    _ text: ChunkedBytes,
    of moved: ObjectMove? = nil,
    by caller: Caller,
    name: [UInt8]? = nil,
    mustBeNew: Bool = false,
    replacing removal: Removal? = nil
  ) {
    self.text = text
    self.moved = moved
    self.caller = caller
    self.name = name
    self.mustBeNew = mustBeNew
    self.removal = removal
  }

  /// This text, to be checked only; of lines, those that were not checked yet.
  func asCheck(_ contents: MemoryFile.Contents, of form: TextForm) -> DraftText {
    var check = self
    check.isCheck = true
    if form == .lines { (check.text, check.firstLine) = (contents.unchecked, contents.checked.count + 1) }
    return check
  }
}
