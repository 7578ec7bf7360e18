// A branch: versions in memory that build on one version of a realm. Nodes written by its commits are in memory, at
// refs beyond all refs of the file; everything else is read from the file. So a branch uses memory only for its
// changes.
//
// Invariants: the base version is held, so none of it is overwritten; and no commit writes where the base version has
// nodes. Equal refs are therefore equal nodes in the branch and in its base version, and `VersionDifference` finds what
// the branch changes.

import Synchronization
import Threads

/// Versions in memory that build on a version of a realm.
final class Branch: CommitTarget, VersionReader {
  /// The name that distinguishes the versions of this branch from those of others.
  private let name: String
  private let base: VersionHold
  private let status: FileStatus
  private let memory: BranchMemory
  private let space: BranchSpace
  /// The newest version; nil once the branch is closed.
  private let newest: Mutex<Snapshot?>

  init(
    _ base: VersionHold,
    name: String,
    status: FileStatus,
    budget: BranchBudget
  ) throws(EngineError) {
    (self.base, self.name, self.status) = (base, name, status)
    if let refusal = RealmWriter.refusal(base.snapshot) { throw refusal }
    let topRef: Int
    memory = try BranchMemory(name: name, budget: budget)
    topRef = try Self.writeFirst(base.snapshot, memory)
    space = BranchSpace(base.snapshot.arena, memory)
    newest = Mutex(try Snapshot(space, Header(topRef: topRef, format: 24), path: name))
  }

  /// Writes a top array that refers to the tables of `base`, without a free list or history.
  private static func writeFirst(_ base: Snapshot, _ memory: BranchMemory) throws(EngineError) -> Int {
    let start = BranchMemory.start
    try memory.grow(to: start + PageCipher.pageSize)
    func put(_ elements: [Int64], _ flags: NodeFlags, at ref: Int) throws(EngineError) -> Int {
      var bytes = [UInt8](repeating: 0, count: Node.size(elements.count, 64))
      unsafe bytes.withUnsafeMutableBytes { bytes in
        guard let memory = bytes.baseAddress else { return }
        unsafe Node.write(elements, width: 64, flags, to: memory)
      }
      try memory.write(bytes, at: ref)
      return ref + bytes.count
    }
    var names = base.top.namesRef, tables = base.top.tablesRef, end = start
    if base.top.ref == 0 {
      names = end
      var header = [UInt8](repeating: 0, count: Node.headerSize)
      unsafe header.withUnsafeMutableBytes { bytes in
        guard let memory = bytes.baseAddress else { return }
        unsafe Node.writeHeader(memory, [], .multiply, width: 0, count: 0)
      }
      try memory.write(header, at: names)
      tables = names + header.count
      end = try put([], .hasRefs, at: tables)
    }
    let size = Int64(start + PageCipher.pageSize) << 1 | 1
    let version = Int64(bitPattern: base.version) << 1 | 1
    _ = try put([Int64(names), Int64(tables), size, 0, 0, 0, version, 1, 0, 1, 1], .hasRefs, at: end)
    return end
  }

  /// Ends the branch: nothing can be read or committed afterwards.
  func close() { newest.withLock { $0 = nil } }

  private func newestVersion() throws(EngineError) -> Snapshot {
    guard let snapshot = newest.withLock({ $0 }) else { throw EngineError(.moved, "\(name): already closed") }
    guard base.snapshot.pin?.isValid ?? true else {
      throw EngineError(.moved, "\(name): its base version is gone, because the file was moved or replaced")
    }
    return snapshot
  }

  // MARK: reading

  func latest(checksPath: Bool) throws(EngineError) -> Snapshot { try newestVersion() }

  /// Versions of a branch remain valid while they are in use.
  func isCurrent(_ snapshot: Snapshot) -> Bool { base.snapshot.pin?.isValid ?? true }

  func hasChanged(since snapshot: Snapshot) -> Bool { newest.withLock { $0 !== snapshot } }

  var location: FileLocation { FileLocation() }

  func fileStatus() throws(EngineError) -> FileStatus { status }

  // MARK: writing

  func begin(_: WritingStage, until deadline: MonotonicTime, staysOnThread: Bool) throws(EngineError) -> Snapshot {
    try newestVersion()
  }

  func commit(_ group: GroupEditor, base: Snapshot, _ durability: Durability) throws(EngineError) -> UInt64 {
    let oldest = min(base.version, VersionRegistry.shared.oldest(of: name) ?? base.version)
    do {
      let committer = Committer(
        group: group,
        storage: memory,
        base: base.top,
        oldest: oldest,
        floor: BranchMemory.start
      )
      let result = try committer.write(), header = Header(topRef: result.topRef, format: 24)
      let snapshot = try Snapshot(space, header, path: name)
      newest.withLock { $0 = $0 == nil ? nil : snapshot }
      return result.version
    } catch {
      // If the memory cannot shrink, the next commit uses it.
      try? memory.shrink(to: base.logicalSize)
      throw error
    }
  }

  func end() {}

  var hasUnpublished: Bool { false }

  func activeVersions() throws(EngineError) -> Int { 1 }

  func rewrite() throws(EngineError) -> RealmCopy.Sizes? {
    throw EngineError(.notApplicable, "\(name): a realm in memory cannot be compacted")
  }

  func publishNewest(_ newest: Snapshot) throws(EngineError) {}
}

/// A realm in memory that begins as a version of another realm. Commits to it do not affect the other realm.
package struct RealmBranch: Sendable {
  /// The writer of the branch; its `realm` reads the branch.
  package let writer: RealmWriter
  /// The base version.
  package let base: Snapshot
  private let place: Branch

  /// Begins a branch on a held version. `name` is used in messages and must be unique among branches; `status` is the
  /// file status of the realm; memory for changes is allocated from `budget`.
  ///
  /// Cost: reading the top array.
  ///
  /// - Throws: `readOnly` if commits cannot build on the version; `file` if `budget` is exhausted.
  package init(
    on base: VersionHold,
    name: String,
    status: FileStatus,
    budget: BranchBudget
  ) throws(EngineError) {
    place = try Branch(base, name: name, status: status, budget: budget)
    self.base = base.snapshot
    writer = RealmWriter(place, name: name)
  }

  /// Ends the branch. Versions in use remain readable.
  package func close() { place.close() }
}
