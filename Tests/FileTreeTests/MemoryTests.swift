// The memory of the tree is bounded.

import RealmPages
import Synchronization
import Testing

@testable import FileTree

@Suite("Caches and inode numbers")
struct MemoryTests {
  private func item(_ inode: UInt64, _ generation: UInt64, _ size: Int) -> TextCache.Item {
    TextCache.Item(
      inode: InodeNumber(inode),
      generation: generation,
      text: Array(repeating: UInt8(inode & 255), count: size)
    )
  }

  @Test("a cached text is found only by its inode and generation")
  func textsBelongToGenerations() {
    let cache = TextCache(maximumBytes: 10_000, slots: 16)
    cache.insert([item(1, 1, 10)])
    #expect(cache.find(InodeNumber(1), 1)?.text?.count == 10)
    #expect(cache.size(of: InodeNumber(1), 1) == 10)
    #expect(cache.find(InodeNumber(1), 2) == nil && cache.find(InodeNumber(2), 1) == nil)
    cache.insert([item(1, 2, 20)])
    #expect(cache.find(InodeNumber(1), 1) == nil)
    #expect(cache.find(InodeNumber(1), 2)?.size == 20)
    #expect(cache.usage == (84, 1))
  }

  @Test("the cache is limited in bytes and entries, and evicts the oldest first")
  func textsAreBounded() {
    let cache = TextCache(maximumBytes: 2000, slots: 16)
    for number in 1...100 { cache.insert([item(UInt64(number), 1, 36)]) }
    #expect(cache.usage == (1600, 16))
    #expect(cache.find(InodeNumber(84), 1) == nil && cache.find(InodeNumber(85), 1) != nil)
    cache.insert([item(200, 1, 1900)])
    #expect(cache.usage == (1964, 1))
    #expect(cache.find(InodeNumber(200), 1)?.size == 1900)
    cache.insert([item(201, 1, 3000)])
    #expect(cache.usage.count == 1, "a text beyond the bound is alone")
  }

  @Test("the millionth notification of the observer works like the first")
  func observersStayAsTheyAre() {
    let observer = CommitObserver()
    let calls = Mutex(0)
    observer.set { _ in calls.withLock { $0 += 1 } }
    // If each call wrapped the function again, this would exhaust the stack, and the time of the test.
    for _ in 0..<1_000_000 { observer.notify() }
    #expect(calls.withLock { $0 } == 1_000_000)
  }

  @Test("for a very large text, only the size is cached")
  func largeTextsAreSizes() {
    let cache = TextCache()
    cache.insert([item(1, 1, TextCache.largestText + 1)])
    #expect(cache.find(InodeNumber(1), 1)?.text == nil)
    #expect(cache.find(InodeNumber(1), 1)?.size == TextCache.largestText + 1)
    #expect(cache.usage.bytes < 100)
  }

  @Test("the cache agrees with a dictionary over random use", arguments: [1, 2, 3])
  func textsAgreeWithModel(_ seed: UInt64) {
    var state = seed
    func random(_ bound: UInt64) -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (state >> 33) % bound
    }
    let cache = TextCache(maximumBytes: 1 << 20, slots: 64)
    var model: [UInt64: (generation: UInt64, size: Int)] = [:]
    var order: [UInt64] = []
    var wrong = 0
    for _ in 0..<1000 {
      // Few different values in the bits that the hash uses, so that chains are long.
      let inode = random(40) << random(3) * 20, generation = random(3) + 1, size = Int(random(50))
      cache.insert([item(inode, generation, size)])
      model[inode] = (generation, size)
      order.append(inode)
      for known in Set(order.suffix(64)) {
        guard let expected = model[known] else { continue }
        let found = cache.size(of: InodeNumber(known), expected.generation)
        let other = cache.size(of: InodeNumber(known), expected.generation + 1)
        if found != expected.size || other != nil { wrong += 1 }
      }
    }
    #expect(wrong == 0)
    #expect(cache.usage.count <= 64)
  }

  @Test("snapshots of one version share its view until the last one is removed")
  func snapshotsShare() throws {
    let tree = try WritableTree("people"), context = tree.tree.tree
    let home = try tree.tree.find(".realm/snapshots").inode
    for name in ["a", "b"] { _ = try tree.tree.makeDirectory(home, Array(name.utf8)) }
    #expect(tree.put("Person/4.json", #"{"age": 99}"#) == nil)
    for name in ["c", "d"] { _ = try tree.tree.makeDirectory(home, Array(name.utf8)) }
    let held = try context.subtrees.snapshots.all.map { try $0.tree.content().tree }
    #expect(
      held.count == 4 && held[0].parts === held[1].parts && held[2].parts === held[3].parts
        && held[0].parts !== held[2].parts
    )
    let before = try tree.tree.text(".realm/snapshots/a/Person/4.json")
    try tree.tree.removeDirectory(home, Array("a".utf8))
    #expect(try tree.tree.text(".realm/snapshots/b/Person/4.json") == before)
    #expect(try tree.tree.text(".realm/snapshots/c/Person/4.json").contains("99"))
    #expect(try tree.tree.find(".realm/snapshots/c").inode != tree.tree.find(".realm/snapshots/d").inode)
  }

  @Test("in-memory files are listed once each in order of inode number, even after renames")
  func scratchListings() throws {
    let tree = try WritableTree("people")
    func names() throws -> [String] { try tree.tree.list("Dog").map(\.name).filter { $0.hasPrefix("f") } }
    for number in 0..<700 { #expect(tree.put("Dog/f\(number)", "x") == nil) }
    #expect(try names() == (0..<700).map { "f\($0)" })
    for number in 0..<650 { try tree.unlink("Dog/f\(number)") }
    try tree.rename("Dog/f650", to: "Dog/f1")
    try tree.rename("Dog/f699", to: "Person/f699")
    try tree.rename("Dog/f651", to: "Dog/f652", .exchange)
    try tree.rename("Dog/f651", to: "Dog/f652", .exchange)
    try tree.rename("Person/f699", to: "Dog/f0")
    #expect(try names() == ["f1"] + (651..<699).map { "f\($0)" } + ["f0"])
  }

  @Test(
    "the inode number of an object contains its table and key",
    arguments: [
      (0, ObjKey(0)), (5, ObjKey(123_456)), (InodeNumber.maximumOrdinal, ObjKey(1 << 44 - 1)),
    ] as [(TableOrdinal, ObjKey)]
  )
  func numbersHoldObjects(_ ordinal: TableOrdinal, _ key: ObjKey) throws {
    let number = try #require(InodeNumber(object: ordinal, key))
    let object = try #require(number.packedObject)
    #expect(object == (ordinal, key))
    #expect(!number.isHashed && number.value >= 1 << 44 && number.value < 1 << 62)
  }

  @Test("large keys are not packed, and the inode numbers of the first 511 tables fit into a double")
  func numbersThatDoNotFit() throws {
    #expect(InodeNumber(object: 0, ObjKey(1 << 44)) == nil)
    #expect(InodeNumber(object: 0, ObjKey(-2)) == nil)
    #expect(try #require(InodeNumber(object: 510, ObjKey(1 << 44 - 1))).value < 1 << 53)
    #expect(InodeNumber.root.value == 1 && InodeNumber.root.packedObject == nil)
  }

  @Test("a node keeps its number, and an unreferenced one is removed once the kernel forgets it")
  func nodeTable() {
    let table = NodeTable()
    let identity = NodeIdentity(TablesDirectoryNode.self)
    let number = table.inode(of: identity) { TablesDirectoryNode(inode: $0) }
    #expect(table.inode(of: identity) { TablesDirectoryNode(inode: $0) } == number)
    #expect(table.inode(of: NodeIdentity(SnapshotsDirectoryNode.self)) { SnapshotsDirectoryNode(inode: $0) } != number)
    table.retain(number)
    table.forget(number, lookups: 1)
    #expect(table.node(number) != nil, "something in the tree leads to it")
    table.retain(number)
    table.unpin(number)
    #expect(table.node(number) != nil, "the kernel knows it")
    table.forget(number, lookups: 1)
    #expect(table.node(number) == nil)
    #expect(table.inode(of: identity) { TablesDirectoryNode(inode: $0) } != number, "no number is used twice")
  }

  @Test("the inode table counts references, and gives an object the same number again")
  func inodeTableCounts() {
    let table = InodeTable()
    let key = ObjKey(1 << 60)
    let number = table.number(of: 3, key)
    #expect(number.isHashed && table.count == 0 && table.object(number) == nil)
    #expect(table.retain(3, key) == number && table.retain(3, key, lookups: 2) == number)
    #expect(table.object(number)?.ordinal == 3 && table.object(number)?.key == key)
    table.forget(number, lookups: 2)
    #expect(table.count == 1)
    table.forget(number, lookups: 5)
    #expect(table.count == 0)
    #expect(table.number(of: 3, key) == number && table.number(of: 4, key) != number)
  }

  @Test("100,000 large keys have 100,000 numbers")
  func inodeTableIsCollisionFree() {
    let table = InodeTable()
    var numbers: Set<InodeNumber> = []
    for key in 0..<100_000 { numbers.insert(table.retain(1, ObjKey(1 << 61 + Int64(key)))) }
    #expect(numbers.count == 100_000 && table.count == 100_000)
    for number in numbers { table.forget(number, lookups: 1) }
    #expect(table.count == 0)
  }
}
