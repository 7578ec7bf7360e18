// A file whose bytes are in memory: a scratch file, a file that is to become an object, or what one handle writes over
// an object. The realm learns of it only when it is saved.
//
// A text that is written from the start on is watched, so that it can be checked when it is complete: see
// TreeContext.write.

import CLinux
import Glibc
import RealmJSON
import RealmPages
import Synchronization

/// A regular file in memory.
final class MemoryFile: Sendable {
  /// What stat shows and chmod, chown and utimens change.
  struct Metadata: Sendable {
    var permissions: UInt32
    var owner: UInt32
    var group: UInt32
    var modified: Timestamp

    /// A file that is the caller's alone, made now.
    static func of(_ caller: Caller, permissions: UInt32 = 0o600) -> Metadata {
      Metadata(permissions: permissions, owner: caller.user, group: caller.group, modified: Timestamp.now)
    }
  }

  /// What programs set for a file.
  struct Settings: Sendable {
    /// The time of the last change.
    var time: Timestamp?
    /// Mode and group.
    var change = MetadataChange()
  }

  /// What the bytes are.
  enum Role: Sendable {
    /// A file in the tree: a scratch file, or an object that is not saved yet.
    case file
    /// A text that was refused, to be read and removed.
    case refusedText
    /// A text that an object had, likewise.
    case formerText
    /// What one handle writes over another file.
    case edit
  }

  /// What is known of a text that is written from the start to the end.
  fileprivate struct Text: Sendable {
    /// Where the writer is; nil if it does not write in order.
    var position: Int? = 0
    var outline: TextOutline

    init(_ form: TextForm) { outline = TextOutline(form) }
  }

  fileprivate struct State {
    var bytes: ChunkedBytes
    /// Counts the changes of the bytes.
    var generation: UInt64 = 0
    var draft = DraftState.clean
    var text: Text
    /// True if a save failed, and none has succeeded since.
    var hasFailed = false
    var metadata: Metadata
    /// True if something was written since the file was opened or emptied.
    var isWrittenTo = false
    /// True once the file's command was carried out; later writes are ignored.
    var isObeyed = false
    /// True if the file was emptied, and nothing was written since: the draft is clean.
    var isEmptied = false
    /// The number of handles whose end is being saved.
    var releases = 0
    /// The object that the file became when it was saved.
    var object: (any DraftTarget)?
    /// The object or property that a program removed to make room for the file.
    var removal: Removal?
    /// What programs set for the file since it was written: the object that it becomes has it, too.
    var settings: Settings?
    /// Where the bytes begin that were allocated and never written; nil if there are none.
    var allocated: Int?
    /// Of a refused text, the path that it was saved to.
    var refusedPath: String?
    /// Of lines, how many bytes are saved, so that each line is saved once.
    var saved = 0
    /// Of lines, how many bytes and lines from `saved` on were checked.
    var checked = CheckedLines()
    /// Of lines, the bytes at the end that no line end follows yet.
    var unfinished = 0
  }

  /// The end of what was checked of lines, in bytes, and the number of lines before it that are not saved.
  struct CheckedLines: Sendable {
    var end = 0
    var count = 0
  }

  /// The bytes and the change that they are from.
  struct Contents {
    /// Shares the memory of the file.
    let text: ChunkedBytes
    fileprivate let generation: UInt64
    /// Of lines, what was checked of them.
    let checked: CheckedLines
    /// Of lines, the end of those that have their line ends.
    fileprivate let endOfLines: Int
    /// Of lines, those that are complete and were not checked.
    var unchecked: ChunkedBytes {
      var text = text
      text.hide(from: endOfLines)
      text.hide(upTo: checked.end)
      return text
    }
    /// All bytes as one array, a copy if they are many.
    var bytes: [UInt8] { get throws(FileTreeError) { try text.whole } }
  }

  /// From this size on, the memory of a file is given back to the system at once.
  private static let largeSize = 16 << 20
  /// What a file takes besides its bytes.
  private static let overhead = 512

  /// The inode that the kernel knows it by.
  let inode: InodeNumber
  let role: Role
  /// The name that it was made or opened by, for when nothing else has a name any more.
  let name: [UInt8]
  private let budget: MemoryBudget
  /// What the text is to be.
  private let form: TextForm
  private let state: Mutex<State>
  /// Held while a save of the bytes goes on, from when it takes them until its outcome is noted.
  private let turn = Mutex<Void>(())

  /// A file with the bytes that `bytes` makes; nil if the budget has no room for them.
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
      budget.giveBack(Self.overhead)
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
      // The chunks of a large file leave holes that the allocator keeps unless asked.
      let cost = state.bytes.cost
      if cost >= Self.largeSize {
        state.bytes = ChunkedBytes(budget)
        clinux_trim_heap()
      }
      return cost
    }
    budget.giveBack(cost + Self.overhead)
  }

  /// What it takes of the budget.
  var cost: Int { state.withLock { $0.bytes.cost + Self.overhead } }

  /// The number of bytes.
  var size: Int { state.withLock { $0.bytes.count } }

  var metadata: Metadata { state.withLock { $0.metadata } }

  /// Of a refused text, the path of the file that it was saved to.
  var refusedPath: String? {
    get { state.withLock { $0.refusedPath } }
    set { state.withLock { $0.refusedPath = newValue } }
  }

  /// Who made or opened it.
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

  /// True if the file was emptied, and nothing was written since.
  var isEmptied: Bool { state.withLock { $0.isEmptied } }

  /// The object or property that a program removed to make room for the file, until a save takes its place.
  var removal: Removal? {
    get { state.withLock { $0.removal } }
    set { state.withLock { $0.removal = newValue } }
  }

  /// Returns what was removed to make room for the file, and forgets it.
  func takeRemoval() -> Removal? { state.withLock { $0.removal.take() } }

  /// True if the bytes were written in order, from the start to the end.
  var isInOrder: Bool { state.withLock { $0.isInOrder } }

  /// True if the bytes are the beginning of a JSON text that can still be completed, as far as they were written in
  /// order.
  var isUnfinished: Bool {
    state.withLock { state in
      guard form == .object || form == .value, state.isInOrder else { return false }
      return state.text.outline.verdict == .open || state.text.outline.verdict == .blank
    }
  }

  /// The object that the file became when it was saved; nil for a file that is none yet.
  var object: (any DraftTarget)? { state.withLock { $0.object } }

  /// Notes the object that the file became.
  func became(_ object: any DraftTarget) { state.withLock { $0.object = object } }

  /// Sets what a program asks for, and remembers it for the object that the file may become.
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

  /// True if the bytes never changed since the file was opened.
  var isUntouched: Bool { state.withLock { $0.generation == 0 } }

  /// True once the file's command was carried out; later writes are ignored.
  var isObeyed: Bool { state.withLock { $0.isObeyed } }

  /// Notes that the command that the file is was carried out.
  func noteObeyed() { state.withLock { $0.isObeyed = true } }

  // MARK: reading

  /// Calls `body` with up to `count` bytes from `offset` on.
  func read<R>(from offset: Int, count: Int, _ body: (RawSpan) -> R) throws(FileTreeError) -> R {
    let found = try state.withLock { state throws(FileTreeError) in
      let start = min(max(offset, 0), state.bytes.count)
      return try state.bytes.slice(start..<start + min(max(count, 0), state.bytes.count - start))
    }
    return unsafe body(found.span.bytes)
  }

  /// Calls `body` with all bytes, those that were only allocated left out where the bytes are a `text`. If it takes
  /// them `asOne` array, there must be room in the budget for a second copy where they are many.
  func withContents<R>(
    asOne: Bool = true,
    isText: Bool = true,
    _ body: (Contents) throws(FileTreeError) -> R
  ) throws(FileTreeError) -> R {
    let (size, isOneChunk) = state.withLock { ($0.bytes.count, $0.bytes.isOneChunk) }
    let room = isOneChunk || !asOne ? 0 : size
    guard budget.take(room) else { throw .memoryIsShort }
    defer { budget.giveBack(room) }
    return try body(
      state.withLock { state in
        var text = state.bytes
        // What another thread adds meanwhile is left to the next save.
        text.hide(from: isText ? min(size, state.allocated ?? size) : size)
        text.hide(upTo: state.saved)
        return Contents(
          text: text,
          generation: state.generation,
          checked: state.checked,
          endOfLines: state.end - state.unfinished
        )
      }
    )
  }

  // MARK: changing

  /// Writes at `offset`, nil for the end; a gap is filled with zeros. Returns true if the text `isWatched` and this
  /// write makes it complete, or hopeless; of lines, if these are whole lines and all others were checked.
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
        // A text of which a part is missing is not saved, whatever the program does next.
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
      return state.text.outline.decisions != before && (verdict == .complete || verdict == .hopeless)
    }
  }

  /// Grows to `size` where it is smaller. Allocated bytes do not belong to a text until a program writes them.
  func allocate(to size: Int) {
    state.withLock { state in
      if size <= state.bytes.count { return }
      state.allocated = state.allocated ?? state.bytes.count
      state.bytes.resize(to: size)
      state.noteChange()
    }
  }

  /// Cuts or grows to `size`, which must not be negative.
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

  /// Exchanges the bytes, which count as written.
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

  /// Watches the text from the end of what is there on, for a handle that only appends.
  func watchAppending() throws(FileTreeError) {
    try state.withLock { state throws(FileTreeError) in
      state.text = Text(form)
      _ = state.text.note(try state.bytes.copy(0..<state.bytes.count), at: 0)
    }
  }

  // MARK: outcomes

  /// Runs `body`, which saves what a handle left that is closed, while others wait in `awaitRelease`.
  func release<R>(_ body: () throws(FileTreeError) -> R) throws(FileTreeError) -> R {
    state.withLock { $0.releases += 1 }
    defer { state.withLock { $0.releases -= 1 } }
    return try inTurn(body)
  }

  /// Waits while `release` runs. The kernel does not wait for the last close of a file: without this, a program that
  /// reads the file next could overtake the save.
  func awaitRelease() {
    while state.withLock({ $0.releases > 0 }) {
      turn.withLock { _ in }
      sched_yield()
    }
  }

  /// Runs `body`, which saves or judges the bytes, when nothing else does that. A process that is forked while another
  /// thread writes closes its copy of the handle: what that saves is older, and must not come after the newer text.
  func inTurn<R>(_ body: () throws(FileTreeError) -> R) throws(FileTreeError) -> R {
    try turn.withLock { _ throws(FileTreeError) in try body() }
  }

  /// True if something was written since the file was opened or emptied.
  var isWrittenTo: Bool { state.withLock { $0.isWrittenTo } }

  /// Notes that a close failed, after which the program may go on.
  func noteFailure() { state.withLock { $0.hasFailed = true } }

  /// Notes that the bytes are where they are to stay.
  func noteKept() {
    state.withLock { state in
      state.hasFailed = false
      state.draft = .clean
    }
  }

  /// Notes that `contents` were saved. The draft stays dirty if something else was written meanwhile.
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
      state.isEmptied = false
    }
  }

  /// Notes that `count` lines of `contents` were checked.
  func noteChecked(_ contents: Contents, _ count: Int) {
    state.withLock { state in
      if state.checked.end != contents.checked.end { return }
      state.checked = CheckedLines(end: contents.endOfLines, count: contents.checked.count + count)
    }
  }

  /// Notes that `contents` were refused. The draft stays dirty if something else was written meanwhile.
  func noteRefused(_ contents: Contents, _ error: FileTreeError) {
    state.withLock { state in
      state.hasFailed = true
      if state.generation != contents.generation { return }
      state.draft = error.endsWrite ? .refused(error) : .failed
      state.isEmptied = false
    }
  }
}

extension MemoryFile.State {
  /// The end of what was written or truncated to, without bytes that were only allocated.
  fileprivate var end: Int { allocated ?? bytes.count }

  /// True if the bytes were written in order, from the start to the end.
  fileprivate var isInOrder: Bool { text.position == end }

  /// Notes lines that are about to be written at `start`. A line that is too long is refused before it takes room.
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
    if case .refused = draft {} else { draft = .dirty }
    isEmptied = false
    metadata.modified = Timestamp.now
    settings?.time = nil
  }
}

extension MemoryFile.Text {
  /// Notes what is written at `offset`. Returns how much could be judged before, from where its writer began.
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
