// A realm file of which any part may be damaged, including the header and the top array: finds the versions that may
// remain in it through both slots of the header, through the footer, and by checking every offset where a node can
// begin.

import Glibc

/// The content that can be found in a damaged file.
final class RescuedRealm {
  /// A top array, or a node that may be one.
  struct Root {
    let origin: Origin
    let ref: Int
    let format: Int
    let version: UInt64
    /// The file size that this version requires.
    let logicalSize: Int
    /// True if a slot of the header refers to it.
    var isInHeader: Bool { origin == .header || origin == .otherSlot }

    /// True if there is a top array, unlike in a file without commits, or without any version.
    var isVersion: Bool { ref > 0 }

    /// The tables of a file without any version.
    static func carved(format: Int, size: Int) -> Root {
      Root(origin: .tables, ref: .min, format: format, version: 0, logicalSize: size)
    }

    /// The version of a file without any commits.
    static let empty = Root(origin: .header, ref: 0, format: 24, version: 1, logicalSize: Header.size)
  }

  /// A description of how a top array was found.
  enum Origin: String {
    case header = "the header"
    case otherSlot = "the header's other slot"
    case footer = "the footer of a copy"
    case search = "a search through the file"
    case tables = "a search for tables, as no version is left"
  }

  /// The newest format, and the newest format with the older table layout.
  private static let likelyFormats = [24, 9]

  private let path: String
  /// The kind of file that its first bytes indicate; nil for a file that opened as a realm.
  let kind: FileKind?
  let space: PageSpace
  private let dataRanges: [Range<Int>]
  /// The versions, best first.
  private(set) var roots: [Root] = []
  /// The readable formats in the slots of the header, that of the selected slot first.
  private let headerFormats: [Int]
  private let maxFound: Int
  /// The memory that a check may use.
  private let memory: Verifier.Memory
  /// The first problems of versions, by ref: each requires a pass over the file.
  private var firstProblems: [Int: (version: String?, header: String?)] = [:]

  /// The limit on versions that only the search of a damaged file finds.
  private static let maxFound = 8

  private(set) var direction = Direction.unknown
  /// True if the header belongs to a realm without commits.
  private(set) var isNew = false
  /// True if the header may select an older version: its signature is damaged, or the other slot holds a value that
  /// writers do not leave there.
  private(set) var isHeaderDamaged = false
  /// A description of the bytes that overwrote the header; nil if unknown.
  private(set) var headerNote: String?

  /// The target of a header.
  enum Direction: Equatable {
    /// The newest version, whose top array is or was at `ref`.
    case version(ref: Int)
    /// No version, as in a realm without commits.
    case nowhere
    /// The header is damaged.
    case unknown
  }

  /// Opens the file, whatever its header contains. `maxFound` limits the versions that only a search finds.
  init(_ configuration: Configuration, maxFound: Int = RescuedRealm.maxFound) throws(EngineError) {
    (path, self.maxFound, memory) = (configuration.path, maxFound, .bounded)
    let file = try FileHandle(path: configuration.path)
    let size = try file.status().size
    let kind = FileKind(file, size: size)
    if size < Header.size { throw EngineError(kind, path: path) }
    self.kind = kind
    if kind.family == .encrypted, configuration.encryptionKey == nil { throw EngineError(kind, path: path) }
    if let key = configuration.encryptionKey {
      let whole = max(size - size % PageCipher.pageSize, 0)
      if whole < 2 * PageCipher.pageSize {
        throw EngineError(.damaged, "\(path): \(size) bytes: nothing is left of an encrypted realm")
      }
      let pages = try DecryptedPages(file, key: key, physicalSize: whole, rescues: true)
      if !pages.showsRightKey() {
        throw EngineError(encryptedFileIsDamaged: false, path: path)
      }
      space = pages
    } else {
      space = try MappedFile(file, size: size)
    }
    dataRanges = space.dataRanges
    headerFormats = Self.headerFormats(of: space)
    findRoots()
  }

  /// Examines the bytes of a realm that opened. `maxFound` limits the versions that only a search finds. A check that
  /// has `memory` bounded drops pages of `space`.
  init(
    _ space: PageSpace,
    path: String,
    maxFound: Int = RescuedRealm.maxFound,
    memory: Verifier.Memory = .bounded
  ) {
    (self.path, self.space, self.maxFound, self.memory) = (path, space, maxFound, memory)
    (kind, dataRanges, headerFormats) = (nil, space.dataRanges, Self.headerFormats(of: space))
    findRoots()
  }

  private static func headerFormats(of space: PageSpace) -> [Int] {
    // A header that cannot be read determines nothing.
    guard (try? space.require(0, Header.size)) != nil else { return [] }
    let slot = Header.selectedSlot(of: space)
    return [slot, 1 - slot].map { Header.slot($0, of: space).format }.filter { Realm.readableFormats.contains($0) }
  }

  /// The format as which the file is read if no version is left.
  var likelyFormat: Int { headerFormats.first ?? Self.likelyFormats[0] }

  /// The bytes of the file as nodes, read as `format`.
  func arena(_ format: Int) -> Arena { Arena(space, limit: size, format: format, refusesZeros: true) }

  /// The number of bytes, excluding a hole at the end.
  var size: Int { dataRanges.last?.upperBound ?? 0 }

  /// The encrypted pages that were read although their metadata slots are lost.
  var lostSlots: LostSlots {
    (space as? DecryptedPages)?.lostSlots ?? LostSlots(count: 0, unverified: 0, withoutStart: 0)
  }

  // MARK: roots

  private func findRoots() {
    var known: Set<Int> = []
    func add(_ ref: Int, _ format: Int?, _ origin: Origin) {
      guard known.insert(ref).inserted else { return }
      // If the format is unknown, choose the one as which most tables can be read. The slots of the header differ in
      // theirs after an upgrade.
      let likely = headerFormats.isEmpty ? Self.likelyFormats : headerFormats
      let formats = format.map { [$0] } ?? (likely.first == likely.last ? Array(likely.prefix(1)) : likely)
      let found = formats.compactMap { root(ref, $0, origin) }
      if found.count == 1 { return roots.append(found[0]) }
      let best = found.min { tables(of: $0).problems.count < tables(of: $1).problems.count }
      if let best { roots.append(best) }
    }
    if (try? space.require(0, Header.size)) != nil {  // as above
      let slot = Header.selectedSlot(of: space)
      for (candidate, origin) in [(slot, Origin.header), (1 - slot, .otherSlot)] {
        let (ref, byte) = slotContent(candidate)
        if ref < UInt64(space.size) { add(Int(ref), Realm.readableFormats.contains(byte) ? byte : nil, origin) }
        // With a damaged signature, a ref counts only if a top array is at it.
        let isLikely = Header.signature(of: space) == Header.signature || roots.contains { UInt64($0.ref) == ref }
        if candidate == slot, isLikely { direction = self.direction(ref) }
      }
      let spare = slotContent(1 - slot).topRef, isMark = spare == Header.firstCommitMark
      isNew = direction == .nowhere && (spare == 0 || isMark)
      // A TLS alert overwrites seven known bytes; the others are intact.
      let isSound = Header.signature(of: space) == Header.signature && (isMark || self.direction(spare) != .unknown)
      isHeaderDamaged = !isSound && headerNote == nil
    }
    let footer = space.size - Header.footerSize
    if footer >= Header.size, (try? space.require(footer, Header.footerSize)) != nil {  // likewise
      let ref = space.word(at: footer), isWhole = space.word(at: footer + 8) == Header.cookie
      if direction == .version(ref: -1), isWhole {
        isNew = ref == 0
        direction = isNew ? .nowhere : self.direction(ref)
      }
      if ref < UInt64(space.size) { add(Int(ref), nil, .footer) }
    }
    let first = roots.count
    // A hole cannot contain a top array.
    for range in dataRanges {
      var ref = max(Header.size, range.lowerBound + (-range.lowerBound & (Node.alignment - 1)))
      while ref <= min(range.upperBound, space.size - Node.headerSize) {
        if looksLikeTop(ref) { add(ref, nil, .search) }
        ref += Node.alignment
        if ref & 0xFF_FFFF == 0 { space.dropPages() }
      }
    }
    // Keep the newest of the versions that only the search found.
    roots[first...].sort { $0.version > $1.version }
    if roots.count > first + maxFound { roots.removeLast(roots.count - first - maxFound) }
  }

  /// The slots of the header that refer to a version, the selected one first.
  func slots(leadingTo root: Root) -> [HeaderSlot] {
    // A header that cannot be read refers to nothing.
    guard root.isVersion, (try? space.require(0, Header.size)) != nil else { return [] }
    let selected = Header.selectedSlot(of: space)
    return [selected, 1 - selected].filter { slotContent($0).topRef == UInt64(root.ref) }
      .map { HeaderSlot(number: $0, isSelected: $0 == selected) }
  }

  /// The target of a ref in the selected slot; -1 represents the footer of a copy.
  private func direction(_ ref: UInt64) -> Direction {
    if ref == .max { return .version(ref: -1) }
    if ref == 0 { return .nowhere }
    // No file is that long, and top arrays are aligned.
    return ref % UInt64(Node.alignment) == 0 && ref >> 48 == 0 ? .version(ref: Int(ref)) : .unknown
  }

  /// The content of a slot of the header, with the effect of a TLS record written over it undone as far as possible.
  private func slotContent(_ slot: Int) -> (topRef: UInt64, format: Int) {
    let (ref, format) = Header.slot(slot, of: space)
    guard let record = alertRecord else { return (ref, format) }
    headerNote =
      "bytes \(record.lowerBound) to \(record.upperBound - 1) of the header are a TLS alert: a program wrote it to a "
      + "connection that was closed, and whose descriptor was the file by then"
    let place = Layout.Header.topRef(slot)
    if !record.overlaps(place..<place + 8) { return (ref, format) }
    // The bytes after the first five are zeros in any file below a terabyte.
    return record.lowerBound >= place + 5
      ? (ref & (1 << (8 * UInt64(record.lowerBound - place)) - 1), format) : (.max - 1, format)
  }

  /// A TLS record of type alert in the header: type, version 3.x, a length of 2, and two bytes.
  private var alertRecord: Range<Int>? {
    (0...Layout.Header.signature - 7).first { at in
      let bytes = (0..<5).map { space.byte(at: at + $0) }
      return bytes[0] == 0x15 && bytes[1] == 3 && bytes[2] <= 4 && bytes[3] == 0 && bytes[4] == 2
    }.map { $0..<$0 + 7 }
  }

  /// A quick check, called for every eighth byte of the file.
  private func looksLikeTop(_ ref: Int) -> Bool {
    // A page that cannot be read counts as having no top array.
    if space.fillsOnDemand, (try? space.require(ref, Node.headerSize)) == nil { return false }
    let word = space.word(at: ref)
    // Byte 4: refs in plain integers; bytes 5 to 7: the number of slots.
    return word >> 32 & 0xFF_FFF8 == 0x40 && TopArray.acceptedCounts.contains(Int(word >> 56))
  }

  /// The top array at `ref`; nil if it cannot be one.
  private func root(_ ref: Int, _ format: Int, _ origin: Origin) -> Root? {
    ifReadable { () throws(EngineError) -> Root? in
      let arena = arena(format), node = try arena.refs(ref, slots: Layout.Top.minimum)
      let size = try node.tagged(Layout.Top.logicalSize)
      guard TopArray.acceptedCounts.contains(node.count), size >= ref + node.byteSize, size <= 1 << 56 else {
        return nil
      }
      let names = try node.child(Layout.Top.names), tables = try node.child(Layout.Top.tables)
      if names == 0 || tables == 0 { return nil }
      // One of the two may be damaged.
      let areTables = ifReadable { () throws(EngineError) in try arena.integers(tables) } != nil
      let areNames = ifReadable { () throws(EngineError) in try arena.node(names) } != nil
      if !areTables && !areNames { return nil }
      let version =
        ifReadable { () throws(EngineError) in
          node.count > Layout.Top.version ? try node.tagged(Layout.Top.version) : 0
        } ?? 0
      let bits = max(1, UInt64(bitPattern: version))
      return Root(origin: origin, ref: ref, format: format, version: bits, logicalSize: Int(size))
    } ?? nil
  }

  // MARK: verdicts

  /// True if the header proves that `root` is the newest version: the header selects it, and either is sound or refers
  /// to an older version in its other slot.
  func isNewest(_ root: Root) -> Bool {
    direction == .version(ref: root.ref)
      && (!isHeaderDamaged || roots.contains { $0.origin == .otherSlot && $0.version < root.version })
  }

  /// True if the file shows that a version newer than `root` exists or existed.
  func isOutdated(_ root: Root) -> Bool {
    if root.ref == 0 { return false }
    if case .version(let ref) = direction, ref != root.ref {
      guard let selected = roots.first(where: { $0.ref == ref }) else { return true }
      return selected.version > root.version
    }
    // If the header refers to `root`, a newer version that only a search finds was never committed.
    let isSelected = direction == .version(ref: root.ref)
    return roots.contains { $0.version > root.version && (!isSelected || isHeaderDamaged || $0.isInHeader) }
  }

  /// The first problem that a check of a version finds, apart from the header; nil if the version is sound.
  func firstProblem(of root: Root) -> String? { firstProblems(of: root).version }

  /// The first problem that a check finds in the header, which selects this version; nil if the header is sound.
  func headerProblem(of root: Root) -> String? { firstProblems(of: root).header }

  private func firstProblems(of root: Root) -> (version: String?, header: String?) {
    if let known = firstProblems[root.ref] { return known }
    let found = check(root)
    firstProblems[root.ref] = found
    return found
  }

  private func check(_ root: Root) -> (version: String?, header: String?) {
    do {
      // A header that cannot be read, or selects another version, has no problems that concern this one.
      let selected = (try? Header(space, path: path, isEncrypted: false)).flatMap { header in
        header.topRef == root.ref && header.format == root.format ? header : nil
      }
      let header = selected ?? Header(topRef: root.ref, format: root.format)
      let snapshot = try Snapshot(space, header, path: path)
      var found: (version: String?, header: String?) = (nil, nil)
      _ = Verifier(snapshot, isStrict: false, memory: memory).run(limit: 100) { problem in
        if problem.isLeftover { return }
        if problem.place == "header" {
          found.header = found.header ?? problem.text
        } else {
          found.version = found.version ?? problem.description
        }
      }
      return found
    } catch { return (error.description, nil) }
  }

  /// The number of nodes that a search finds and that neither a version nor one of `others` refers to.
  func unreachedNodes(besides others: [Int] = []) -> Int {
    var reached = BitSet(count: space.size / Node.alignment + 1)
    for root in roots { mark(root.ref, arena(root.format), &reached) }
    for ref in others { mark(ref, arena(likelyFormat), &reached) }
    var count = 0
    NodeSearch(space).forEachNode { range in
      if !reached.contains(range.lowerBound / Node.alignment) { count += 1 }
    }
    return count
  }

  /// Marks all nodes that can be reached from `root`.
  private func mark(_ root: Int, _ arena: Arena, _ reached: inout BitSet) {
    var pending = [root]
    while let ref = pending.popLast() {
      // A node that cannot be read has no readable children.
      guard let node = try? arena.node(ref), reached.insert(ref / Node.alignment), node.hasRefs, node.scheme == .bits
      else { continue }
      for index in 0..<(node.width == 0 ? 0 : node.count) {
        // Likewise.
        if let element = try? node.int(index), element > 0, element & 7 == 0 { pending.append(Int(element)) }
      }
    }
  }

  // MARK: tables

  /// The readable tables of a version, and descriptions of what is wrong with the others.
  func tables(of root: Root) -> (tables: [any SourceTable], problems: [String]) {
    if root.format >= 10 {
      let (slots, problems) = slots(of: root)
      return (slots.compactMap(\.table), problems + slots.compactMap(\.problem))
    }
    let arena = arena(root.format)
    var problems: [String] = []
    do {
      let (names, refs) = try group(of: root, &problems)
      return (legacyTables(arena, root, names, refs, &problems), problems)
    } catch {
      return ([], problems + ["\(error)"])
    }
  }

  /// One table of a version of format 10 or later.
  struct Slot {
    let slot: Int
    let name: String
    /// The table; nil if it cannot be read.
    let table: RescuedTable?
    /// A description of what is wrong with it; nil if it can be read.
    let problem: String?
  }

  /// The tables of a version of format 10 or later, and descriptions of what is wrong with their list.
  func slots(of root: Root) -> (slots: [Slot], problems: [String]) {
    let arena = arena(root.format)
    var problems: [String] = [], slots: [Slot] = []
    do {
      let (names, refs) = try group(of: root, &problems)
      let effort = Effort(arena)
      for slot in 0..<min(refs.count, 0xFFFF) {
        // Likewise.
        let name = (try? names.map { try StringLeaf.name($0, slot) }) ?? ""
        if effort.isSpent { break }
        do {
          let element = try refs.int(slot)
          if element & 1 != 0 || element == 0 { continue }
          let table = try RescuedTable(arena, name: name, slot: slot, ref: Int(element))
          try effort.enter(tableOf: table.columns.count, at: Int(element))
          slots.append(Slot(slot: slot, name: name, table: table, problem: nil))
        } catch {
          let problem = "\(name.isEmpty ? "table \(slot)" : name) cannot be read: \(error)"
          slots.append(Slot(slot: slot, name: name, table: nil, problem: problem))
        }
      }
      let all = slots.compactMap(\.table)
      for i in slots.indices {
        guard var table = slots[i].table else { continue }
        table.completeTargets(from: all)
        slots[i] = Slot(slot: slots[i].slot, name: slots[i].name, table: table, problem: nil)
      }
      return (slots, problems)
    } catch {
      return ([], problems + ["\(error)"])
    }
  }

  /// The refs of the tables of a version by slot, 0 for none; nil if they cannot be read, or are fewer than the names.
  func tableRefs(of root: Root) -> [Int]? {
    var problems: [String] = []
    return ifReadable { () throws(EngineError) in
      let (names, refs) = try group(of: root, &problems)
      if refs.count < names?.count ?? 0 { throw .damaged("the list of tables is lost", ref: refs.ref) }
      var all: [Int] = []
      for slot in 0..<min(refs.count, 0xFFFF) {
        let element = try refs.int(slot)
        all.append(element & 1 == 0 ? Int(truncatingIfNeeded: element) : 0)
      }
      return all
    }
  }

  /// The names of the tables of a version, nil if they cannot be read, and their refs.
  private func group(of root: Root, _ problems: inout [String]) throws(EngineError) -> (names: Node?, refs: Node) {
    let arena = arena(root.format)
    let top = try arena.refs(root.ref, slots: Layout.Top.minimum)
    let refs = try arena.integers(top.child(Layout.Top.tables))
    let names = try? arena.node(top.child(Layout.Top.names))  // otherwise the classes get other names
    if names == nil { problems.append("the names of the classes cannot be read") }
    return (names, refs)
  }

  private func legacyTables(
    _ arena: Arena,
    _ root: Root,
    _ names: Node?,
    _ refs: Node,
    _ problems: inout [String]
  ) -> [any SourceTable] {
    var tables: [LegacySource] = []
    var pkTable: Table?
    let effort = Effort(arena)
    for pass in 0...1 {
      for slot in 0..<min(refs.count, 0xFFFF) {
        let name = (try? names.map { try StringLeaf.name($0, slot) }) ?? ""  // as above
        if pass == 0 && name != "pk" || effort.isSpent { continue }
        do {
          let ref = try refs.child(slot)
          if ref == 0 { continue }
          let isClass = Table.className(ofTable: name) != nil
          let table = try Table(arena, legacyName: name, slot: slot, ref: ref, pkTable: isClass ? pkTable : nil)
          try effort.enter(tableOf: table.columns.count, at: ref)
          if pass == 0 { pkTable = table } else { tables.append(LegacySource(table: table)) }
        } catch { if pass == 1 { problems.append("\(name) cannot be read: \(error)") } }
      }
    }
    return tables
  }
}
