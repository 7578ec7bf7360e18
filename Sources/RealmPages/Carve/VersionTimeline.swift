// The versions that remain in one file, their states, and the realm as of one of them.
//
// Invariant: a version is reported as whole only if it is proven to be; see `FormerVersions`. A realm as of a former
// version never shows bytes that a later commit wrote: in a session, the pages that this version does not share with
// the newest one are copied while no commit is made, and the newest version stays pinned.

import Glibc

/// The versions that remain in a file. Use it while no writer can commit: in `RealmWriter.withWriterLock`, or for a
/// file that no other program has open. Otherwise discard all results, those of `realm(asOf:)` too, if a commit was
/// made meanwhile. One thread at a time.
///
/// Cost: a scan of the file; memory does not grow with its size, except one bit for each eight bytes.
public final class VersionTimeline {
  /// The versions, newest first. Includes at most 64 to which neither header nor footer refers.
  public let versions: [RemainingVersion]

  private let file: RescuedRealm
  private let configuration: Configuration
  /// The newest version as the realm shows it, and the realm; nil for a file that does not open.
  private let current: (snapshot: Snapshot, realm: Realm)?
  private var proof: Proof

  /// The versions that were found to be whole so far, by ref.
  private struct Proof {
    var whole: [Int: Snapshot] = [:]
    /// The rest of the chain; nil if it has ended.
    var former: FormerVersions?
  }

  /// Finds the versions before `newest`, the newest version of `realm`.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public init(_ newest: Snapshot, of realm: Realm) throws(EngineError) {
    // Checks drop pages.
    let space = try newest.arena.space.copy(keeping: [])
    file = RescuedRealm(space, path: newest.path, maxFound: FormerVersions.maxSteps)
    configuration = realm.configuration
    current = (newest, realm)
    versions = Self.versions(of: file)
    proof = Proof()
    guard newest.top.ref != 0 else { return }
    // A newest version with faults proves nothing.
    guard let root = file.roots.first(where: { $0.ref == newest.top.ref }), file.firstProblem(of: root) == nil else {
      return
    }
    let header = Header(topRef: newest.top.ref, format: newest.fileFormat)
    let start = try Snapshot(space, header, path: newest.path, pin: newest.pin)
    proof = Proof(whole: [start.top.ref: start], former: FormerVersions(before: start, in: file))
  }

  /// Finds the versions in a file that does not open as a realm. None of them counts as whole.
  ///
  /// - Throws: `notARealm`, `wrongKey`, `keyNeeded`, or `file` if the file cannot be read.
  public init(damaged configuration: Configuration) throws(EngineError) {
    file = try RescuedRealm(configuration, maxFound: FormerVersions.maxSteps)
    self.configuration = configuration
    current = nil
    versions = Self.versions(of: file)
    proof = Proof()
  }

  private static func versions(of file: RescuedRealm) -> [RemainingVersion] {
    let roots = file.roots.enumerated().sorted { ($0.element.version, $1.offset) > ($1.element.version, $0.offset) }
    return roots.map { RemainingVersion(root: $0.element, slots: file.slots(leadingTo: $0.element)) }
  }

  /// The size of the file in bytes, decrypted, without a hole at its end.
  public var fileSize: Int { file.size }

  // MARK: states

  /// Returns the state of a version. Cost: each version from the newest to this one is read once.
  public func state(of version: RemainingVersion) -> RemainingVersion.State {
    if prove(downTo: version.version)[version.ref] != nil { return .whole }
    return file.firstProblem(of: version.root).map { .partial($0) } ?? .unproven
  }

  /// The versions that are whole, newest first. Cost: each of them is read once.
  public func wholeVersions() -> [RemainingVersion] {
    let whole = prove(downTo: 0)
    return versions.filter { whole[$0.ref] != nil }
  }

  /// Continues the proof to a version, and returns the versions that are whole.
  private func prove(downTo version: UInt64) -> [Int: Snapshot] {
    while let former = proof.former, proof.whole.values.allSatisfy({ $0.version > version }) {
      do {
        if let found = try former.next() { proof.whole[found.top.ref] = found } else { proof.former = nil }
      } catch {
        // A version that cannot be read ends the chain.
        proof.former = nil
      }
    }
    return proof.whole
  }

  /// Returns the version with this number; nil if there is none. If several have it, prefers one that is whole, then
  /// one without a fault.
  public func version(_ number: UInt64) -> RemainingVersion? {
    let found = versions.filter { $0.version == number }
    if found.count < 2 { return found.first }
    return found.first { state(of: $0) == .whole } ?? found.first { state(of: $0) == .unproven } ?? found.first
  }

  // MARK: contents

  /// Returns the classes of a version whose tables can be read, in slot order, and descriptions of what is wrong with
  /// the others. If `counts`, the objects that can be read are counted; otherwise the claimed number is returned.
  public func contents(
    of version: RemainingVersion,
    counts: Bool
  ) -> (classes: [RemainingVersion.ClassContent], problems: [String]) {
    let (tables, problems) = file.tables(of: version.root), effort = Effort(file.arena(version.format))
    var classes: [RemainingVersion.ClassContent] = []
    for table in tables {
      guard let name = Table.className(ofTable: table.name) else { continue }
      let claimed = table.claimedCount
      let objects = counts ? table.countReadable(effort) : claimed ?? 0
      classes.append(RemainingVersion.ClassContent(name: name, objects: objects, claimedObjects: claimed))
    }
    return (classes, problems)
  }

  /// The version as a snapshot that is valid while no writer can commit.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func snapshot(of version: RemainingVersion) throws(EngineError) -> Snapshot {
    if let known = proof.whole[version.ref] { return known }
    return try snapshot(of: version, file.space, pin: nil)
  }

  private func snapshot(
    of version: RemainingVersion,
    _ space: PageSpace,
    pin: VersionPin?
  ) throws(EngineError) -> Snapshot {
    try HeaderReader.snapshot(
      space,
      Header(topRef: version.ref, format: version.format),
      path: configuration.path,
      pin: pin,
      swapsGuids: configuration.showsDotNetGuids
    )
  }

  /// Returns the realm as of a version, read-only. In a session it stays valid when writers can commit again. Otherwise
  /// `isCurrent` is false after the next commit, or once `isUnchanged` is false: by default, while another process has
  /// the realm open.
  ///
  /// Cost in a session: memory for the pages of the version that later commits released.
  public func realm(
    asOf version: RemainingVersion,
    isUnchanged: (@Sendable () -> Bool)? = nil
  ) throws(EngineError) -> Realm {
    let path = configuration.path
    let isUnchanged = isUnchanged ?? { LockHolders.ofRealm(at: path).allSatisfy { $0.processID == getpid() } }
    guard let (newest, realm) = current else {
      let former = try snapshot(of: version, file.space.copy(keeping: []), pin: nil)
      let reader = FormerReader(former, newest: nil, of: nil, path: path, isUnchanged: isUnchanged)
      return Realm(configuration, reader)
    }
    let kept = newest.pin == nil ? [] : try released(since: version, newest)
    let former = try snapshot(of: version, newest.arena.space.copy(keeping: kept), pin: newest.pin)
    let reader = FormerReader(former, newest: newest, of: realm, path: path, isUnchanged: isUnchanged)
    return Realm(configuration, reader)
  }

  /// The ranges that the nodes of a version may have had, and that are free in the newest version.
  private func released(
    since version: RemainingVersion,
    _ newest: Snapshot
  ) throws(EngineError) -> [Range<Int>] {
    let former = try snapshot(of: version)
    do { return try newest.freeRanges().subtracting(former.freeRanges()).ranges } catch {
      // The free list of a version that is not whole may be damaged.
      return try newest.freeRanges().ranges
    }
  }
}

extension SourceTable {
  /// The number of objects that can be read.
  fileprivate func countReadable(_ effort: Effort) -> Int {
    var count = 0
    // The closures do not throw, so nothing is thrown here.
    try? forEachObject(effort) { _ in
      count += 1
    } onDamage: { _ in
    }
    return count
  }
}
