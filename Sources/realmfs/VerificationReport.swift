// What `export --verify` prints: each class as it was read from the realm and as it is in the database.
import RealmJSON
import RealmPages
import RealmTransfer

/// The report of an export that was read back.
struct VerificationReport {
  private let verification: ExportVerification

  init(_ verification: ExportVerification) { self.verification = verification }

  /// Prints the report on standard output.
  func print(asJSON isJSON: Bool) throws(CommandFailure) {
    let output = StandardOutput()
    if isJSON { output.print(json.text) } else { output.table(lines) }
    try output.flush()
  }

  private var lines: [(String, String)] {
    let links = verification.danglingLinks
    return verification.classes.map { facts in
      let state = facts.isSame ? "the same" : "NOT the same: \(Self.words(facts.stored))"
      return (facts.name, "\(Self.words(facts.exported)); in the database \(state)")
    } + [("links", links == 0 ? "each leads to a row" : "\(links) lead to objects that were not exported")]
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
        ("same", .bool(facts.isSame)),
      ])
    }
    return .object([("classes", .array(classes)), ("danglingLinks", .number(verification.danglingLinks))])
  }
}
