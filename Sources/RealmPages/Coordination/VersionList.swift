// The versions of a realm that readers may use, in the memory that all participants share. An entry becomes valid when
// `newest` points to it, so a process may die at any moment before that. Source: docs/format/5-coordination.md 5.6.

import CLinux
import Synchronization
import Threads

/// An entry of the version list.
struct ListedVersion: Hashable, Sendable {
  let slot: Int
  let version: UInt64
  let topRef: Int
  let logicalSize: Int
}

/// The version list, and the versions in it that this participant holds.
final class VersionList: @unchecked Sendable {
  // Unchecked: entries are accessed under the mutex of the list, or never change because their version is held.
  private let lockFile: LockFile
  private let state = Mutex(State())

  private struct State {
    /// The number of holds on each slot in this process; the list counts a participant once.
    var counts: [Int: Int] = [:]
    /// The number of entries for which the file is known to have room.
    var entries = 0
    /// Slots that stay held when this participant leaves.
    var abandoned: Set<Int> = []
    var isOver = false
  }

  /// The time limit for locking the list.
  private static let timeout = Duration.seconds(10)

  init(_ lockFile: LockFile) { self.lockFile = lockFile }

  private var info: UnsafeMutablePointer<clinux_shared_info> { unsafe lockFile.info }

  /// The slot of the newest version. A reader that holds a version compares its slot with this. Acquires no lock and
  /// makes no system call.
  var newestSlot: Int { unsafe Int(clinux_load_32(clinux_newest(info))) }

  /// Removes all versions but one. Called by the process that begins a session.
  func reset(_ first: ListedVersion) throws(EngineError) {
    try unsafe locked { list, state in
      for slot in 0..<state.entries { unsafe Self.clear(list + slot) }
      unsafe list.pointee.top_ref = UInt64(first.topRef)
      unsafe list.pointee.logical_size = UInt64(first.logicalSize)
      unsafe list.pointee.version = first.version
      unsafe clinux_store_32(clinux_allocating(info), 0)
      unsafe clinux_store_32(clinux_newest(info), 0)
    }
  }

  /// Holds the newest version and returns it.
  func pinNewest() throws(EngineError) -> ListedVersion {
    try unsafe locked { list, state throws(EngineError) in
      let slot = newestSlot
      guard slot < state.entries else {
        throw EngineError(.inUse, "\(lockFile.path): no newest version: close all programs that have the realm open")
      }
      let entry = unsafe list + slot
      let listed = unsafe ListedVersion(
        slot: slot,
        version: entry.pointee.version,
        topRef: Int(truncatingIfNeeded: entry.pointee.top_ref),
        logicalSize: Int(truncatingIfNeeded: entry.pointee.logical_size)
      )
      let count = state.counts[slot] ?? 0
      if count == 0 { unsafe entry.pointee.live &+= 1 }
      state.counts[slot] = count + 1
      return listed
    }
  }

  /// Adds a hold on a version that this process already holds.
  func hold(_ slot: Int) {
    state.withLock { state in
      if let count = state.counts[slot] { state.counts[slot] = count + 1 }
    }
  }

  /// Releases a version; false if the list could not be locked, so that the version stays held until the session ends.
  @discardableResult
  func release(_ slot: Int) -> Bool {
    do {
      try unsafe locked { list, state in
        guard let count = state.counts[slot] else { return }
        if count > 1 {
          state.counts[slot] = count - 1
        } else {
          state.counts[slot] = nil
          if !state.abandoned.contains(slot) { unsafe Self.unpin(list + slot) }
        }
      }
      return true
    } catch { return false }
  }

  /// Keeps a version that is held here held until the session of all participants ends, as after a crash.
  func abandon(_ slot: Int) {
    state.withLock { _ = $0.abandoned.insert(slot) }
  }

  /// Releases all versions and makes the list unusable.
  func close() {
    // If the list cannot be locked, the versions stay held until the last participant leaves, as after a crash.
    try? unsafe locked { list, state in
      for slot in state.counts.keys where !state.abandoned.contains(slot) { unsafe Self.unpin(list + slot) }
      state.counts = [:]
      state.isOver = true
    }
    state.withLock { $0.isOver = true }
  }

  private static func unpin(_ entry: UnsafeMutablePointer<clinux_version_entry>) {
    // Never below zero, whatever other programs write there at the same time.
    let live = unsafe entry.pointee.live
    if live > 0 { unsafe entry.pointee.live = live - 1 }
  }

  /// Larger than any file, and small enough for arithmetic: other programs can write anything there.
  private static let largestSize = UInt64(1) << 56

  /// The versions that remain after a purge.
  struct Reachable {
    /// The oldest version that readers may use.
    let oldest: UInt64
    /// The versions in the list.
    let versions: [ReachableVersion]
    var count: Int { versions.count }
    /// The largest logical size among them.
    let largestSize: Int
  }

  /// Drops the versions without readers, and ensures room for one more. Called by the writer.
  func purge() throws(EngineError) -> Reachable {
    try unsafe locked { list, state throws(EngineError) in
      let newest = newestSlot, allocating = unsafe Int(clinux_load_32(clinux_allocating(info)))
      // Left incomplete by a writer that died.
      if allocating != newest && allocating < state.entries { unsafe Self.clear(list + allocating) }
      let active = (0..<state.entries).filter { unsafe list[$0].version != 0 }
      let oldestFull = active.filter { unsafe list[$0].full > 0 }.map { unsafe list[$0].version }.min() ?? .max
      var oldest = UInt64.max, versions: [ReachableVersion] = [], largest = 0
      for slot in active {
        let entry = unsafe list + slot
        if unsafe entry.pointee.live > 0 || entry.pointee.frozen > 0 || entry.pointee.version >= oldestFull
          || slot == newest
        {
          oldest = unsafe min(oldest, entry.pointee.version)
          largest = unsafe max(largest, Int(clamping: min(entry.pointee.logical_size, Self.largestSize)))
          let topRef = unsafe Int(truncatingIfNeeded: entry.pointee.top_ref)
          versions.append(ReachableVersion(version: unsafe entry.pointee.version, topRef: topRef))
        } else {
          unsafe Self.clear(entry)
        }
      }
      if versions.count == state.entries {
        let entries = state.entries + LockFile.listStep
        try lockFile.grow(to: entries)
        for slot in state.entries..<entries { unsafe Self.clear(list + slot) }
        unsafe info.pointee.entries = UInt32(entries)
        state.entries = entries
      }
      return Reachable(oldest: oldest, versions: versions, largestSize: largest)
    }
  }

  /// Adds a committed version as the newest. `purge` has ensured room for it.
  func add(version: UInt64, topRef: Int, logicalSize: Int) throws(EngineError) {
    try unsafe locked { list, state throws(EngineError) in
      var slot = unsafe Int(clinux_load_32(clinux_allocating(info)))
      if slot == newestSlot || slot >= state.entries {
        guard let free = (0..<state.entries).first(where: { unsafe list[$0].version == 0 }) else {
          throw EngineError(
            .inUse,
            "\(lockFile.path): no room for a version: close all programs that have the realm open"
          )
        }
        slot = free
        unsafe clinux_store_32(clinux_allocating(info), UInt32(slot))
      }
      let entry = unsafe list + slot
      unsafe entry.pointee.live = 0
      unsafe entry.pointee.frozen = 0
      unsafe entry.pointee.full = 0
      unsafe entry.pointee.top_ref = UInt64(topRef)
      unsafe entry.pointee.logical_size = UInt64(logicalSize)
      unsafe clinux_store_64(clinux_entry_version(entry), version)
      unsafe clinux_store_32(clinux_newest(info), UInt32(slot))
    }
  }

  /// True if a version in the list has this top ref.
  func contains(topRef: Int) throws(EngineError) -> Bool {
    try unsafe locked { list, state in
      (0..<state.entries).contains {
        unsafe list[$0].version != 0 && list[$0].top_ref == UInt64(bitPattern: Int64(topRef))
      }
    }
  }

  private static func clear(_ entry: UnsafeMutablePointer<clinux_version_entry>) {
    unsafe clinux_store_64(clinux_entry_version(entry), 0)
    unsafe entry.pointee.live = 0
    unsafe entry.pointee.frozen = 0
    unsafe entry.pointee.full = 0
    unsafe entry.pointee.logical_size = .max
    unsafe entry.pointee.top_ref = .max
  }

  /// Runs `body` with the list locked against other threads and processes.
  private func locked<R>(
    _ body: (UnsafeMutablePointer<clinux_version_entry>, inout State) throws(EngineError) -> R
  ) throws(EngineError) -> R {
    try state.withLock { state throws(EngineError) in
      if state.isOver { throw EngineError(.busy, "\(lockFile.path): the session is over") }
      try lockFile.lock(clinux_versions_mutex, until: .now.advanced(by: Self.timeout))
      defer { lockFile.unlock(clinux_versions_mutex) }
      if unsafe Int(info.pointee.entries) != state.entries { state.entries = try lockFile.checkedEntries() }
      return try unsafe body(lockFile.list, &state)
    }
  }
}
