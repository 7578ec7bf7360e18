// A file whose bytes are in memory: a scratch file, a file that is to become an object, or what one handle writes over
// an object. The realm learns of it only when it is saved.
//
// A text that is written from the start on is watched, so that it can be checked when it is complete: see
// FileTree.write. A write that is refused then leaves the bytes as they were.

import CLinux
import RealmJSON
import RealmPages
import Synchronization

/// A regular file in memory.
final class MemoryFile: Sendable {
  /// How far the bytes are from what was saved or opened.
  enum Progress: Sendable {
    /// They are what was opened or saved last.
    case clean
    /// They were cut to nothing, and nothing was written since. Closing that changes nothing.
    case emptied
    /// They were written.
    case written
    /// They were written, and saving them failed with this error.
    case refused(FileTreeError)
  }

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

  /// A write to a text that is watched.
  struct Writing: Sendable {
    /// Whether the text is complete, or hopeless, since this write.
    let isDecided: Bool
    fileprivate let generation: UInt64
    fileprivate let offset: Int
    /// What the file was before.
    fileprivate let size: Int
    fileprivate let overwritten: [UInt8]
    fileprivate let text: Text
    fileprivate let allocated: Int?
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
    var progress = Progress.clean
    var text: Text
    /// Whether a save was refused, and none was accepted since.
    var isRefused = false
    /// The text that was refused last.
    var refusedText: Int?
    var metadata: Metadata
    /// Whether something was written since it was emptied, also if it was taken back.
    var isWrittenTo = false
    /// True once the file's command was carried out; later writes are ignored.
    var isObeyed = false
    /// Whether it was closed while it was emptied.
    var wasClosedEmpty = false
    /// Whether it was reported that memory is all that has the file.
    var isReported = false
    /// The object that the file became when it was saved.
    var object: (any SaveTarget)?
    /// Why a part of the text is missing; nil if all of it is there.
    var incomplete: FileTreeError?
    /// What programs set for the file since it was written: the object that it becomes has it, too.
    var settings: Settings?
    /// Where the bytes begin that were allocated and never written; nil if there are none.
    var allocated: Int?
    /// Of a refused text, the path that it was saved to.
    var refusedPath: String?
    /// Of lines, how many bytes are saved, so that each line is saved once; and how many were looked at.
    var saved = 0, judged = 0
    /// Of lines, the bytes at the end that no line end follows yet.
    var unfinished = 0
  }

  /// The bytes and the change that they are from.
  struct Contents {
    /// Shares the memory of the file.
    let text: ChunkedBytes
    fileprivate let generation: UInt64
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

  /// Of lines, the number of bytes that are to be saved.
  var unsavedSize: Int { state.withLock { $0.bytes.count - $0.saved } }

  /// True if lines grew by `step` bytes since they were looked at last, or beyond `most` bytes to twice as many: then
  /// they are to be looked at.
  func takeJudgement(each step: Int, most: Int) -> Bool {
    state.withLock { state in
      let size = state.bytes.count - state.saved
      if state.bytes.count - state.judged < (size > most ? max(step, state.judged - state.saved) : step) {
        return false
      }
      state.judged = state.bytes.count
      return true
    }
  }

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

  /// Of a text that misses a part, that it was refused for it.
  var progress: Progress { state.withLock { state in state.incomplete.map { .refused($0) } ?? state.progress } }

  /// Whether a save was refused, and none was accepted since.
  var isRefused: Bool { state.withLock { $0.isRefused } }

  /// The object that the file became when it was saved; nil for a file that is none yet.
  var object: (any SaveTarget)? { state.withLock { $0.object } }

  /// Notes the object that the file became.
  func became(_ object: any SaveTarget) { state.withLock { $0.object = object } }

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
        return Contents(text: text, generation: state.generation)
      }
    )
  }

  // MARK: changing

  /// Writes at `offset`, nil for the end; a gap is filled with zeros. If the text `isWatched`, what the write means for
  /// it is returned.
  func write(_ bytes: [UInt8], at offset: Int?, isWatched: Bool = false) throws(FileTreeError) -> Writing? {
    if bytes.isEmpty { return nil }
    return try state.withLock { state throws(FileTreeError) in
      let size = state.bytes.count, start = offset ?? size
      state.saved = min(state.saved, start)
      // A text that begins anew misses nothing.
      if start == 0, size == 0, form == .string || form == .data { state.incomplete = nil }
      let (end, overflow) = start.addingReportingOverflow(bytes.count)
      guard start >= 0, !overflow else { throw .refused(.tooLarge, "no file can be that large") }
      if form == .lines { try state.noteLines(bytes, at: start) }
      let overwritten = isWatched && start < size ? try state.bytes.copy(start..<min(end, size)) : []
      do throws(FileTreeError) {
        guard try state.bytes.write(bytes, at: start) else { throw .memoryIsShort }
      } catch {
        // Lines of which some are missing are not saved, whatever the program does next.
        if form == .lines { state.incomplete = error }
        throw error
      }
      let former = (text: state.text, progress: state.progress, allocated: state.allocated)
      state.noteChange()
      if let allocated = state.allocated {
        state.allocated = max(allocated, end) < state.bytes.count ? max(allocated, end) : nil
      }
      state.isWrittenTo = true
      guard isWatched else {
        state.text.position = nil
        return nil
      }
      let before = state.text.note(bytes, at: start), verdict = state.text.outline.verdict
      let isDecided = state.text.outline.decisions != before && (verdict == .complete || verdict == .hopeless)
      let isWhole = state.text.position == state.allocated ?? state.bytes.count
      // What a program writes on although its text was refused, such as a line end, is no text until it is complete.
      if case .refused = former.progress, isWhole, verdict != .complete { state.progress = former.progress }
      return Writing(
        isDecided: isWhole && isDecided,
        generation: state.generation,
        offset: start,
        size: size,
        overwritten: overwritten,
        text: former.text,
        allocated: former.allocated
      )
    }
  }

  /// Takes a write back whose text is refused, unless something else was written meanwhile.
  func undo(_ writing: Writing, refused error: FileTreeError) {
    state.withLock { state in
      state.isRefused = true
      guard state.generation == writing.generation else { return }
      state.bytes.resize(to: writing.size)
      // The memory is there already, and a text that is checked is so small that no spool has it.
      _ = try? state.bytes.write(writing.overwritten, at: writing.offset)
      state.generation += 1
      state.text = writing.text
      state.allocated = writing.allocated
      state.progress = .refused(error)
      // Whatever the program writes on, a part of these is missing.
      if form == .string || form == .data { state.incomplete = error }
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
      state.unfinished = 0
      state.noteChange()
      if size == 0 {
        state.text = Text(form)
        state.incomplete = nil
        state.isWrittenTo = false
        state.progress = .emptied
      } else if let position = state.text.position, size < position {
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

  /// Runs `body`, which saves or judges the bytes, when nothing else does that. A process that is forked while another
  /// thread writes closes its copy of the handle: what that saves is older, and must not come after the newer text.
  func inTurn<R>(_ body: () throws(FileTreeError) -> R) throws(FileTreeError) -> R {
    try turn.withLock { _ throws(FileTreeError) in try body() }
  }

  /// Whether there may be something to save.
  var isUnsaved: Bool {
    switch progress {
    case .written, .emptied: true
    case .clean, .refused: false
    }
  }

  /// Whether the file was emptied and closed, and nothing was written since: by a shell that is about to write, or by a
  /// program that wants it empty.
  var isClosedEmpty: Bool {
    state.withLock { state in
      if case .emptied = state.progress { state.wasClosedEmpty } else { false }
    }
  }

  /// Whether something was written since it was emptied or opened, also if it was taken back.
  var isWrittenTo: Bool { state.withLock { $0.isWrittenTo } }

  /// Notes that a handle was closed while the file was empty; whether it was so before.
  func noteEmptyClose() -> Bool {
    state.withLock { state in
      defer { state.wasClosedEmpty = true }
      return state.wasClosedEmpty
    }
  }

  /// Whether it is still to be reported that memory is all that has the file; from now on it is not.
  func takeReport() -> Bool {
    state.withLock { state in
      defer { state.isReported = true }
      return !state.isReported
    }
  }

  /// Notes that the bytes are where they are to stay.
  func noteKept() {
    state.withLock { state in
      state.isRefused = false
      state.refusedText = nil
      state.progress = .clean
    }
  }

  /// Notes that `contents` were saved; of no effect on the progress if something else was written meanwhile.
  func noteSaved(_ contents: Contents) {
    state.withLock { state in
      state.isRefused = false
      state.refusedText = nil
      if form == .lines { state.saved = max(state.saved, min(contents.text.count, state.bytes.count)) }
      if state.generation == contents.generation { state.progress = .clean }
    }
  }

  /// Notes that `contents` were refused; likewise.
  func noteRefused(_ contents: Contents, _ error: FileTreeError) {
    state.withLock { state in
      state.isRefused = true
      if state.generation == contents.generation { state.progress = .refused(error) }
    }
  }

  /// Whether a text is another one than that which was refused last; it is from now on.
  func isNewRefusal(_ bytes: [UInt8]) -> Bool {
    let hash = bytes.hashValue
    return state.withLock { state in
      defer { state.refusedText = hash }
      return state.refusedText != hash
    }
  }
}

extension MemoryFile.State {
  /// Notes lines that are about to be written at `start`. A line that is too long is refused before it takes room.
  fileprivate mutating func noteLines(_ bytes: [UInt8], at start: Int) throws(FileTreeError) {
    let end = bytes.lastIndex(of: UInt8(ascii: "\n"))
    let former = start == self.bytes.count ? unfinished : 0
    unfinished = end.map { bytes.count - $0 - 1 } ?? former + bytes.count
    if unfinished <= ChunkedBytes.longestLine { return }
    // What is written without it is not saved, whatever the program does next.
    let error = FileTreeError.lineIsTooLong()
    incomplete = error
    throw error
  }

  fileprivate mutating func noteChange() {
    generation += 1
    progress = .written
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
