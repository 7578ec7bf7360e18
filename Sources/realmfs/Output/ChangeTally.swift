// The number of objects that differ between two versions, class by class: for `undo` and `versions`.
import RealmJSON
import RealmPages
import RealmTransfer

/// The number of differing objects in each class.
struct ChangeTally {
  private var changesSchema = false
  private var classes: [(name: String, counts: [Int])] = []

  private static let verbs = ["created", "changed", "deleted"]

  /// Counts the differences between two versions of one realm, of which nothing was overwritten. Damaged objects are
  /// reported and left out.
  init(from older: Snapshot, to newer: Snapshot) throws {
    let comparison = RealmComparison(older, newer, classes: nil, areVersions: true)
    comparison.onComplaint = { Log.error($0) }
    var tally = ChangeTally()
    try comparison.run { difference in tally.add(difference) }
    self = tally
  }

  private init() {}

  private mutating func add(_ difference: Difference) {
    switch difference {
    case .schema: changesSchema = true
    case .added(let name, _, _): count(name, 0)
    case .changed(let name, _, _): count(name, 1)
    case .removed(let name, _, _): count(name, 2)
    }
  }

  private mutating func count(_ name: String, _ kind: Int) {
    // Differences arrive class by class.
    if classes.last?.name != name { classes.append((name, [0, 0, 0])) }
    classes[classes.count - 1].counts[kind] += 1
  }

  /// A summary such as `schema; Person: 1 changed, 2 deleted`; empty if nothing differs.
  var words: String {
    let parts = classes.map { name, counts in
      let counted = zip(counts, Self.verbs).filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
      return "\(name): \(counted.joined(separator: ", "))"
    }
    return ((changesSchema ? ["schema"] : []) + parts).joined(separator: "; ")
  }

  /// The numbers as JSON.
  var json: JSONValue {
    .object([
      ("schema", .bool(changesSchema)),
      (
        "classes",
        .array(
          classes.map { name, counts in
            .object([("name", .string(name))] + zip(Self.verbs, counts).map { ($0, .number($1)) })
          }
        )
      ),
    ])
  }
}
