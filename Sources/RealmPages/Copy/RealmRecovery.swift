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
    /// Whether the header leads to no version, so that nobody knows whether this was the newest.
    public let isUnreached: Bool
    /// Whether the file had a newer version, of which too little is left: its changes are lost.
    public let isOutdated: Bool
    /// Sizes in bytes.
    public let sizes: RealmCopy.Sizes

    /// Whether nothing is lost.
    public var isWhole: Bool { !isOutdated && problems.isEmpty && parts.allSatisfy(\.isWhole) }
  }

  /// Saves to a new file of format 24 all that can be reached in a damaged one, without its history. The damaged file
  /// is only read. Everything in the new file is made anew: links whose target is lost are gone, embedded objects whose
  /// owner is lost too. Unless `verifies` is false, the new file is checked before it gets its name.
  public static func run(
    _ configuration: Configuration,
    to target: String,
    verifies: Bool = true,
    observer: CopyObserver? = nil
  ) throws(EngineError) -> Report {
    let path = configuration.path
    let realm = try RescuedRealm(configuration)
    let isBlank = realm.newestRef == 0
    guard let root = best(of: realm) ?? (isBlank ? .empty : nil) else {
      let looks = realm.kind.map { $0.family == .other ? ": it is \($0.words)" : "" } ?? ""
      throw EngineError(.damaged, "\(path): no version of a realm is left in it\(looks): nothing can be saved")
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
      isSound: { isSound(configuration, root) },
      expected: expected,
      observer: observer
    )
    try rebuilder.run(without: root.format < 10 ? ["pk"] : [])
    let sizes = try RealmCopy.write(
      VersionWriter(work.snapshot, keepsHistory: false),
      of: path,
      to: target,
      key: configuration.encryptionKey,
      replacing: false,
      expected: expected,
      check: verifies ? CopyCheck(original: nil) : nil,
      observer: observer
    )
    return Report(
      origin: root.origin,
      version: root.version,
      format: root.format,
      parts: zip(tables, rebuilder.tallies).compactMap { root.format < 10 && $0.name == "pk" ? nil : Part($0, $1) },
      problems: problems,
      isUnreached: isBlank && root.ref != 0,
      isOutdated: !isBlank && realm.newestRef.map { $0 != root.ref } ?? false,
      sizes: sizes ?? RealmCopy.Sizes(before: 0, after: 0)
    )
  }

  /// Whether `realmfs check` finds nothing wrong in the version that is read.
  private static func isSound(_ configuration: Configuration, _ root: RescuedRealm.Root) -> Bool {
    let file = Configuration(path: configuration.path, encryptionKey: configuration.encryptionKey, mode: .immutable)
    // What does not open is not sound.
    guard let snapshot = try? Realm(file).latest(), snapshot.top.ref == root.ref else { return false }
    return Verifier(snapshot).run { _ in }.isSound
  }

  /// The first version of which no table and no object is lost; else the one with the most objects, of equals the one
  /// that was found in the better place.
  private static func best(of realm: RescuedRealm) -> RescuedRealm.Root? {
    var best: (root: RescuedRealm.Root, objects: Int)?
    for root in realm.roots {
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
      if isWhole && best == nil { return root }
      if best.map({ $0.objects < objects }) ?? true { best = (root, objects) }
    }
    return best?.root
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
