// Checks one version of a realm against every rule of the format: storage, schema, values, and the consistency between
// parts of the file. Sources: docs/format/1-storage.md, docs/format/2-model.md, docs/format/6-history.md.

/// Checks a snapshot.
///
///     let summary = Verifier(snapshot).run { problem in print(problem) }
///
/// Reads every node of the version. Damage of any kind is reported, and ends neither the process nor the run. Time is
/// proportional to the size of the file (about a third of a second per million objects). Memory is some 30 MiB, one
/// thirty-second of the file size, 24 bytes for each wrong link, and 16 bytes for each object of a table whose primary
/// key has no index. If links are wrong, the objects are walked a second time. If the file has more than half a million
/// links plus two per byte, only the properties of wrong links are named. An encrypted file is decrypted into memory
/// completely, except with `Memory.bounded`.
///
/// The snapshot must remain the newest one during the check. If another process commits during the check, space may be
/// reused and false problems reported (see ``Realm/isCurrent(_:)``).
public struct Verifier {
  /// One violated rule, or a leftover.
  public struct Problem: Hashable, Sendable, CustomStringConvertible {
    /// The part of the model: the header, the free list, a table, an object, a property.
    public let place: String
    /// The byte offset of the node, or nil.
    public let ref: Int?
    /// A description of the problem.
    public let text: String
    /// True if this is not damage but something that Realm's engine leaves behind in intact files: objects, links and
    /// index entries that no value refers to, mostly after a property was removed (docs/format/2-model.md M15). No data
    /// of an app is lost or wrong.
    public let isLeftover: Bool

    /// `place: node at ref: text`.
    public var description: String {
      (place.isEmpty ? "" : place + ": ") + (ref.map { "node at \($0): " } ?? "") + text
    }
  }

  /// The statistics of a run.
  public struct Summary: Sendable {
    /// The number of tables, including those of the SDK.
    public internal(set) var tables = 0
    /// The number of readable live objects in all tables.
    public internal(set) var objects = 0
    /// The number of nodes reachable from the top array.
    public internal(set) var nodes = 0
    /// The total size of these nodes in bytes.
    public internal(set) var bytes = 0
    /// The number of bytes in the free list.
    public internal(set) var freeBytes = 0
    /// The number of problems that are damage, including those beyond the report limit.
    public internal(set) var problems = 0
    /// The number of leftovers, including those beyond the report limit.
    public internal(set) var leftovers = 0

    /// True if there is no damage.
    public var isSound: Bool { problems == 0 }
  }

  /// The memory limit for decrypted pages of an encrypted file.
  enum Memory {
    /// No limit: keeps all decrypted pages.
    case whole
    /// A number of bytes. The run drops pages, so nothing else may read the snapshot during the run.
    case bounded(Int)

    /// 256 MiB. A lower limit would make the check slow: an index leads to pages in any order, and each would be
    /// decrypted repeatedly.
    static let bounded = bounded(1 << 28)
  }

  private let snapshot: Snapshot
  private let isStrict: Bool
  private let memory: Memory

  /// A verifier of `snapshot`. A strict one also requires a key for each nested collection. Realm's engine drops the
  /// key when it moves the collection within a list, and reads such lists without it.
  public init(_ snapshot: Snapshot, isStrict: Bool = false) {
    self.init(snapshot, isStrict: isStrict, memory: .whole)
  }

  init(_ snapshot: Snapshot, isStrict: Bool = false, memory: Memory) {
    self.snapshot = snapshot
    self.isStrict = isStrict
    self.memory = memory
  }

  /// Checks everything and calls `report` for the first `limit` instances of damage and the first `limit` leftovers, as
  /// they are found. Problems that are only consequences of an earlier one are omitted where possible.
  public func run(limit: Int = 1000, _ report: (Problem) -> Void) -> Summary {
    withoutActuallyEscaping(report) { report in
      let context = CheckContext(snapshot, isStrict: isStrict, memory: memory, limit: limit, report: report)
      SpaceCheck(context).run()
      if snapshot.top.ref != 0 { ModelCheck(context).run() }
      return context.summary
    }
  }

  /// Returns the first `limit` problems of each kind; empty for an intact file without leftovers.
  public func problems(limit: Int = 1000) -> [Problem] {
    var problems: [Problem] = []
    _ = run(limit: limit) { problems.append($0) }
    return problems
  }
}
