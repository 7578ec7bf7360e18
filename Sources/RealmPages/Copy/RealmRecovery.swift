// What is left of a damaged realm, as a new realm: from the newest version that can be read best, object by object.

/// The recovery of damaged realm files.
public enum RealmRecovery {
  /// What came over of one class or table.
  public struct Part: Sendable, Hashable {
    /// The class name, or the stored name of a table that is no class.
    public let name: String
    /// Objects that were saved, perhaps without some of their values.
    public let objects: Int
    /// Objects that are known to be lost.
    public let lostObjects: Int
    /// Values and elements of saved objects that are lost; a property has its default then.
    public let lostValues: Int
    /// Links of saved objects to objects that are lost.
    public let lostLinks: Int
    /// Properties that are lost for all objects.
    public let lostProperties: [String]
    /// Objects that got another key or primary key, because theirs cannot be read.
    public let madeUpKeys: Int
    /// Embedded objects of a sound file that nothing owns, which no app can reach; they are left out.
    public let leftovers: Int
    /// Indexes and the like that could not be made again, in words.
    public let notes: [String]
    /// The first damage that was met, in words; nil if there was none.
    public let damage: String?

    /// Whether everything came over.
    public var isWhole: Bool {
      lostObjects + lostValues + lostLinks + madeUpKeys == 0 && lostProperties.isEmpty && damage == nil
    }
  }

  /// What a recovery brought.
  public struct Report: Sendable {
    /// How the version was found, in words.
    public let origin: String
    /// The version that was read.
    public let version: UInt64
    /// The format that it had.
    public let format: Int
    /// The tables in slot order.
    public let parts: [Part]
    /// Tables that are lost altogether, in words.
    public let problems: [String]
    /// True if it is not known whether this version is the newest: the header is damaged, or leads to another one.
    public let isUnreached: Bool
    /// True if the file has, or had, a newer version of which too little is left: its changes are lost.
    public let isOutdated: Bool
    /// Nodes that no version leads to, in a file in which something is damaged. What they hold is not saved; they may
    /// be of older versions.
    public let unreachedNodes: Int
    /// The first thing that a check finds wrong in the version that was read; nil if it is sound.
    public let firstProblem: String?
    /// A description of the bytes that overwrote the header; nil if unknown.
    public let headerNote: String?
    /// Sizes in bytes.
    public let sizes: RealmCopy.Sizes

    /// True if everything that the file holds was saved, and no damage found. A check cannot detect
    /// a value that was changed to another valid value.
    public var isWhole: Bool {
      !isUnreached && !isOutdated && unreachedNodes == 0 && firstProblem == nil && problems.isEmpty
        && parts.allSatisfy(\.isWhole)
    }
  }

  /// Saves to a new file of format 24 all that can be reached in a damaged one, without its history. The damaged file
  /// is only read. Everything in the new file is made anew: links whose target is lost are gone, embedded objects whose
  /// owner is lost too. Unless `verifies` is false, the new file is checked before it gets its name. `name` is what
  /// messages call the damaged file, if it is a copy that was put right.
  public static func run(
    _ configuration: Configuration,
    named name: String? = nil,
    to target: String,
    verifies: Bool = true,
    observer: CopyObserver? = nil
  ) throws(EngineError) -> Report {
    let path = name ?? configuration.path
    let realm = try RescuedRealm(configuration)
    let best = best(of: realm), nodes = best == nil ? realm.unreachedNodes() : 0
    // A realm to which nothing was committed.
    let isEmpty = best == nil && realm.isNew && nodes == 0
    guard let root = best ?? (isEmpty ? .empty : nil) else {
      let looks = realm.kind.map { $0.family == .other ? ": it is \($0.words)" : "" } ?? ""
      let found = nodes == 0 ? "" : "; found \(nodes) nodes that no version reaches"
      throw EngineError(.damaged, "\(path): no version of a realm is left in it\(looks)\(found): nothing can be saved")
    }
    let (tables, problems) = root.ref == 0 ? ([], []) : realm.tables(of: root)
    let work = try WorkRealm(beside: target, key: configuration.encryptionKey)
    let expected = min(realm.size, root.logicalSize)
    let rebuilder = try ObjectRebuilder(
      tables,
      of: realm.arena(root.format),
      path: path,
      into: work,
      toleratesLoss: true,
      isSound: { realm.firstProblem(of: root) == nil },
      expected: expected,
      observer: observer
    )
    try rebuilder.run(without: root.format < 10 ? ["pk"] : [])
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
    let isNewest = root.ref == 0 || realm.isNewest(root)
    let isOutdated = realm.isOutdated(root)
    let problem = root.ref == 0 ? nil : realm.firstProblem(of: root)
    let losses = zip(tables, rebuilder.tallies).contains { !Part($0, $1).isWhole }
    let isDoubtful = !isNewest || isOutdated || problem != nil || !problems.isEmpty || losses
    return Report(
      origin: root.origin.rawValue,
      version: root.version,
      format: root.format,
      parts: zip(tables, rebuilder.tallies).compactMap { root.format < 10 && $0.name == "pk" ? nil : Part($0, $1) },
      problems: problems,
      isUnreached: !isNewest && !isOutdated,
      isOutdated: isOutdated,
      unreachedNodes: isDoubtful ? realm.unreachedNodes() : 0,
      firstProblem: problem,
      headerNote: realm.headerNote,
      sizes: sizes ?? RealmCopy.Sizes(before: 0, after: 0)
    )
  }

  /// The version to save: the one that the header selects, or where it selects none the newest, if everything in it can
  /// be read; else the one with the most objects, of equals the newest.
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
      // An older version that is whole may have none of the objects that a damaged newer one still has.
      if best == nil, isWhole, realm.firstProblem(of: root) == nil { return root }
      if best.map({ $0.objects < objects }) ?? true { best = (root, objects) }
    }
    return best?.root
  }

  /// True if `root` is a sound version in the slot that is not selected, newer than the selected version: only the
  /// switch to it is missing.
  private static func isPrepared(
    _ root: RescuedRealm.Root,
    after selected: RescuedRealm.Root,
    of realm: RescuedRealm
  ) -> Bool {
    root.isInHeader && root.version > selected.version && count(root, of: realm).isWhole
      && realm.firstProblem(of: root) == nil
  }

  /// The number of objects of a version that can be reached, and whether these are all, and all tables.
  private static func count(_ root: RescuedRealm.Root, of realm: RescuedRealm) -> (objects: Int, isWhole: Bool) {
    let (tables, problems) = realm.tables(of: root), effort = Effort(realm.arena(root.format))
    var objects = 0, isWhole = problems.isEmpty && !tables.isEmpty
    for table in tables {
      var reached = 0
      // Nothing is thrown by what is called here.
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

extension RescuedRealm {
  /// True if there is, or was, a version newer than `root`, as far as the file shows.
  fileprivate func isOutdated(_ root: Root) -> Bool {
    if root.ref == 0 { return false }
    if case .version(let ref) = direction, ref != root.ref {
      guard let selected = roots.first(where: { $0.ref == ref }) else { return true }
      return selected.version > root.version
    }
    // A newer version that only a search finds was never committed, if the header leads elsewhere.
    let isSelected = direction == .version(ref: root.ref)
    return roots.contains { $0.version > root.version && (!isSelected || isHeaderDamaged || $0.isInHeader) }
  }
}

extension RealmRecovery.Part {
  fileprivate init(_ table: any SourceTable, _ tally: TransferTally) {
    self.init(
      name: Table.className(ofTable: table.name) ?? table.name,
      objects: tally.objects,
      lostObjects: tally.lostObjects,
      lostValues: tally.lostValues,
      lostLinks: tally.lostLinks,
      lostProperties: tally.lostProperties,
      madeUpKeys: tally.madeUpKeys,
      leftovers: tally.leftovers,
      notes: tally.notes,
      damage: tally.firstDamage
    )
  }
}
