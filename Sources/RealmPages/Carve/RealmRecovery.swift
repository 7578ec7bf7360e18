// The rebuild of a damaged realm as a new one, object by object, from the version that is best preserved.

/// The recovery of damaged realm files.
public enum RealmRecovery {
  /// The result for one class or table.
  public struct Part: Sendable, Hashable {
    /// The class name, or the stored name of a table that is not a class.
    public let name: String
    /// The number of saved objects, some perhaps without all of their values.
    public let objects: Int
    /// The number of objects known to be lost.
    public let lostObjects: Int
    /// The number of lost values and elements of saved objects; a lost property gets its default.
    public let lostValues: Int
    /// The number of links from saved objects to lost ones.
    public let lostLinks: Int
    /// The properties that are lost for all objects.
    public let lostProperties: [String]
    /// The number of objects that got another key or primary key, because theirs cannot be read.
    public let madeUpKeys: Int
    /// The number of properties whose names, and perhaps the name of the class, cannot be read and are generated.
    public let madeUpNames: Int
    /// The numbers of saved objects that were not found in the version that was read, by where they were found. They
    /// may be older states, or deleted objects.
    public let objectsFromElsewhere: [Provenance: Int]
    /// The numbers of values of other objects that were found elsewhere, by where they were found.
    public let valuesFromElsewhere: [Provenance: Int]
    /// Descriptions of indexes and the like that could not be created again.
    public let notes: [String]
    /// A description of the first damage found; nil if there was none.
    public let damage: String?

    /// True if nothing was lost.
    public var isWhole: Bool {
      lostObjects + lostValues + lostLinks + madeUpKeys + madeUpNames == 0 && lostProperties.isEmpty && damage == nil
        && objectsFromElsewhere.isEmpty && valuesFromElsewhere.isEmpty
    }
  }

  /// The result of a recovery.
  public struct Report: Sendable {
    /// A description of how the version was found.
    public let origin: String
    /// The version that was read; 0 if the file has no version any more and its tables were found one by one.
    public let version: UInt64
    /// The file format of that version.
    public let format: Int
    /// The tables in slot order.
    public let parts: [Part]
    /// Descriptions of tables that are lost completely.
    public let problems: [String]
    /// True if this version may not be the newest: the header is damaged, or refers to another one.
    public let isUnreached: Bool
    /// True if the file has, or had, a newer version of which too little remains: its changes are lost.
    public let isOutdated: Bool
    /// The number of nodes that no version refers to, in a file with damage. Their content is not saved; they may
    /// belong to older versions.
    public let unreachedNodes: Int
    /// The number of clusters, each of up to 256 objects, that have the form of several classes. Their objects are not
    /// saved.
    public let ambiguousClusters: Int
    /// True if the search for tables and clusters ended early, because the file has too many nodes that only look like
    /// parts of them.
    public let isSearchIncomplete: Bool
    /// The first problem that a check finds in the version that was read; nil if it is sound.
    public let firstProblem: String?
    /// A description of header damage that loses no data, such as the bytes that overwrote it; nil if
    /// there is none.
    public let headerNote: String?
    /// The encrypted pages that were read although their metadata slots are lost.
    public let lostSlots: LostSlots
    /// Sizes in bytes.
    public let sizes: RealmCopy.Sizes

    /// True if everything that the file holds was saved, and no damage was found. A check cannot detect a value that
    /// was changed to another valid value.
    public var isWhole: Bool {
      !isUnreached && !isOutdated && !isSearchIncomplete && unreachedNodes == 0 && firstProblem == nil
        && lostSlots.unverified == 0 && problems.isEmpty && parts.allSatisfy(\.isWhole)
    }
  }

  /// Saves everything that can be reached in a damaged file to a new file of format 24, without the history. The
  /// damaged file is only read. Links whose target is lost are dropped, and so are embedded objects whose owner is
  /// lost. A class whose properties are lost gets those of `schema`, a version of another realm: clusters that fit no
  /// other class are saved as its objects. Unless `verifies` is false, the new file is checked before it gets its name.
  /// `name` is the name of the damaged file in messages, for a caller that passes a repaired copy of it.
  ///
  /// - Throws: `damaged` if nothing can be saved, `wrongKey` or `keyNeeded`, `cancelled` if the observer
  ///   cancels, `file` if the new file cannot be written. No new file then remains.
  public static func run(
    _ configuration: Configuration,
    named name: String? = nil,
    to target: String,
    schema: Snapshot? = nil,
    verifies: Bool = true,
    observer: CopyObserver? = nil
  ) throws(EngineError) -> Report {
    let path = name ?? configuration.path
    let realm = try RescuedRealm(configuration)
    let (root, tables, problems, carved) = try content(of: realm, path, schema)
    let work = try WorkRealm(beside: target, key: configuration.encryptionKey)
    let expected = min(realm.size, root.logicalSize)
    let isLegacy = root.format < 10
    let rebuilder = try ObjectRebuilder(
      tables,
      of: realm.arena(root.format),
      path: path,
      into: work,
      toleratesLoss: true,
      isSound: { root.isVersion && realm.firstProblem(of: root) == nil },
      expected: expected,
      observer: observer
    )
    try rebuilder.run(without: isLegacy ? ["pk"] : [])
    let sizes = try RealmCopy.write(
      VersionWriter(work.snapshot, keepsHistory: false),
      of: configuration.path,
      to: target,
      key: configuration.encryptionKey,
      replacing: false,
      expected: expected,
      check: verifies ? CopyCheck(original: nil) : nil,
      observer: observer
    )
    let parts = zip(tables, rebuilder.tallies).enumerated().compactMap { index, pair in
      isLegacy && pair.0.name == "pk" ? nil : Part(pair.0, pair.1, ObjectRebuilder.spareName(index))
    }
    let isNewest = root.ref == 0 || realm.isNewest(root)
    let isOutdated = root.isVersion && realm.isOutdated(root)
    let problem = root.isVersion ? realm.firstProblem(of: root) : nil
    let headerProblem = root.isVersion && isNewest ? realm.headerProblem(of: root) : nil
    let isDoubtful = !isNewest || isOutdated || problem != nil || !problems.isEmpty || !parts.allSatisfy(\.isWhole)
    return Report(
      origin: root.origin.rawValue,
      version: root.version,
      format: root.format,
      parts: parts,
      problems: problems,
      isUnreached: !isNewest && !isOutdated,
      isOutdated: isOutdated,
      unreachedNodes: isDoubtful ? realm.unreachedNodes(besides: carved?.tables.flatMap(\.refs) ?? []) : 0,
      ambiguousClusters: carved?.ambiguousClusters ?? 0,
      isSearchIncomplete: carved?.isIncomplete ?? false,
      firstProblem: problem,
      headerNote: realm.headerNote
        ?? headerProblem.map { "a check of the header finds damage that loses nothing: \($0)" },
      lostSlots: realm.lostSlots,
      sizes: sizes ?? RealmCopy.Sizes(before: 0, after: 0)
    )
  }

  /// The version to save and its tables. If that version lost something, the whole file is searched for it.
  private static func content(
    of realm: RescuedRealm,
    _ path: String,
    _ schema: Snapshot?
  ) throws(EngineError) -> (RescuedRealm.Root, [any SourceTable], problems: [String], CarvedRealm?) {
    let best = best(of: realm)
    let isSelected = best.map { realm.direction == .version(ref: $0.ref) } ?? false
    if let best {
      let (tables, problems) = realm.tables(of: best)
      // A schema may have the names that the version has lost.
      let lacksNames = schema != nil && tables.contains { $0.madeUpNames > 0 || $0.name.isEmpty }
      if best.format < 10 || isSelected && !lacksNames && count(best, of: realm).isWhole {
        return (best, tables.map { corrected($0, Effort(realm.arena(best.format))) }, problems, nil)
      }
    }
    if realm.likelyFormat >= 10 {
      let carved = CarvedRealm(realm, completing: best, schema: schema)
      let root = carved.root ?? .carved(format: realm.likelyFormat, size: realm.size)
      if carved.isUseful || carved.root != nil { return (root, carved.tables, carved.problems, carved) }
    }
    let nodes = realm.unreachedNodes()
    // A realm to which nothing was committed is saved as an empty one.
    if realm.isNew && nodes == 0 && realm.space.isBlank { return (.empty, [], [], nil) }
    let looks = realm.kind.map { $0.family == .other ? ": it is \($0.words)" : "" } ?? ""
    let found = nodes == 0 ? "" : "; found \(counted(nodes, "node")) that no version reaches"
    throw EngineError(.damaged, "\(path): no version of a realm is left in it\(looks)\(found): nothing can be saved")
  }

  /// The table with its kind corrected; see `RescuedTable.correctKind`.
  private static func corrected(_ table: any SourceTable, _ effort: Effort) -> any SourceTable {
    guard var rescued = table as? RescuedTable else { return table }
    rescued.correctKind(effort)
    return rescued
  }

  /// The version to save: the one that the header selects, if all of it can be read, or a completely prepared newer one
  /// in the other slot. If the header selects none, the newest sound one; otherwise the one with the most objects, and
  /// the newest among equals.
  static func best(of realm: RescuedRealm) -> RescuedRealm.Root? {
    let selected = realm.roots.first { realm.direction == .version(ref: $0.ref) }
    var first: (root: RescuedRealm.Root, objects: Int)?
    if let selected {
      let (objects, isWhole) = count(selected, of: realm)
      if isWhole { return realm.roots.first { isPrepared($0, after: selected, of: realm) } ?? selected }
      first = (selected, objects)
    }
    var best = first
    let others = realm.roots.enumerated().sorted {
      ($0.element.version, $1.offset) > ($1.element.version, $0.offset)
    }
    for (_, root) in others where root.ref != selected?.ref {
      let (objects, isWhole) = count(root, of: realm)
      // Only without a selected version: a sound older version may have none of the objects that a damaged newer one
      // has.
      if best == nil, isWhole, realm.firstProblem(of: root) == nil { return root }
      if best.map({ $0.objects < objects }) ?? true { best = (root, objects) }
    }
    return best?.root
  }

  /// True if `root` is a sound version in the unselected slot, newer than the selected version: only the switch to it
  /// is missing.
  private static func isPrepared(
    _ root: RescuedRealm.Root,
    after selected: RescuedRealm.Root,
    of realm: RescuedRealm
  ) -> Bool {
    root.isInHeader && root.version > selected.version && count(root, of: realm).isWhole
      && realm.firstProblem(of: root) == nil
  }

  /// The number of reachable objects of a version, and true if these are all objects and all tables.
  private static func count(_ root: RescuedRealm.Root, of realm: RescuedRealm) -> (objects: Int, isWhole: Bool) {
    let (tables, problems) = realm.tables(of: root), effort = Effort(realm.arena(root.format))
    var objects = 0, isWhole = problems.isEmpty && !tables.isEmpty
    for table in tables {
      var reached = 0
      // The closures do not throw, so nothing is thrown here.
      try? table.forEachObject(effort) { _ in
        reached += 1
      } onDamage: { _ in
        isWhole = false
      }
      if reached < table.claimedCount ?? 0 { isWhole = false }
      objects += reached
    }
    return (objects, isWhole)
  }
}

extension RealmRecovery.Part {
  /// `spareName` is the name that a table without a name got.
  fileprivate init(_ table: any SourceTable, _ tally: TransferTally, _ spareName: String) {
    let name = table.name.isEmpty ? spareName : table.name
    self.init(
      name: Table.className(ofTable: name) ?? name,
      objects: tally.objects,
      lostObjects: tally.lostObjects,
      lostValues: tally.lostValues,
      lostLinks: tally.lostLinks,
      lostProperties: tally.lostProperties,
      madeUpKeys: tally.madeUpKeys,
      madeUpNames: table.madeUpNames + (table.name.isEmpty ? 1 : 0),
      objectsFromElsewhere: tally.origins,
      valuesFromElsewhere: (table as? MergedTable)?.filledValues ?? [:],
      notes: tally.notes,
      damage: tally.firstDamage ?? table.kindNote
    )
  }
}
