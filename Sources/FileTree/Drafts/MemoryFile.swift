// A file whose bytes are in memory: a scratch file, a file that will become an object, or the bytes that one handle
// writes over an object. The realm does not change until the file is saved.
//
// A text that is written from the start is tracked, so that it can be checked when it is complete: see
// `Drafts.write`.

import CLinux
import Glibc
import RealmJSON
import RealmPages
import Synchronization

/// A regular file in memory.
final class MemoryFile: Sendable {
  /// The attributes that stat returns and that chmod, chown and utimens change.
  struct Metadata: Sendable {
    var permissions: UInt32
    var owner: UInt32
    var group: UInt32
    var modified: Timestamp

    /// The metadata of a file created now. By default, only the caller may read and write it.
    static func of(_ caller: Caller, permissions: UInt32 = 0o600) -> Metadata {
      Metadata(permissions: permissions, owner: caller.user, group: caller.group, modified: Timestamp.now)
    }
  }

  /// The attributes that programs set for a file.
  struct Settings: Sendable {
    /// The time of the last change.
    var time: Timestamp?
    /// Mode and group.
    var change = MetadataChange()
  }

  /// The kind of content.
  enum Role: Sendable {
    /// A file in the tree: a scratch file, or an object that is not saved yet.
    case file
    /// A refused text. It can only be read and removed.
    case refusedText
    /// A previous text of an object. It can only be read and removed.
    case formerText
    /// The bytes that one handle writes over another file.
    case edit
  }

  /// The state of a text that is written from start to end.
  fileprivate struct Text: Sendable {
    /// The offset of the next write in order; nil if a write was out of order.
    var position: Int? = 0
    var outline: TextOutline

    init(_ form: TextForm) { outline = TextOutline(form) }
  }

  fileprivate struct State {
    var bytes: ChunkedBytes
    /// The number of changes of the bytes.
    var generation: UInt64 = 0
    var draft = DraftState.clean
    var text: Text
    /// True if a save failed, and none has succeeded since.
    var hasFailed = false
    var metadata: Metadata
    /// True if bytes were written since the file was opened or emptied.
    var isWrittenTo = false
    /// True after the command of the file ran; later writes are ignored.
    var hasRun = false
    /// True if the file was emptied and nothing was written since. The draft is clean then.
    var isEmptied = false
    /// The number of closed handles whose bytes are being saved.
    var releases = 0
    /// The object that the file became when it was saved.
    var object: (any DraftTarget)?
    /// The object or property that a program removed to make room for the file.
    var removal: Removal?
    /// The attributes that programs set for the file since the last write. They also apply to the object that it
    /// becomes.
    var settings: Settings?
    /// The offset from which on bytes were allocated but never written; nil if there are none.
    var allocated: Int?
    /// For a refused text, the path that it was saved to.
    var refusedPath: String?
    /// The JSON value of the text, from its check to its save.
    var parsed: ParsedText?
    /// For lines, the number of bytes saved, so that each line is saved once.
    var saved = 0
    /// For lines, the end of the checked lines, and the number of those that are not saved.
    var checked = CheckedLines()
    /// For lines, the number of bytes after the last end of line.
    var unfinished = 0
  }

  /// The end of the checked lines in bytes, and the number of checked lines that are not saved.
  struct CheckedLines: Sendable {
    var end = 0
    var count = 0
  }

  /// The bytes as of one generation.
  struct Contents {
    /// Shares the memory of the file.
    let text: ChunkedBytes
    /// The JSON value of the bytes; nil if it is not kept.
    let parsed: ParsedText?
    fileprivate let generation: UInt64
    /// For lines, the checked lines.
    let checked: CheckedLines
    /// For lines, the end of the last complete line.
    fileprivate let endOfLines: Int
    /// For lines, the complete lines that have not been checked.
    var unchecked: ChunkedBytes {
      var text = text
      text.hide(from: endOfLines)
      text.hide(upTo: checked.end)
      return text
    }
    /// All bytes as one array; copied if they are in more than one chunk.
    var bytes: [UInt8] { get throws(FileTreeError) { try text.whole } }
  }

  /// The size from which on the memory of a file is returned to the system at once.
  private static let largeSize = 16 << 20
  /// The bytes that a file occupies in addition to its content.
  private static let overhead = 512

  /// The inode number that the kernel has for the file.
  let inode: InodeNumber
  let role: Role
  /// The name that the file was created or opened by, for messages when it has no other name.
  let name: [UInt8]
  private let budget: MemoryBudget
  /// The kind of text that the file accepts.
  private let form: TextForm
  private let state: Mutex<State>
  /// Held during a save, from when it takes the bytes until its outcome is recorded.
  private let saveLock = Mutex<Void>(())

  /// Creates a file with the bytes that `bytes` returns; nil if they exceed the budget.
  init?(
    _ inode: InodeNumber,
    _ role: Role,
    _ name: [UInt8],
    _ metadata: Metadata,
    _ budget: MemoryBudget,
    _ form: TextForm = .object,
    _ bytes: (MemoryBudget) -> ChunkedBytes?
  ) {
    guard budget.take(Self.overhead) else { return nil }
    guard let bytes = bytes(budget) else {
      budget.release(Self.overhead)
      return nil
    }
    self.inode = inode
    self.role = role
    self.name = name
    self.budget = budget
    self.form = form
    state = Mutex(State(bytes: bytes, text: Text(form), metadata: metadata))
  }

  deinit {
    let cost = state.withLock { state in
      // Freed chunks leave holes in the heap that the allocator returns only on request.
      let cost = state.bytes.cost
      if cost >= Self.largeSize {
        state.bytes = ChunkedBytes(budget)
        clinux_trim_heap()
      }
      return cost
    }
    budget.release(cost + Self.overhead)
  }

  /// The bytes of the budget that the file uses.
  var cost: Int { state.withLock { $0.bytes.cost + Self.overhead } }

  /// The number of bytes.
  var size: Int { state.withLock { $0.bytes.count } }

  var metadata: Metadata { state.withLock { $0.metadata } }

  /// For a refused text, the path of the file that it was saved to.
  var refusedPath: String? {
    get { state.withLock { $0.refusedPath } }
    set { state.withLock { $0.refusedPath = newValue } }
  }

  /// The user and group that own the file.
  var owner: Caller {
    let metadata = metadata
    return Caller(user: metadata.owner, group: metadata.group)
  }

  /// The state of the draft.
  var draft: DraftState { state.withLock { $0.draft } }

  /// True if the draft is refused.
  var isRefused: Bool { if case .refused = draft { true } else { false } }

  /// True if a save failed, and none has succeeded since.
  var hasFailed: Bool { state.withLock { $0.hasFailed } }

  /// True if the file was emptied and nothing was written since.
  var isEmptied: Bool { state.withLock { $0.isEmptied } }

  /// The object or property that a program removed to make room for the file; nil after a save.
  var removal: Removal? {
    get { state.withLock { $0.removal } }
    set { state.withLock { $0.removal = newValue } }
  }

  /// Returns `removal`, and sets it to nil.
  func takeRemoval() -> Removal? { state.withLock { $0.removal.take() } }

  /// True if the bytes were written in order, from the start to the end.
  var isInOrder: Bool { state.withLock { $0.isInOrder } }

  /// True if the bytes were written in order and are an incomplete JSON text that can still be completed.
  var isUnfinished: Bool {
    state.withLock { state in
      guard form == .object || form == .value, state.isInOrder else { return false }
      return state.text.outline.verdict == .open || state.text.outline.verdict == .blank
    }
  }

  /// The object that the file became when it was saved; nil if it has not become one.
  var object: (any DraftTarget)? { state.withLock { $0.object } }

  /// Records the object that the file became.
  func became(_ object: any DraftTarget) { state.withLock { $0.object = object } }

  /// Sets mode, owner or group. Remembers mode and group for the object that the file may become.
  func set(_ change: MetadataChange) {
    state.withLock { state in
      state.metadata.permissions = change.permissions ?? state.metadata.permissions
      state.metadata.owner = change.owner ?? state.metadata.owner
      state.metadata.group = change.group ?? state.metadata.group
      var settings = state.settings ?? Settings()
      settings.change.permissions = change.permissions ?? settings.change.permissions
      settings.change.group = change.group ?? settings.change.group
      state.settings = settings
    }
  }

  /// Sets the time of the last change, and remembers it for the object that the file may become.
  func set(_ time: Timestamp) {
    state.withLock { state in
      state.metadata.modified = time
      var settings = state.settings ?? Settings()
      settings.time = time
      state.settings = settings
    }
  }

  /// Returns the settings made since the last write, and clears them.
  func takeSettings() -> Settings? { state.withLock { $0.settings.take() } }

  /// True if the bytes have not changed since the file was opened.
  var isUntouched: Bool { state.withLock { $0.generation == 0 } }

  /// True after the command of the file ran; later writes are ignored.
  var hasRun: Bool { state.withLock { $0.hasRun } }

  /// Records that the command of the file ran.
  func noteRun() { state.withLock { $0.hasRun = true } }

  // MARK: reading

  /// Calls `body` with up to `count` bytes from `offset` on.
  func read<R>(from offset: Int, count: Int, _ body: (RawSpan) -> R) throws(FileTreeError) -> R {
    let found = try state.withLock { state throws(FileTreeError) in
      let start = min(max(offset, 0), state.bytes.count)
      return try state.bytes.slice(start..<start + min(max(count, 0), state.bytes.count - start))
    }
    return unsafe body(found.span.bytes)
  }

  /// Calls `body` with all bytes; for a text, without bytes that were only allocated. If `body` needs them `asOne`
  /// array and they are in several chunks, reserves budget for a second copy while `body` runs.
  ///
  /// - Throws: `memoryIsShort` if there is no room for the copy.
  func withContents<R>(
    asOne: Bool = true,
    isText: Bool = true,
    _ body: (Contents) throws(FileTreeError) -> R
  ) throws(FileTreeError) -> R {
    let (size, isOneChunk, generation) = state.withLock { ($0.bytes.count, $0.bytes.isOneChunk, $0.generation) }
    let room = isOneChunk || !asOne ? 0 : size
    guard budget.take(room) else { throw .memoryIsShort }
    defer { budget.release(room) }
    return try body(
      state.withLock { state in
        var text = state.bytes
        // Bytes that another thread adds after this are left to the next save.
        text.hide(from: isText ? min(size, state.allocated ?? size) : size)
        text.hide(upTo: state.saved)
        // The value of a text is kept only for all of its bytes.
        let isWhole = isText && state.generation == generation && form != .lines
        if isWhole { state.parsed = state.parsed ?? ParsedText(budget) }
        return Contents(
          text: text,
          parsed: isWhole ? state.parsed : nil,
          generation: generation,
          checked: state.checked,
          endOfLines: state.end - state.unfinished
        )
      }
    )
  }

  // MARK: changing

  /// Writes at `offset`, or at the end if it is nil; a gap is filled with zeros. Returns true if the text must be
  /// checked now: it `isWatched`, and this write makes it complete or impossible to complete. For lines, returns true
  /// if the write ends at the end of a line and all previous lines were checked.
  func write(_ bytes: [UInt8], at offset: Int?, isWatched: Bool = false) throws(FileTreeError) -> Bool {
    if bytes.isEmpty { return false }
    return try state.withLock { state throws(FileTreeError) in
      if case .refused(let error) = state.draft { throw error }
      let start = offset ?? state.bytes.count
      state.saved = min(state.saved, start)
      if start < state.checked.end { state.checked = CheckedLines(end: state.saved) }
      let (end, overflow) = start.addingReportingOverflow(bytes.count)
      guard start >= 0, !overflow else { throw .refused(.tooLarge, "a file cannot be that large") }
      do throws(FileTreeError) {
        if form == .lines { try state.noteLines(bytes, at: start) }
        guard try state.bytes.write(bytes, at: start) else { throw .memoryIsShort }
      } catch {
        // A text with a missing part must not be saved, whatever the program does next.
        if isWatched { state.refuse(error) }
        throw error
      }
      state.noteChange()
      if let allocated = state.allocated {
        state.allocated = max(allocated, end) < state.bytes.count ? max(allocated, end) : nil
      }
      state.isWrittenTo = true
      guard isWatched else {
        state.text.position = nil
        return false
      }
      let before = state.text.note(bytes, at: start), verdict = state.text.outline.verdict
      if !state.isInOrder { return false }
      if form == .lines { return state.unfinished == 0 && start == state.checked.end }
      return state.text.outline.decisions != before && (verdict == .complete || verdict == .invalid)
    }
  }

  /// Grows to `size` if the file is smaller. Allocated bytes are not part of a text until a program writes them.
  func allocate(to size: Int) {
    state.withLock { state in
      if size <= state.bytes.count { return }
      state.allocated = state.allocated ?? state.bytes.count
      state.bytes.resize(to: size)
      state.noteChange()
    }
  }

  /// Truncates or extends to `size`, which must not be negative.
  func truncate(to size: Int) {
    state.withLock { state in
      state.bytes.resize(to: size)
      state.allocated = nil
      state.saved = min(state.saved, size)
      state.checked = CheckedLines(end: state.saved)
      state.unfinished = 0
      state.noteChange()
      if size == 0 {
        state.text = Text(form)
        state.isWrittenTo = false
        state.draft = .clean
        state.isEmptied = true
      } else if let position = state.text.position, size < position || form == .lines {
        state.text.position = nil
      }
    }
  }

  /// Replaces the bytes. The new ones count as written.
  func replace(_ bytes: [UInt8]) throws(FileTreeError) {
    try state.withLock { state throws(FileTreeError) in
      guard let new = ChunkedBytes(bytes, budget) else { throw .memoryIsShort }
      state.bytes.resize(to: 0)
      state.bytes = new
      state.allocated = nil
      state.noteChange()
      state.draft = .dirty
      state.text.position = nil
    }
  }

  /// Tracks the text as if its current bytes had been written in order, for a handle that only appends.
  func watchAppending() throws(FileTreeError) {
    try state.withLock { state throws(FileTreeError) in
      state.text = Text(form)
      _ = state.text.note(try state.bytes.copy(0..<state.bytes.count), at: 0)
    }
  }

  // MARK: outcomes

  /// Runs `body`, which saves the bytes of a closed handle. While it runs, other threads wait in `awaitRelease`.
  func release<R>(_ body: () throws(FileTreeError) -> R) throws(FileTreeError) -> R {
    state.withLock { $0.releases += 1 }
    defer { state.withLock { $0.releases -= 1 } }
    return try exclusively(body)
  }

  /// Waits while `release` runs. The kernel does not wait for the last close of a file; without this, a program that
  /// then reads the file could overtake the save.
  func awaitRelease() {
    while state.withLock({ $0.releases > 0 }) {
      saveLock.withLock { _ in }
      sched_yield()
    }
  }

  /// Runs `body`, which saves or checks the bytes, exclusively. A process that forks while another thread writes closes
  /// its copy of the handle; the older text that this close saves must not replace the newer one.
  func exclusively<R>(_ body: () throws(FileTreeError) -> R) throws(FileTreeError) -> R {
    try saveLock.withLock { _ throws(FileTreeError) in try body() }
  }

  /// True if bytes were written since the file was opened or emptied.
  var isWrittenTo: Bool { state.withLock { $0.isWrittenTo } }

  /// Records that a close failed. The program may still write more.
  func noteFailure() { state.withLock { $0.hasFailed = true } }

  /// Records that the bytes need no save: they remain in memory, or their command has run.
  func noteKept() {
    state.withLock { state in
      state.hasFailed = false
      state.draft = .clean
    }
  }

  /// Records that `contents` were saved. The draft stays dirty if it has changed since.
  func noteSaved(_ contents: Contents) {
    state.withLock { state in
      state.hasFailed = false
      state.removal = nil
      if form == .lines {
        state.saved = max(state.saved, min(contents.text.count, state.bytes.count))
        state.checked = CheckedLines(end: state.saved)
      }
      if state.generation != contents.generation { return }
      state.draft = .clean
      state.parsed = nil
      state.isEmptied = false
    }
  }

  /// Records that `count` more lines of `contents` were checked.
  func noteChecked(_ contents: Contents, _ count: Int) {
    state.withLock { state in
      if state.checked.end != contents.checked.end { return }
      state.checked = CheckedLines(end: contents.endOfLines, count: contents.checked.count + count)
    }
  }

  /// Records that `contents` were refused. The draft stays dirty if it has changed since.
  func noteRefused(_ contents: Contents, _ error: FileTreeError) {
    state.withLock { state in
      state.hasFailed = true
      if state.generation != contents.generation { return }
      state.draft = error.endsWrite ? .refused(error) : .failed
      state.parsed = nil
      state.isEmptied = false
    }
  }
}

extension MemoryFile.State {
  /// The end of the bytes that were written or truncated to, without allocated ones.
  fileprivate var end: Int { allocated ?? bytes.count }

  /// True if the bytes were written in order, from the start to the end.
  fileprivate var isInOrder: Bool { text.position == end }

  /// Records lines that are about to be written at `start`. A line that is too long is rejected before memory is
  /// allocated for it.
  fileprivate mutating func noteLines(_ bytes: [UInt8], at start: Int) throws(FileTreeError) {
    let end = bytes.lastIndex(of: UInt8(ascii: "\n"))
    let former = start == self.end ? unfinished : 0
    unfinished = end.map { bytes.count - $0 - 1 } ?? former + bytes.count
    if unfinished > ChunkedBytes.longestLine { throw .lineIsTooLong() }
  }

  fileprivate mutating func refuse(_ error: FileTreeError) {
    draft = .refused(error)
    hasFailed = true
    isEmptied = false
  }

  fileprivate mutating func noteChange() {
    generation += 1
    parsed = nil
    if case .refused = draft {} else { draft = .dirty }
    isEmptied = false
    metadata.modified = Timestamp.now
    settings?.time = nil
  }
}

extension MemoryFile.Text {
  /// Records a write at `offset`. Returns the number of decisions before it since the start of the text.
  fileprivate mutating func note(_ bytes: [UInt8], at offset: Int) -> Int {
    if offset == 0 { self = MemoryFile.Text(outline.form) }
    let before = outline.decisions
    guard offset == position else {
      position = nil
      return before
    }
    position = offset + bytes.count
    outline.read(bytes)
    return before
  }
}
