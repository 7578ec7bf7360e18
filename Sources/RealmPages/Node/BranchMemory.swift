// The memory of branches: nodes that are not in any file. Their refs are beyond those of any file, so the nodes of the
// file and of the branch can refer to each other like the nodes of a single file. See Open/Branch.swift.

import CLinux
import Glibc
import Synchronization

/// The memory budget that branches share.
public final class BranchBudget: Sendable {
  /// The maximum number of bytes for all branches together.
  public let capacity: Int
  private let taken = Mutex(0)

  /// Creates a budget of `capacity` bytes.
  public init(capacity: Int) { self.capacity = capacity }

  /// The bytes in use.
  public var used: Int { taken.withLock { $0 } }

  /// Reserves bytes; false if not enough are left.
  fileprivate func take(_ bytes: Int) -> Bool {
    taken.withLock { taken in
      if bytes > capacity - taken { return false }
      taken += bytes
      return true
    }
  }

  fileprivate func give(_ bytes: Int) { taken.withLock { $0 -= bytes } }
}

/// The nodes of a branch that are not in the file, at offsets beyond those of any file.
@safe final class BranchMemory: Storage, @unchecked Sendable {
  // Unchecked: a commit writes only to space that no version in use refers to.
  // Safe: owns the range; every access is below `used`, which never exceeds `reserved`.

  /// The offset of the first byte.
  static let start = 1 << 46

  let name: String
  private let budget: BranchBudget
  private let base: UnsafeMutableRawPointer
  private let reserved: Int
  private let used = Atomic<Int>(0)

  init(name: String, budget: BranchBudget) throws(EngineError) {
    self.name = name
    self.budget = budget
    reserved = (budget.capacity + 2 << 20) & ~(PageCipher.pageSize - 1)
    guard let base = unsafe clinux_reserve(reserved) else { throw .failed("mmap", name, errno) }
    unsafe self.base = base
  }

  deinit {
    unsafe clinux_unreserve(base, reserved)
    budget.give(used.load(ordering: .relaxed))
  }

  /// The size in bytes.
  var count: Int { used.load(ordering: .acquiring) }

  /// The node at `ref`.
  func node(_ ref: Int) throws(EngineError) -> Node {
    let offset = ref - Self.start, count = count
    if offset < 0 || ref & (Node.alignment - 1) != 0 || offset > count - Node.headerSize {
      throw .damaged("a ref that leads neither into the file nor to a change of it", ref: ref)
    }
    guard let node = unsafe Node(header: UnsafeRawPointer(base + offset), ref: ref), node.byteSize <= count - offset
    else {
      throw .damaged("no node is there", ref: ref)
    }
    return node
  }

  func size() throws(EngineError) -> Int { Self.start + count }

  func grow(to size: Int) throws(EngineError) {
    let wanted = size - Self.start, former = count
    if wanted <= former { return }
    guard wanted <= reserved, budget.take(wanted - former) else {
      throw .failed(
        "grow",
        name,
        ENOSPC,
        problem: "open transactions have used up the \(budget.capacity >> 20) MiB of memory allowed for them"
      )
    }
    used.store(wanted, ordering: .releasing)
  }

  func shrink(to size: Int) throws(EngineError) {
    let wanted = max(0, size - Self.start), former = count, page = PageCipher.pageSize
    if wanted >= former { return }
    used.store(wanted, ordering: .releasing)
    budget.give(former - wanted)
    let first = (wanted + page - 1) / page * page
    if first < former { unsafe clinux_drop_pages(base + first, former - first) }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(EngineError) -> Int {
    let start = offset - Self.start
    guard start >= 0 else { throw .failed("read", name, EFAULT) }
    let bytes = max(0, min(buffer.count, count - start))
    unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(start: base + start, count: bytes))
    return bytes
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(EngineError) {
    let start = offset - Self.start
    guard start >= 0, bytes.count <= count - start else { throw .failed("write", name, EFAULT) }
    if let source = bytes.baseAddress { unsafe (base + start).copyMemory(from: source, byteCount: bytes.count) }
  }

  func sync() throws(EngineError) {}
}
