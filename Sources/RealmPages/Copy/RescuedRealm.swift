// A realm file of which anything may be damaged, header and top array too: the versions that may still be in it, found
// through both slots of the header, through the footer, and by looking at every place where a node can begin.

import Glibc

/// What can be found in a damaged file.
final class RescuedRealm {
  /// A top array, or what may be one.
  struct Root {
    /// How it was found, in words.
    let origin: String
    let ref: Int
    let format: Int
    let version: UInt64
    /// Where the file would end.
    let logicalSize: Int

    /// The version of a file to which nothing was ever committed.
    static let empty = Root(origin: "the header", ref: 0, format: 24, version: 1, logicalSize: Header.size)
  }

  /// The newest format, and the newest of those with another form of tables.
  private static let likelyFormats = [24, 9]

  private let path: String
  /// What the file looks like from outside; nil of one that opened as a realm.
  let kind: FileKind?
  private let space: PageSpace
  private let dataRanges: [Range<Int>]
  /// The versions, best first.
  private(set) var roots: [Root] = []
  private let headerFormat: Int?
  private let mostFound: Int

  /// The search of a damaged file finds as many versions.
  private static let mostFound = 8

  /// Where the header says that the newest version is; nil if it cannot be believed.
  private(set) var newestRef: Int?

  /// Opens the file, whatever its header says.
  init(_ configuration: Configuration) throws(EngineError) {
    (path, mostFound) = (configuration.path, Self.mostFound)
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
      let pages = try DecryptedPages(file, key: key, physicalSize: whole)
      if !pages.anyPageVerifies() {
        throw EngineError(encryptedFileIsDamaged: false, path: path)
      }
      space = pages
    } else {
      space = try MappedFile(file, size: size)
    }
    dataRanges = space.dataRanges
    var format: Int?
    // A header that cannot be read tells nothing.
    if (try? space.require(0, Header.size)) != nil {
      let slot = Header.selectedSlot(of: space)
      for candidate in [slot, 1 - slot] where format == nil {
        let byte = Header.slot(candidate, of: space).format
        if Realm.readableFormats.contains(byte) { format = byte }
      }
    }
    headerFormat = format
    findRoots()
  }

  /// Looks at the bytes of a realm that opened. `mostFound` bounds the versions to which no header leads.
  init(_ space: PageSpace, path: String, mostFound: Int = RescuedRealm.mostFound) {
    (self.path, self.space, self.mostFound) = (path, space, mostFound)
    (kind, dataRanges, headerFormat) = (nil, space.dataRanges, nil)
    findRoots()
  }

  /// The bytes of the file as nodes, read as `format`.
  func arena(_ format: Int) -> Arena { Arena(space, limit: size, format: format) }

  /// The number of bytes, without a hole at the end.
  var size: Int { dataRanges.last?.upperBound ?? 0 }

  // MARK: roots

  private func findRoots() {
    var known: Set<Int> = []
    func add(_ ref: Int, _ format: Int?, _ origin: String) {
      guard known.insert(ref).inserted else { return }
      // Where nothing tells the format, the one is taken as which most tables can be read.
      let formats = (format ?? headerFormat).map { [$0] } ?? Self.likelyFormats
      let found = formats.compactMap { root(ref, $0, origin) }
      if found.count == 1 { return roots.append(found[0]) }
      let best = found.min { tables(of: $0).problems.count < tables(of: $1).problems.count }
      if let best { roots.append(best) }
    }
    if (try? space.require(0, Header.size)) != nil {  // as above
      let slot = Header.selectedSlot(of: space)
      for (candidate, origin) in [(slot, "the header"), (1 - slot, "the header's other slot")] {
        let (ref, byte) = Header.slot(candidate, of: space)
        if candidate == slot, Header.signature(of: space) == Header.signature {
          newestRef = Int(truncatingIfNeeded: ref)
        }
        if ref < UInt64(space.size) { add(Int(ref), Realm.readableFormats.contains(byte) ? byte : nil, origin) }
      }
    }
    let footer = space.size - Header.footerSize
    if footer >= Header.size, (try? space.require(footer, Header.footerSize)) != nil {  // likewise
      let ref = space.word(at: footer)
      let isCopy = newestRef == -1
      if isCopy && ref < UInt64(space.size) { newestRef = Int(ref) }
      if ref < UInt64(space.size) { add(Int(ref), nil, "the footer of a copy") }
    }
    let first = roots.count
    // No top array begins in a hole.
    for range in dataRanges {
      var ref = max(Header.size, range.lowerBound + (-range.lowerBound & (Node.alignment - 1)))
      while ref <= min(range.upperBound, space.size - Node.headerSize) {
        if looksLikeTop(ref) { add(ref, nil, "a search through the file") }
        ref += Node.alignment
        if ref & 0xFF_FFFF == 0 { space.dropPages() }
      }
    }
    // The newest of those that only the search found.
    roots[first...].sort { $0.version > $1.version }
    if roots.count > first + mostFound { roots.removeLast(roots.count - first - mostFound) }
  }

  /// A quick look, for every eighth byte of the file.
  private func looksLikeTop(_ ref: Int) -> Bool {
    // A page that cannot be read holds no top array.
    if space.fillsOnDemand, (try? space.require(ref, Node.headerSize)) == nil { return false }
    let word = space.word(at: ref)
    // Byte 4: refs in plain integers; bytes 5 to 7: the number of slots.
    return word >> 32 & 0xFF_FFF8 == 0x40 && TopArray.acceptedCounts.contains(Int(word >> 56))
  }

  /// The top array at `ref`, if it can be one.
  private func root(_ ref: Int, _ format: Int, _ origin: String) -> Root? {
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

  // MARK: tables

  /// The tables of a version that can be read, and what is wrong with the others.
  func tables(of root: Root) -> (tables: [any SourceTable], problems: [String]) {
    let arena = arena(root.format)
    var problems: [String] = []
    do throws(EngineError) {
      let top = try arena.refs(root.ref, slots: Layout.Top.minimum)
      let refs = try arena.integers(top.child(Layout.Top.tables))
      let names = try? arena.node(top.child(Layout.Top.names))  // then the classes have other names
      if names == nil { problems.append("the names of the classes cannot be read") }
      if root.format < 10 { return (legacyTables(arena, root, names, refs, &problems), problems) }
      var tables: [RescuedTable] = []
      let effort = Effort(arena)
      for slot in 0..<min(refs.count, 0xFFFF) {
        // Likewise.
        let name = (try? names.flatMap { try StringLeaf.short($0, slot)?.string }) ?? ""
        if effort.isSpent { break }
        do throws(EngineError) {
          let element = try refs.int(slot)
          if element & 1 != 0 || element == 0 { continue }
          let table = try RescuedTable(arena, name: name, slot: slot, ref: Int(element))
          try effort.enter(tableOf: table.columns.count, at: Int(element))
          tables.append(table)
        } catch { problems.append("\(name.isEmpty ? "table \(slot)" : name) cannot be read: \(error)") }
      }
      let all = tables
      for i in tables.indices { tables[i].completeTargets(from: all) }
      return (tables, problems)
    } catch {
      return ([], problems + ["\(error)"])
    }
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
        let name = (try? names.flatMap { try StringLeaf.short($0, slot)?.string }) ?? ""  // as above
        if pass == 0 && name != "pk" || effort.isSpent { continue }
        do throws(EngineError) {
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
