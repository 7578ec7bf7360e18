// The report of `export --verify`: each class as read from the realm and as stored in the database.
import RealmJSON
import RealmPages
import RealmTransfer

/// The report of an export that was read back for comparison.
struct VerificationReport {
  private let verification: ExportVerification

  init(_ verification: ExportVerification) { self.verification = verification }

  /// Prints the report on standard output.
  func print(asJSON isJSON: Bool) throws {
    let output = StandardOutput()
    if isJSON {
      output.print(json.text)
    } else {
      output.table(lines)
      for facts in verification.classes { for line in Self.rows(of: facts) { output.line(line) } }
    }
    try output.flush()
  }

  private var lines: [(String, String)] {
    let links = verification.danglingLinks
    return verification.classes.map { facts in
      let state = facts.isSame ? "identical" : "different: \(Self.words(facts.stored))"
      return (facts.name, "\(Self.words(facts.exported)); database: \(state)")
    } + [("links", links == 0 ? "every link has its row" : "\(links) lead to objects that were not exported")]
  }

  /// Returns a line for each differing row that the verification lists.
  static func rows(of facts: ClassVerification) -> [String] {
    var lines = facts.differences.map { row in
      let words =
        switch row.kind {
        case .missing: "not in the database"
        case .extra: "only in the database"
        case .values: "different values"
        }
      return "  \(facts.name) \(row.key.printable): \(words)"
    }
    let more = facts.differenceCount - lines.count
    if more > 0 && !lines.isEmpty { lines.append("  \(facts.name): and \(counted(more, "more row"))") }
    return lines
  }

  /// Returns the differing rows that the verification lists.
  static func json(of facts: ClassVerification) -> JSONValue {
    .array(
      facts.differences.map { row in .object([("key", .string(row.key)), ("difference", .string(row.kind.rawValue))]) }
    )
  }

  private static func words(_ facts: (objects: Int, elements: Int, hash: UInt64)) -> String {
    "\(counted(facts.objects, "object")), \(counted(facts.elements, "element")) of collections, "
      + "hash \(hexadecimal(facts.hash, digits: 16))"
  }

  private var json: JSONValue {
    func side(_ facts: (objects: Int, elements: Int, hash: UInt64)) -> JSONValue {
      .object([
        ("objects", .number(facts.objects)), ("elements", .number(facts.elements)),
        ("hash", .string(hexadecimal(facts.hash, digits: 16))),
      ])
    }
    let classes = verification.classes.map { facts in
      JSONValue.object([
        ("name", .string(facts.name)), ("realm", side(facts.exported)), ("database", side(facts.stored)),
        ("same", .bool(facts.isSame)), ("differentRows", .number(facts.differenceCount)),
        ("rows", Self.json(of: facts)),
      ])
    }
    return .object([("classes", .array(classes)), ("danglingLinks", .number(verification.danglingLinks))])
  }
}
