// Fails on request, like a disk that becomes full or breaks at the worst moment.

import Glibc
package import RealmPages

/// Forwards calls to another storage, except those that are to fail. Every call that can fail is counted.
package final class FaultyStorage: Storage, @unchecked Sendable {
  // Unchecked: one committer at a time, and the test changes the fault between commits.

  /// A failure to inject.
  package struct Fault: Sendable {
    /// The call that fails, counted from 0 since the fault was set.
    package let call: Int
    /// The errno.
    package let code: Int32
    /// True to count only syncs.
    package var isOfSyncs = false
    /// True if a failing write still writes its first half.
    package var isShort = false
    /// True if all writes fail from then on, until the fault is cleared. Syncs and reads still succeed.
    package var lasts = false

    /// A fault at the n-th call.
    package init(call: Int, code: Int32, isShort: Bool = false, lasts: Bool = false, isOfSyncs: Bool = false) {
      (self.call, self.code, self.isShort, self.lasts) = (call, code, isShort, lasts)
      self.isOfSyncs = isOfSyncs
    }
  }

  private let base: any Storage
  private var calls = 0
  /// The fault to inject next; setting it restarts the count.
  package var fault: Fault? {
    didSet { (calls, failedCall) = (0, nil) }
  }
  /// A description of the call that failed; nil if none did.
  package private(set) var failedCall: String?

  /// Wraps `base`.
  package init(_ base: any Storage, fault: Fault? = nil) {
    self.base = base
    self.fault = fault
  }

  private func pass(_ call: String, writes: Bool = false) throws(EngineError) {
    if fault?.isOfSyncs == true && call != EngineError.syncCall { return }
    defer { calls += 1 }
    guard let fault, calls == fault.call || fault.lasts && writes && calls > fault.call else { return }
    failedCall = failedCall ?? call
    throw .failed(call, name, fault.code)
  }

  package var name: String { base.name }
  package func size() throws(EngineError) -> Int { try base.size() }

  package func grow(to size: Int) throws(EngineError) {
    try pass("posix_fallocate", writes: true)
    try base.grow(to: size)
  }

  package func shrink(to size: Int) throws(EngineError) { try base.shrink(to: size) }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(EngineError) -> Int {
    try pass("pread")
    return try base.read(into: buffer, at: offset)
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(EngineError) {
    do throws(EngineError) { try pass("pwrite", writes: true) } catch {
      if fault?.isShort ?? false {
        try base.write(UnsafeRawBufferPointer(rebasing: bytes.prefix(bytes.count / 2)), at: offset)
      }
      throw error
    }
    try base.write(bytes, at: offset)
  }

  package func flush() throws(EngineError) { try base.flush() }

  package func sync() throws(EngineError) {
    try pass(EngineError.syncCall)
    try base.sync()
  }

  package func begin(reusable: () -> [Range<Int>]) { base.begin(reusable: reusable) }
}
