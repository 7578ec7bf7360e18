// Node headers and the elements that follow them.

import Testing

@testable import RealmPages

@Suite("Nodes")
struct NodeTests {
  @Test("a header contains flags, width, count and size")
  func header() throws {
    let node = try NodeBytes.node("45 00 00 0e" + String(repeating: " 00", count: 28))
    #expect(node.hasRefs && !node.isInner && !node.hasContext)
    #expect(node.scheme == .bits && node.width == 16 && node.count == 14)
    #expect(node.byteSize == 40)
  }

  @Test("each flag is a separate bit")
  func flags() throws {
    #expect(try NodeBytes.node("80 00 00 00").isInner)
    #expect(try NodeBytes.node("40 00 00 00").hasRefs)
    #expect(try NodeBytes.node("20 00 00 00").hasContext)
    #expect(try NodeBytes.node("08 00 00 00").scheme == .multiply)
    #expect(try NodeBytes.node("10 00 00 00").scheme == .ignore)
  }

  @Test("the element count is big-endian")
  func count() throws {
    #expect(try NodeBytes.node("00 01 02 03").count == 0x01_02_03)
  }

  @Test(
    "the payload size follows from scheme, width and count",
    arguments: [
      ("00 00 00 64", 8), ("01 00 00 09", 16), ("03 00 00 03", 16), ("07 00 00 01", 16), ("0c 00 00 02", 24),
      ("11 00 00 09", 24), ("0d 00 00 00", 8),
    ] as [(String, Int)]
  )
  func size(header: String, bytes: Int) throws {
    #expect(try NodeBytes.node(header + String(repeating: "00", count: 32)).byteSize == bytes)
  }

  @Test("width scheme 3 is refused")
  func scheme3() {
    expectDamaged { try NodeBytes.node("1d 00 00 00") }
  }

  @Test("a ref must be aligned, behind the file header, and the node must end within the logical size")
  func bounds() throws {
    var bytes = NodeBytes()
    let ref = bytes.add("07 00 00 02" + String(repeating: "00", count: 16))
    let arena = bytes.arena()
    #expect(try arena.node(ref).count == 2)
    for bad in [0, 8, 16, ref + 1, ref + 4, -8, Int.min, Int.max & ~7, bytes.bytes.count, bytes.bytes.count + 8] {
      expectDamaged { try arena.node(bad) }
    }
    let shorter = bytes.bytes.withUnsafeBytes { Arena(MemoryPages($0), limit: $0.count - 8, format: 24) }
    expectDamaged { try shorter.node(ref) }
  }

  @Test("plain integers are unsigned below 8 bits and signed from there on")
  func integers() throws {
    #expect(try values(NodeBytes.node("03 00 00 02 cc")) == [12, 12])
    #expect(try values(NodeBytes.node("05 00 00 03 07 00 ff ff 2c 01")) == [7, -1, 300])
    #expect(try values(NodeBytes.node("02 00 00 03 31")) == [1, 0, 3])
    #expect(try values(NodeBytes.node("00 00 00 03")) == [0, 0, 0])
  }

  @Test("an index out of bounds is an error, and so is an integer where a ref is expected")
  func access() throws {
    let node = try NodeBytes.node("44 00 00 02 15 10")
    expectDamaged { try node.int(2) }
    expectDamaged { try node.int(-1) }
    expectDamaged { try node.child(0) }
    #expect(try node.child(1) == 16)
    #expect(try node.tagged(0) == 10)
    expectDamaged { try node.tagged(1) }
    expectDamaged { try node.element(0) }
    #expect(try node.childIfPresent(7) == 0)
  }

  private func values(_ node: Node) throws -> [Int64] { try (0..<node.count).map { try node.int($0) } }

  @Test("a ref in a damaged file is never taken for a dirty node", arguments: [Int.min, -8, 0, Int.max - 7])
  func strangeRefs(ref: Int) {
    let bytes = [UInt8](repeating: 0, count: 64), slab = Slab(space: nil, limit: bytes.count)
    _ = slab.makeInts(.hasRefs)
    #expect(slab.nodeIfPresent(ref) == nil)
  }

  @Test("a commit refuses refs beyond the file that lead to no node, or to one that has another parent")
  func strangeChildren() throws {
    let slab = Slab(space: nil, limit: 64), leaf = slab.makeInts([], [1, 2]), other = slab.makeInts(.hasRefs, [0, 1])
    func error(_ refs: [Int]) throws -> EngineError? {
      let parent = slab.makeInts(.hasRefs, refs.map(Int64.init))
      let storage = try MemoryStorage(name: "commit"), free = FreeSpace([], oldest: 0)
      var writer = NodeWriter(slab: slab, storage: storage, free: free, logicalSize: 64)
      writer.gather([parent], levels: [.max], 8)
      _ = writer.write(parent, gathered: 0)
      return writer.error
    }
    #expect(try error([leaf, other, 0, 8]) == nil)
    for ref in [leaf, leaf + 2, other + 8000, Int.max - 7] {
      #expect(try error([leaf, ref])?.reason == .damaged, "\(ref)")
    }
    #expect(throws: Never.self) { try slab.requirePresent(leaf) }
    #expect(throws: EngineError.self) { try slab.requirePresent(other + 8000) }
    slab.setInt(other, 0, Int64(other))
    #expect(try error([other])?.reason == .damaged, "in a circle")
  }
}
