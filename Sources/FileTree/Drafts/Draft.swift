// A draft: the bytes that a program is writing, the part of the realm that they will change, and their state. The table
// in docs/SEMANTICS.md, "Saving", lists the state after each operation.

import RealmJSON
import RealmPages
import Synchronization

/// A text that a program is writing.
struct Draft: Sendable {
  /// The bytes and their state.
  let memory: MemoryFile
  /// The part of the realm that a save changes; nil for a file of the overlay, whose name determines the target.
  let target: (any DraftTarget)?
  /// The realm file when the draft was opened, as in `FileLocation.generation`. The text is saved only to that file.
  /// Nil if it may be saved to any file.
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

/// The difference between a draft and the text that was opened or saved last.
enum DraftState: Sendable {
  /// No difference. A draft that was only truncated to 0 is clean, too: it changes nothing.
  case clean
  /// The draft was written to, or truncated to a size other than 0.
  case dirty
  /// A save failed for a possibly temporary reason, such as a full disk. The next write, close or sync tries again.
  case failed
  /// The complete text cannot be saved for this reason, or a part of it could not be written. Each write and close
  /// reports the reason until the draft is truncated to 0.
  case refused(FileTreeError)
}

/// The JSON value of a text, parsed when it is first needed, and kept while its memory is within the budget.
final class ParsedText: Sendable {
  private let budget: MemoryBudget
  private let known = Mutex<JSONText?>(nil)

  init(_ budget: MemoryBudget) { self.budget = budget }

  deinit { if let known = known.withLock({ $0 }) { budget.release(known.sizeInMemory) } }

  /// Returns the value of `bytes`, which must be the same in each call.
  func value(of bytes: [UInt8]) throws(InputError) -> JSONText {
    if let known = known.withLock({ $0 }) { return known }
    let value = try JSONText(bytes)
    known.withLock { known in
      if known == nil, budget.take(value.sizeInMemory) { known = value }
    }
    return value
  }
}

/// The text of a draft that is checked or saved.
struct DraftText {
  private(set) var text: ChunkedBytes
  /// For lines, the number of the first one.
  private(set) var firstLine = 1
  /// The user who owns the text if it is refused.
  let caller: Caller
  /// The file name of the target, for messages after the target was deleted.
  let name: [UInt8]?
  /// True if the text must not replace an existing object.
  let mustBeNew: Bool
  /// The object or property that a program removed to make room for this text.
  let removal: Removal?
  /// The object that the save removes, because its file is renamed onto that of the target.
  let moved: ObjectMove?
  /// True if the text is only checked. Links may then refer to objects in later lines, and no objects are converted to
  /// another schema.
  private(set) var isCheck = false

  /// The JSON value of the text, which a check leaves to the save; nil if the text is parsed each time.
  private let parsed: ParsedText?

  /// All bytes as one array; copied if they are in more than one chunk.
  var bytes: [UInt8] { get throws(FileTreeError) { try text.whole } }

  /// Parses the text, unless it was parsed before.
  func json() throws(FileTreeError) -> JSONText {
    let bytes = try bytes
    do {
      if let parsed { return try parsed.value(of: bytes) }
      return try JSONText(bytes)
    } catch { throw FileTreeError(error) }
  }

  /// The text in `contents`.
  init(
    _ contents: MemoryFile.Contents,
    by caller: Caller,
    name: [UInt8]? = nil,
    mustBeNew: Bool = false,
    replacing removal: Removal? = nil
  ) {
    self.init(contents.text, contents.parsed, by: caller, name: name, mustBeNew: mustBeNew, replacing: removal)
  }

  init(
    _ text: ChunkedBytes,
    _ parsed: ParsedText? = nil,
    of moved: ObjectMove? = nil,
    by caller: Caller,
    name: [UInt8]? = nil,
    mustBeNew: Bool = false,
    replacing removal: Removal? = nil
  ) {
    (self.text, self.parsed) = (text, parsed)
    self.moved = moved
    self.caller = caller
    self.name = name
    self.mustBeNew = mustBeNew
    self.removal = removal
  }

  /// Returns this text as one that is only checked. For lines, it contains only the complete lines that have not been
  /// checked yet.
  func asCheck(_ contents: MemoryFile.Contents, of form: TextForm) -> DraftText {
    var check = self
    check.isCheck = true
    if form == .lines { (check.text, check.firstLine) = (contents.unchecked, contents.checked.count + 1) }
    return check
  }
}
