// Checks one version of a realm against every rule of the format: the structure that lies under all values, the schema,
// the values, and what one part of a file says about another.
// Sources: docs/format/1-storage.md, docs/format/2-model.md, docs/format/6-history.md.

/// Checks a snapshot.
///
///     let summary = Verifier(snapshot).run { problem in print(problem) }
///
/// Reads every node of the version, whatever bytes it finds: damage is reported, and never ends the process or the run.
/// Time grows with the size of the file (about a third of a second for a million objects); memory is some 30 MiB, one
/// thirty-second of the file, 24 bytes for each link that is wrong, and 16 bytes for each object of a table whose
/// primary key has no index. Where links are wrong the objects are walked twice; of more links than two in a byte,
/// and half a million besides, only their property is named. An encrypted file is decrypted into memory as a whole but
/// for `Memory.bounded`.
///
/// The snapshot must stay the newest one while the check runs: when another process commits meanwhile, space may be
/// reused and problems be reported that are none (see ``Realm/isCurrent(_:)``).
public struct Verifier {
  /// One broken rule, or a leftover.
  public struct Problem: Hashable, Sendable, CustomStringConvertible {
    /// Where in the model: the header, the free list, a table, an object, a property.
    public let place: String
    /// The byte offset of the node concerned, or nil.
    public let ref: Int?
    /// What is wrong.
    public let text: String
    /// Whether this is no damage, but what Realm's own engine leaves behind in sound files: objects, links and index
    /// entries that no value leads to, most of them after a property was removed (docs/format/2-model.md M15). Nothing
    /// of an app's data is lost or wrong.
    public let isLeftover: Bool

    /// `place: node at ref: text`.
    public var description: String {
      (place.isEmpty ? "" : place + ": ") + (ref.map { "node at \($0): " } ?? "") + text
    }
  }

  /// What a run has seen.
  public struct Summary: Sendable {
    /// Tables, those of the SDK included.
    public internal(set) var tables = 0
    /// Live objects of all tables, as far as they could be read.
    public internal(set) var objects = 0
    /// Nodes that the top array leads to.
    public internal(set) var nodes = 0
    /// Bytes of these nodes.
    public internal(set) var bytes = 0
    /// Bytes in the free list.
    public internal(set) var freeBytes = 0
    /// Damage found, also what is beyond the limit of what was reported.
    public internal(set) var problems = 0
    /// Leftovers found, likewise.
    public internal(set) var leftovers = 0

    /// Whether there is no damage.
    public var isSound: Bool { problems == 0 }
  }

  /// What a run may keep of an encrypted file.
  enum Memory {
    /// All pages that were decrypted.
    case whole
    /// So many bytes of them. For a snapshot that nothing else reads meanwhile: its pages are dropped on the way.
    case bounded(Int)

    /// 256 MiB. Less would make the check slow: an index leads to pages in any order, and each is decrypted anew.
    static let bounded = bounded(1 << 28)
  }

  private let snapshot: Snapshot
  private let isStrict: Bool
  private let memory: Memory

  /// A verifier of `snapshot`. A strict one wants the key of each nested collection, too: Realm's own engine drops it
  /// when it moves the collection within a list, and reads such a list all the same.
  public init(_ snapshot: Snapshot, isStrict: Bool = false) {
    self.init(snapshot, isStrict: isStrict, memory: .whole)
  }

  init(_ snapshot: Snapshot, isStrict: Bool = false, memory: Memory) {
    self.snapshot = snapshot
    self.isStrict = isStrict
    self.memory = memory
  }

  /// Checks everything and calls `report` for each of the first `limit` damages, and of the first `limit` leftovers, as
  /// it is found. Problems that only follow from an earlier one are left out where that can be told.
  public func run(limit: Int = 1000, _ report: (Problem) -> Void) -> Summary {
    withoutActuallyEscaping(report) { report in
      let context = CheckContext(snapshot, isStrict: isStrict, memory: memory, limit: limit, report: report)
      SpaceCheck(context).run()
      if snapshot.top.ref != 0 { ModelCheck(context).run() }
      return context.summary
    }
  }

  /// The first `limit` problems of each kind; empty for a sound file without leftovers.
  public func problems(limit: Int = 1000) -> [Problem] {
    var problems: [Problem] = []
    _ = run(limit: limit) { problems.append($0) }
    return problems
  }
}
