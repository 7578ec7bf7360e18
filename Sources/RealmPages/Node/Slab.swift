// The private memory of a write transaction: all nodes that it has created or changed. A dirty node has a ref at or
// above `firstRef`, beyond all refs of the file, so the code that reads nodes also reads dirty ones. A dirty node keeps
// its ref while it grows; these refs never reach the disk. Source: docs/format/3-commit.md 3.2.
//
// Above a limit, nodes are in file-backed memory (File/SpillMemory.swift), so that large transactions on plain realms
// need little RAM. No plain bytes of an encrypted realm may reach the disk, so its transactions stay in memory.

import CLinux
import Glibc

/// The kind of a node: the flag bits of its header.
struct NodeFlags: OptionSet {
  let rawValue: UInt8
  static let inner = NodeFlags(rawValue: 0x80)
  static let hasRefs = NodeFlags(rawValue: 0x40)
  static let context = NodeFlags(rawValue: 0x20)
}

/// Dirty nodes by ref, and the file space that the transaction has freed. Not thread-safe.
@safe final class Slab: @unchecked Sendable {
  // Unchecked: confined to the thread that runs the transaction.
  // Safe: owns all blocks; each has room for the node that its header describes, and `memory` accepts only refs of
  // blocks.

  @unsafe private struct Block {
    // Unsafe: owns nothing; the slab frees it once.
    var memory: UnsafeMutableRawPointer
    /// Bytes, header included.
    var capacity: Int
  }

  // Exclusive access is not checked at run time: there is one thread, and no property is passed inout.

  /// The smallest ref of a dirty node.
  let firstRef: Int
  @exclusivity(unchecked) private var blocks: UnsafeMutablePointer<Block>
  @safe @exclusivity(unchecked) private var blockCount = 0
  @safe @exclusivity(unchecked) private var blockCapacity = 1024
  @safe @exclusivity(unchecked) private var unused: [Int] = []
  /// Nodes of the file that this version no longer refers to, with their sizes. The committer decides how their space
  /// is reused.
  @safe @exclusivity(unchecked) private(set) var freed: [Int: Int] = [:]
  /// Counts changes of tables, which shows whether a failed change had begun.
  @safe @exclusivity(unchecked) var bumps = 0
  /// The error that showed that the file is damaged; the change fails with it. Nodes of a damaged file can be shorter
  /// than other nodes say; recording the error avoids a throwing check at each step.
  @safe @exclusivity(unchecked) private(set) var damage: EngineError?
  /// The target of writes to elements that do not exist.
  private let nowhere = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 16)
  private let space: PageSpace?
  private let limit: Int

  /// Where nodes are stored if there are too many for memory.
  struct Spill {
    /// The path of the realm.
    let realm: String
    /// The limit for nodes in ordinary memory, in bytes.
    var heap = 8 << 20
  }

  /// Nil if all nodes are in ordinary memory.
  private var place: Spill?
  @safe @exclusivity(unchecked) private var spill: SpillMemory?
  /// The bytes of nodes in ordinary memory.
  @safe @exclusivity(unchecked) private var heapBytes = 0
  @safe @exclusivity(unchecked) private var steps = 0

  /// The size from which the memory of a transaction is returned to the system at once.
  private static let largeSize = 4 << 20
  /// The number of steps between checks of resident memory.
  private static let maxSteps = 1024
  /// The limit for resident file memory, in bytes.
  private static let maxResident = 20 << 20

  /// An empty slab over the file nodes of `space` below `limit`.
  init(space: PageSpace?, limit: Int, spill: Spill? = nil) {
    place = spill
    self.space = space
    self.limit = limit
    firstRef = (limit + 7) & ~7
    unsafe blocks = Self.blocks(blockCapacity, from: nil)
    freed.reserveCapacity(64)
  }

  deinit {
    for i in 0..<blockCount where unsafe blocks[i].capacity > 0 && !isSpilled(blocks[i].memory) {
      unsafe free(blocks[i].memory)
    }
    unsafe free(blocks)
    unsafe nowhere.deallocate()
    if heapBytes >= Self.largeSize { clinux_trim_heap() }
  }

  // MARK: memory

  /// Allocates room for `capacity` blocks and keeps those in `former`. A large array moves without a copy.
  private static func blocks(
    _ capacity: Int,
    from former: UnsafeMutablePointer<Block>?
  ) -> UnsafeMutablePointer<Block> {
    guard let memory = unsafe realloc(former, capacity * MemoryLayout<Block>.stride) else {
      preconditionFailure("out of memory")
    }
    return unsafe memory.bindMemory(to: Block.self, capacity: capacity)
  }

  @inline(__always) private func isSpilled(_ memory: UnsafeMutableRawPointer) -> Bool {
    unsafe spill?.contains(memory) ?? false
  }

  /// Allocates `capacity` bytes or more.
  @inline(__always)
  private func allocate(_ capacity: Int) -> Block {
    if let place, heapBytes >= place.heap, let block = unsafe allocateSpilled(capacity, place) { return unsafe block }
    guard let memory = unsafe malloc(capacity) else { preconditionFailure("out of memory") }
    heapBytes += capacity
    return unsafe Block(memory: memory, capacity: capacity)
  }

  @inline(never)
  private func allocateSpilled(_ capacity: Int, _ place: Spill) -> Block? {
    if spill == nil {
      spill = SpillMemory(besideRealm: place.realm)
      if spill == nil { self.place = nil }
    }
    return unsafe spill?.allocate(capacity).map { unsafe Block(memory: $0.block, capacity: $0.size) }
  }

  private func release(_ block: Block) {
    if let spill, unsafe spill.contains(block.memory) {
      return unsafe spill.release(block.memory, size: block.capacity)
    }
    unsafe free(block.memory)
    unsafe heapBytes -= block.capacity
  }

  /// Records a step of the transaction, or an operation that touches as much of the files as `count` steps. Every
  /// `maxSteps` steps, limits the resident memory of the files, above all of the realm.
  @inline(__always)
  func noteStep(_ count: Int = 1) {
    steps += count
    if steps >= Self.maxSteps { limitResidentPages() }
  }

  /// Keeps resident memory of the files below about 20 MiB. Nodes keep their addresses.
  @inline(never)
  func limitResidentPages() {
    steps = 0
    if clinux_resident_file_bytes() <= Self.maxResident { return }
    spill?.dropPages()
    (space as? MappedFile)?.dropResidentPages()
  }

  /// True if nodes are in a file and the disk lost them.
  var isLost: Bool { spill?.isLost ?? false }

  /// Records the error of an incomplete change.
  func note(_ error: EngineError) { damage = damage ?? error }

  /// Records that the node at `ref` has no element `index`.
  @inline(never)
  func refuse(_ ref: Int, _ index: Int) {
    note(EngineError.damaged("\(node(ref).count) elements, none of them for position \(index)", ref: ref))
  }

  /// Like `refuse`, but returns memory to which the element can be written harmlessly.
  func refusing(_ ref: Int, _ index: Int) -> UnsafeMutableRawPointer {
    refuse(ref, index)
    return unsafe nowhere
  }

  /// True if `ref` is in the range of dirty nodes.
  @inline(__always) func owns(_ ref: Int) -> Bool { ref >= firstRef }

  /// An upper bound on the number of dirty nodes.
  var maximumNodes: Int { blockCount }
  /// The capacity of all dirty nodes in bytes.
  @safe @exclusivity(unchecked) private(set) var bytes = 0

  @inline(__always) private func id(_ ref: Int) -> Int { (ref - firstRef) >> 3 }

  /// The number of the dirty node at `ref`, counted from 0.
  func number(_ ref: Int) -> Int { id(ref) }

  /// The node at `ref`, which must be dirty.
  @inline(__always)
  func node(_ ref: Int) -> Node {
    let memory = unsafe memory(ref)
    guard let node = unsafe Node(header: memory, ref: ref) else {
      preconditionFailure("a dirty node with a bad header")
    }
    return node
  }

  /// The dirty node at `ref`; nil if there is none, as a damaged file can contain any ref.
  @inline(__always)
  func nodeIfPresent(_ ref: Int) -> Node? {
    guard owns(ref), isPresent(ref) else { return nil }
    return unsafe Node(header: blocks[id(ref)].memory, ref: ref)
  }

  /// True if there is a dirty node at `ref`, which is beyond the file.
  @inline(__always)
  private func isPresent(_ ref: Int) -> Bool {
    let id = id(ref)
    return unsafe ref & 7 == 0 && id < blockCount && blocks[id].capacity > 0
  }

  /// Throws if no dirty node is at a ref beyond the file. Such a ref can come from a node of a damaged file without the
  /// has-refs flag, whose elements were not checked when it was copied.
  @inline(__always)
  func requirePresent(_ ref: Int) throws(EngineError) {
    if !isPresent(ref) { throw .damaged("no node, beyond the file", ref: ref) }
  }

  /// The header of the dirty node at `ref`.
  @inline(__always)
  func memory(_ ref: Int) -> UnsafeMutableRawPointer {
    let id = id(ref)
    unsafe precondition(id < blockCount && blocks[id].capacity > 0, "a ref of no dirty node")
    return unsafe blocks[id].memory
  }

  /// The capacity of a dirty node in bytes, header included.
  @inline(__always)
  func capacity(_ ref: Int) -> Int { unsafe blocks[id(ref)].capacity }

  /// Creates a node with room for `payload` bytes. Its header is written, its payload is not.
  func make(
    _ flags: NodeFlags,
    _ scheme: WidthScheme,
    width: UInt8,
    count: Int,
    payload: Int
  ) -> Int {
    let capacity = max(32, (Node.headerSize + payload + 15) & ~15)
    let block = unsafe allocate(capacity)
    let id: Int
    if let reused = unused.popLast() {
      id = reused
    } else {
      if blockCount == blockCapacity {
        blockCapacity *= 2
        unsafe blocks = Self.blocks(blockCapacity, from: blocks)
      }
      id = blockCount
      blockCount += 1
    }
    unsafe (blocks + id).initialize(to: block)
    unsafe bytes += block.capacity
    let ref = firstRef + id << 3
    setHeader(ref, flags, scheme, width: width, count: count)
    return ref
  }

  /// Rewrites the header of a dirty node.
  @inline(__always)
  func setHeader(_ ref: Int, _ flags: NodeFlags, _ scheme: WidthScheme, width: UInt8, count: Int) {
    precondition(count <= 0xFF_FFFF, "a node of too many elements")
    unsafe Node.writeHeader(memory(ref), flags, scheme, width: width, count: count)
  }

  /// Changes the count of a dirty node.
  @inline(__always)
  func setCount(_ ref: Int, _ count: Int) {
    let node = node(ref)
    setHeader(ref, node.nodeFlags, node.scheme, width: node.width, count: count)
  }

  /// Makes room for `payload` bytes in a dirty node and keeps its content.
  @inline(__always)
  func reserve(_ ref: Int, payload: Int) {
    let id = id(ref)
    let needed = Node.headerSize + payload
    if unsafe needed <= blocks[id].capacity { return }
    let old = unsafe blocks[id]
    let capacity = unsafe max(needed, old.capacity * 3 / 2 + 15) & ~15
    let larger = max(capacity, (needed + 15) & ~15)
    if spill != nil {
      let block = unsafe allocate(larger)
      unsafe memcpy(block.memory, old.memory, old.capacity)
      unsafe release(old)
      unsafe blocks[id] = block
    } else {
      guard let memory = unsafe realloc(old.memory, larger) else { preconditionFailure("out of memory") }
      unsafe blocks[id] = Block(memory: memory, capacity: larger)
      unsafe heapBytes += larger - old.capacity
    }
    unsafe bytes += blocks[id].capacity - old.capacity
  }

  /// Returns a dirty copy of a node of the file and frees the original's space; a dirty node is returned unchanged.
  func dirty(_ ref: Int, _ arena: Arena) throws(EngineError) -> Int {
    if owns(ref) {
      try requirePresent(ref)
      return ref
    }
    let node = try arena.node(ref)
    if node.hasRefs { try checkRefs(node) }
    try release(node)
    let copy = make(node.nodeFlags, node.scheme, width: node.width, count: node.count, payload: node.payloadSize)
    unsafe memcpy(memory(copy) + Node.headerSize, node.payload, node.payloadSize)
    return copy
  }

  /// Frees the space of a node of the file. Two refs refer to the same node only in a damaged file; refusing the second
  /// one ends all cycles.
  private func release(_ node: Node) throws(EngineError) {
    if freed.updateValue(node.byteSize, forKey: node.ref) != nil {
      let error = EngineError.damaged("more than one node refers to this one", ref: node.ref)
      note(error)
      throw error
    }
  }

  /// Throws if a node of the file has refs beyond the file: in a dirty copy they would be mistaken for dirty nodes.
  private func checkRefs(_ node: Node) throws(EngineError) {
    if node.scheme != .bits { throw .damaged("refs in a node with an unsupported scheme", ref: node.ref) }
    for i in 0..<(node.width == 0 ? 0 : node.count) {
      let element = unsafe PackedBits.signed(node.payload, node.width, i)
      if element & 1 == 0, element < 0 || element >= Int64(firstRef) {
        throw .damaged("slot \(i) leads to \(element), beyond the file", ref: node.ref)
      }
    }
  }

  /// Drops one node, not its children.
  func drop(_ ref: Int, _ arena: Arena) throws(EngineError) {
    if owns(ref) {
      try requirePresent(ref)
      let id = id(ref)
      unsafe release(blocks[id])
      unsafe bytes -= blocks[id].capacity
      unsafe blocks[id].capacity = 0
      unused.append(id)
    } else {
      try release(arena.node(ref))
    }
  }

  /// Drops a node and everything below it.
  func dropTree(_ ref: Int, _ arena: Arena) throws(EngineError) {
    var pending = [ref]
    while let ref = pending.popLast() {
      let node = try arena.node(ref)
      if node.hasRefs && node.width > 0 {
        if !owns(ref) { try checkRefs(node) }
        for i in 0..<node.count {
          let element = try node.int(i)
          if element != 0 && element & 1 == 0 { pending.append(Int(element)) }
        }
      }
      try drop(ref, arena)
    }
  }
}

extension Node {
  /// "AAAA", in bytes 0 to 3 of a header. It replaces a checksum, which is neither computed nor read.
  private static let checksum: UInt64 = 0x4141_4141

  /// A header with our mark in place of the checksum, as writers differ in what they store there.
  @inline(__always)
  static func header(_ other: UInt64) -> UInt64 {
    (other.littleEndian & ~0xFFFF_FFFF | checksum).littleEndian
  }

  /// Writes a header. The count is big-endian.
  @inline(__always)
  static func writeHeader(
    _ memory: UnsafeMutableRawPointer,
    _ flags: NodeFlags,
    _ scheme: WidthScheme,
    width: UInt8,
    count: Int
  ) {
    let code: UInt8 = width == 0 ? 0 : UInt8(width.trailingZeroBitCount) + 1
    let flagByte = flags.rawValue | scheme.rawValue << 3 | code
    let word = checksum | UInt64(flagByte) << 32 | UInt64(UInt32(count).byteSwapped >> 8) << 40
    unsafe memory.storeBytes(of: word.littleEndian, as: UInt64.self)
  }

  /// Writes a node of integers to zeroed `memory` of `size(elements.count, width)` bytes.
  @inline(__always)
  static func write(
    _ elements: some RandomAccessCollection<Int64>,
    width: UInt8,
    _ flags: NodeFlags,
    to memory: UnsafeMutableRawPointer
  ) {
    unsafe writeHeader(memory, flags, .bits, width: width, count: elements.count)
    var index = 0
    for element in elements {
      unsafe PackedBits.store(memory + headerSize, width, index, element)
      index += 1
    }
  }

  /// The size of a node of `count` integers in bytes, header included.
  static func size(_ count: Int, _ width: UInt8) -> Int { (headerSize + (count * Int(width) + 7) / 8 + 7) & ~7 }

  /// The flag bits of the header.
  var nodeFlags: NodeFlags {
    var flags: NodeFlags = []
    if isInner { flags.insert(.inner) }
    if hasRefs { flags.insert(.hasRefs) }
    if hasContext { flags.insert(.context) }
    return flags
  }
}
