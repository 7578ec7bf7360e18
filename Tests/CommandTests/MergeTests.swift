// `realmfs merge`: the rules of a three-way merge, one by one, and random merges against a model of a few lines. SEED=n
// makes one merge, MERGES=n as many (200).

import Foundation
import RealmJSON
import RealmPages
import RealmTransfer
import TestSupport
import Testing

/// The content of a realm: objects by primary key.
private typealias State = [Int: Item]

private struct Home: Codable, Equatable {
  var street: String?
  var zip = 0
}

private struct Item: Codable, Equatable {
  var id: Int
  var name: String?
  var age = 0
  var scores: [Int] = []
  var tags: Set<String> = []
  var counts: [String: Int] = [:]
  var home: Home?
  var friend: Int?
  var friends: [Int] = []

  init(_ id: Int) { self.id = id }
}

@Suite("Merging realms")
struct MergeTests {
  private static let environment = ProcessInfo.processInfo.environment

  /// A realm with objects of the model.
  private func realm(_ state: State = [:], _ more: (borrowing WriteTransaction) throws -> Void = { _ in }) throws
    -> RealmWriter
  {
    let writer = try RealmWriter(memory: MemoryStorage(name: "merge"))
    try writer.write { transaction in
      let home = try transaction.addClass(
        "Home",
        kind: .embedded,
        [ColumnSpec("street", .string, isNullable: true), ColumnSpec("zip", .int)]
      )
      let item = try transaction.addClass(
        "Item",
        [
          ColumnSpec("id", .int), ColumnSpec("name", .string, isNullable: true), ColumnSpec("age", .int),
          ColumnSpec("scores", .int, collection: .list), ColumnSpec("tags", .string, collection: .set),
          ColumnSpec("counts", .int, collection: .dictionary), ColumnSpec("home", .link, target: home),
        ],
        primaryKey: "id"
      )
      _ = try transaction.addColumn(item, ColumnSpec("friend", .link, target: item))
      _ = try transaction.addColumn(item, ColumnSpec("friends", .link, collection: .list, target: item))
      _ = try transaction.addColumn(item, ColumnSpec("homes", .link, collection: .list, target: home))
      _ = try transaction.addColumn(item, ColumnSpec("any", .mixed))
      let applier = RecordApplier<JSONText>()
      for (_, object) in state.sorted(by: { $0.key < $1.key }) {
        let text = try JSONText(Array(JSONEncoder().encode(object)))
        _ = try applier.apply(text, at: text, to: .upsert, of: item, in: transaction)
      }
      for record in applier.waiting { _ = try applier.finish(record, record.place, in: transaction) }
      try more(transaction)
    }
    return writer
  }

  /// A realm with these objects of Item, written as JSON.
  private func realm(_ texts: [String], _ more: (borrowing WriteTransaction) throws -> Void = { _ in }) throws
    -> RealmWriter
  {
    try realm([:]) { transaction in
      try more(transaction)
      try put(texts, in: "Item", transaction)
    }
  }

  private func put(_ texts: [String], in name: String, _ transaction: borrowing WriteTransaction) throws {
    let table = try transaction.table(ofClass: name), applier = RecordApplier<JSONText>()
    for text in texts {
      let text = try JSONText(Array(text.utf8))
      _ = try applier.apply(text, at: text, to: .upsert, of: table, in: transaction)
    }
    for record in applier.waiting { _ = try applier.finish(record, record.place, in: transaction) }
  }

  private func state(_ writer: RealmWriter) throws -> State {
    let objects = try texts(writer).map { try JSONDecoder().decode(Item.self, from: Data($0.utf8)) }
    return Dictionary(uniqueKeysWithValues: objects.map { ($0.id, $0) })
  }

  private func texts(_ writer: RealmWriter, of name: String = "Item") throws -> [String] {
    let snapshot = try writer.realm.latest(), renderer = ObjectRenderer(snapshot), out = OutputBuffer()
    let cursor = ObjectCursor(try snapshot.table(ofClass: name))
    var found: [String] = []
    while try cursor.next() {
      out.reset()
      try renderer.render(cursor, layout: .compact, into: out)
      found.append(String(out.string.dropLast()))
    }
    return found
  }

  /// Merges `theirs` into `ours`, which is then checked.
  @discardableResult
  private func merge(
    _ base: RealmWriter?,
    _ ours: RealmWriter,
    _ theirs: RealmWriter,
    _ preferred: RealmMerge.Side? = nil
  ) throws -> [RealmMerge.Conflict] {
    let outcome = try RealmMerge.run(
      base: try base?.realm.latest(),
      theirs: try theirs.realm.latest(),
      into: ours,
      preferring: preferred
    )
    #expect(outcome.summary.conflicts == outcome.conflicts.count)
    let problems = Verifier(try ours.realm.latest(), isStrict: true).problems()
    #expect(problems.isEmpty, "\(problems)")
    return outcome.conflicts
  }

  /// Merges three texts of one object, and returns a property of it and the paths in conflict.
  private func value(
    _ property: String,
    _ base: String,
    _ ours: String,
    _ theirs: String,
    _ preferred: RealmMerge.Side? = nil
  ) throws -> String {
    let all = try [base, ours, theirs].map { try realm(["{\"id\": 1, \"\(property)\": \($0)}"]) }
    let conflicts = try merge(all[0], all[1], all[2], preferred)
    let snapshot = try all[1].realm.latest(), table = try snapshot.table(ofClass: "Item"), out = OutputBuffer()
    let cursor = ObjectCursor(table)
    let index = try #require(table.columns.firstIndex { $0.name == property })
    #expect(try cursor.next())
    try ObjectRenderer(snapshot).render(property: index, of: cursor, into: out)
    return ([out.string] + conflicts.flatMap(\.properties)).joined(separator: " ")
  }

  // MARK: values

  @Test("both sides may change different parts of a value")
  func values() throws {
    #expect(try value("name", "\"a\"", "\"b\"", "\"a\"") == "\"b\"")
    #expect(try value("name", "\"a\"", "\"a\"", "null") == "null")
    #expect(try value("name", "\"a\"", "\"b\"", "\"b\"") == "\"b\"")
    #expect(try value("name", "\"a\"", "\"b\"", "\"c\"") == "\"b\" name")
    #expect(try value("name", "\"a\"", "\"b\"", "\"c\"", .theirs) == "\"c\" name")
    #expect(try value("tags", "[\"a\",\"b\"]", "[\"b\",\"c\"]", "[\"a\",\"b\",\"d\"]") == "[\"b\",\"c\",\"d\"]")
    let counts = try value("counts", "{\"a\":1,\"b\":1}", "{\"a\":2,\"b\":1,\"c\":3}", "{\"a\":1,\"d\":4}")
    #expect(counts == "{\"a\":2,\"c\":3,\"d\":4}")
    #expect(try value("counts", "{\"a\":1}", "{\"a\":2}", "{}") == "{\"a\":2} counts[a]")
    let home = try value(
      "home",
      "{\"street\":\"x\",\"zip\":1}",
      "{\"street\":\"y\",\"zip\":1}",
      "{\"street\":\"x\",\"zip\":2}"
    )
    #expect(home == "{\"street\":\"y\",\"zip\":2}")
    #expect(try value("home", "{\"zip\":1}", "{\"zip\":2}", "{\"zip\":3}") == "{\"street\":null,\"zip\":2} home.zip")
    #expect(try value("home", "{\"zip\":1}", "{\"zip\":2}", "null") == "{\"street\":null,\"zip\":2} home")
  }

  @Test("lists are merged by their changes; only changes of the same elements, or at the same place, conflict")
  func lists() throws {
    #expect(try value("scores", "[1,2,3]", "[0,1,2,3]", "[1,2,3,4]") == "[0,1,2,3,4]")
    #expect(try value("scores", "[1,2,3]", "[1,9,3]", "[2,3]") == "[9,3]")
    #expect(try value("scores", "[1,2,3]", "[1,3]", "[1,2,8,3]") == "[1,8,3]")
    #expect(try value("scores", "[1,2,3,4]", "[1,4]", "[1,2]") == "[1]")
    #expect(try value("scores", "[1,2]", "[1,5,2]", "[1,5,2]") == "[1,5,2]")
    #expect(try value("scores", "[1,2]", "[1,5,2]", "[1,6,2]") == "[1,5,2] scores")
    #expect(try value("scores", "[1,2]", "[1,5,2]", "[1,6,2]", .theirs) == "[1,6,2] scores")
    #expect(try value("scores", "[1,2]", "[1,7]", "[1,8]") == "[1,7] scores[1]")
    // A conflict concerns only its place.
    #expect(try value("scores", "[1,2,3,4]", "[7,2,3,4,5]", "[8,2,4]") == "[7,2,4,5] scores[0]")
    let homes = try value(
      "homes",
      "[{\"zip\":1},{\"zip\":2}]",
      "[{\"zip\":1,\"street\":\"a\"},{\"zip\":2}]",
      "[{\"zip\":5},{\"zip\":2},{\"zip\":3}]"
    )
    #expect(homes == "[{\"street\":\"a\",\"zip\":5},{\"street\":null,\"zip\":2},{\"street\":null,\"zip\":3}]")
    let any = try value(
      "any",
      "{\"a\":[1],\"b\":{\"c\":1}}",
      "{\"a\":[0,1],\"b\":{\"c\":1}}",
      "{\"a\":[1],\"b\":{\"c\":2}}"
    )
    #expect(any == "{\"a\":[0,1],\"b\":{\"c\":2}}")
    #expect(try value("any", "1", "2", "\"1\"") == "2 any")
  }

  // MARK: deleted objects

  @Test("an object that one side deleted and the other changed is a conflict, and keeps the links to it")
  func deletedAndChanged() throws {
    let base = ["{\"id\":1,\"friend\":2,\"friends\":[2,3]}", "{\"id\":2}", "{\"id\":3}"]
    let without = ["{\"id\":1,\"age\":5,\"friends\":[3]}", "{\"id\":3}"]
    let changed = ["{\"id\":1,\"friend\":2,\"friends\":[2,3]}", "{\"id\":2,\"age\":7}", "{\"id\":3}"]
    for side in [nil, RealmMerge.Side.ours] {
      let ours = try realm(changed)
      let conflicts = try merge(realm(base), ours, realm(without), side)
      #expect(conflicts.map(\.reason) == ["changed in OURS, deleted in THEIRS"])
      #expect(conflicts.first?.theirs == nil)
      let one = try #require(try state(ours)[1])
      #expect(one.friend == 2 && one.friends == [2, 3] && one.age == 5)
    }
    let ours = try realm(changed)
    try merge(realm(base), ours, realm(without), .theirs)
    #expect(try state(ours).keys.sorted() == [1, 3])
    #expect(try state(ours)[1]?.friends == [3])

    // The other way round.
    for side in [nil, RealmMerge.Side.ours] {
      let ours = try realm(without)
      #expect(
        try merge(realm(base), ours, realm(changed), side).map(\.reason) == ["deleted in OURS, changed in THEIRS"]
      )
      #expect(try state(ours).keys.sorted() == [1, 3])
    }
    let restored = try realm(without)
    try merge(realm(base), restored, realm(changed), .theirs)
    let one = try #require(try state(restored)[1])
    #expect(one.friend == 2 && one.friends == [2, 3] && one.age == 5)
    #expect(try state(restored)[2]?.age == 7)
  }

  @Test("a new link to an object that the other side deleted is a conflict")
  func linkToDeleted() throws {
    let base = ["{\"id\":1}", "{\"id\":2,\"friend\":3}", "{\"id\":3}"]
    let without = ["{\"id\":1}"], linking = ["{\"id\":1,\"friend\":2}", "{\"id\":2,\"friend\":3}", "{\"id\":3}"]
    let ours = try realm(linking)
    let conflicts = try merge(realm(base), ours, realm(without))
    // What the kept object links to is kept as well.
    #expect(
      conflicts.map(\.reason).sorted() == [
        "deleted in THEIRS, but Item/1.json in OURS links to it",
        "deleted in THEIRS, but Item/2.json in OURS links to it",
      ]
    )
    #expect(try state(ours)[1]?.friend == 2)
    #expect(try state(ours)[2]?.friend == 3)
    let preferring = try realm(linking)
    try merge(realm(base), preferring, realm(without), .theirs)
    #expect(try state(preferring) == [1: Item(1)])

    let deleting = try realm(without)
    #expect(
      try merge(realm(base), deleting, realm(linking)).map(\.reason)
        == ["deleted in OURS, but Item/1.json in THEIRS links to it", "links in THEIRS to an object that OURS deleted"]
    )
    #expect(try state(deleting) == [1: Item(1)])
    // Other values of the object are merged; OUT has the link of OURS.
    for side in [nil, RealmMerge.Side.ours] {
      let ours = try realm(["{\"id\":1,\"friend\":4}", "{\"id\":4}"])
      let base = ["{\"id\":1,\"friend\":4}", "{\"id\":2}", "{\"id\":4}"]
      let theirs = ["{\"id\":1,\"friend\":2,\"age\":5}", "{\"id\":2}", "{\"id\":4}", "{\"id\":5,\"friend\":2}"]
      let conflicts = try merge(realm(base), ours, realm(theirs), side)
      #expect(conflicts.map(\.name).sorted() == ["1.json", "2.json", "5.json"])
      #expect(conflicts.first { $0.name == "1.json" }?.properties == ["friend"])
      #expect(conflicts.first { $0.name == "5.json" }?.theirs?.contains("\"friend\":2") == true)
      let one = try #require(try state(ours)[1])
      #expect(one.friend == 4 && one.age == 5)
      #expect(try state(ours)[5]?.friend == nil)
    }
    let restoring = try realm(without)
    try merge(realm(base), restoring, realm(linking), .theirs)
    #expect(try state(restoring)[1]?.friend == 2)
    #expect(try state(restoring)[2]?.friend == 3)
  }

  @Test("if theirs is preferred, long chains of objects that ours deleted are created again")
  func longChain() throws {
    let count = 5000
    var texts = (1..<count).map { "{\"id\":\($0),\"friend\":\($0 + 1)}" } + ["{\"id\":\(count)}", "{\"id\":0}"]
    let base = try realm(texts), ours = try realm(["{\"id\":0}"])
    texts[count] = "{\"id\":0,\"friend\":1}"
    #expect(try merge(base, ours, realm(texts), .theirs).count == count)
    let snapshot = try ours.realm.latest(), expected = try realm(texts).realm.latest()
    var differences = 0
    try RealmComparison(snapshot, expected, classes: nil).run { _ in differences += 1 }
    #expect(differences == 0)
  }

  @Test("an object with another primary key is another object")
  func primaryKeyChange() throws {
    let base = ["{\"id\":1,\"age\":5}", "{\"id\":2,\"friend\":1}"]
    let ours = try realm(["{\"id\":9,\"age\":5}", "{\"id\":2,\"friend\":9}"])
    #expect(try merge(realm(base), ours, realm(["{\"id\":1,\"age\":5}", "{\"id\":2,\"age\":3,\"friend\":1}"])).isEmpty)
    #expect(try state(ours)[9]?.age == 5 && state(ours)[2]?.friend == 9 && state(ours)[2]?.age == 3)
    #expect(try state(ours)[1] == nil)
  }

  // MARK: objects without a primary key

  private func notes(_ texts: [(key: Int64, text: String)]) throws -> RealmWriter {
    try realm([:]) { transaction in
      let table = try transaction.addClass("Note", [ColumnSpec("text", .string)])
      _ = try transaction.addColumn(table, ColumnSpec("next", .link, target: table))
      _ = try transaction.addColumn(table, ColumnSpec("all", .link, collection: .list, target: table))
      let applier = RecordApplier<JSONText>()
      for (key, text) in texts {
        let text = try JSONText(Array(text.utf8))
        _ = try applier.apply(text, at: text, to: .keyed(ObjKey(key)), of: table, in: transaction)
      }
      for record in applier.waiting { _ = try applier.finish(record, record.place, in: transaction) }
    }
  }

  @Test("new objects of both sides without a primary key are all kept, and links follow those with new keys")
  func newKeys() throws {
    let base = try notes([(0, "{\"text\":\"a\",\"all\":[0]}")])
    let ours = try notes([(0, "{\"text\":\"a\",\"all\":[1,0]}"), (1, "{\"text\":\"b\"}")])
    let theirs = try notes([
      (0, "{\"text\":\"a\",\"all\":[0,1,2]}"), (1, "{\"text\":\"c\",\"next\":2}"), (2, "{\"text\":\"d\",\"next\":1}"),
    ])
    #expect(try merge(base, ours, theirs).isEmpty)
    #expect(
      try texts(ours, of: "Note") == [
        "{\"text\":\"a\",\"next\":null,\"all\":[1,0,3,2]}", "{\"text\":\"b\",\"next\":null,\"all\":[]}",
        "{\"text\":\"d\",\"next\":3,\"all\":[]}", "{\"text\":\"c\",\"next\":2,\"all\":[]}",
      ]
    )
    // The same additions are one.
    let same = try notes([(0, "{\"text\":\"a\",\"all\":[0]}"), (1, "{\"text\":\"b\"}")])
    let again = try notes([(0, "{\"text\":\"a\",\"all\":[0]}"), (1, "{\"text\":\"b\"}")])
    #expect(try merge(base, same, again).isEmpty)
    #expect(try texts(same, of: "Note").count == 2)
  }

  @Test("without a base, equal objects are one, and objects that differ are a conflict")
  func union() throws {
    let ours = try realm(["{\"id\":1,\"age\":1}", "{\"id\":2,\"tags\":[\"a\"]}", "{\"id\":3,\"friend\":1}"])
    let theirs = try realm(["{\"id\":1,\"age\":2}", "{\"id\":2,\"tags\":[\"b\"]}", "{\"id\":4,\"friend\":2}"])
    let conflicts = try merge(nil, ours, theirs)
    #expect(conflicts.map(\.name) == ["1.json"] && conflicts.first?.properties == ["age"])
    let found = try state(ours)
    #expect(found.keys.sorted() == [1, 2, 3, 4])
    #expect(found[1]?.age == 1 && found[2]?.tags == ["a", "b"] && found[4]?.friend == 2)
    let notes = try [notes([(0, "{\"text\":\"a\"}")]), notes([(0, "{\"text\":\"b\"}"), (1, "{\"text\":\"c\"}")])]
    #expect(try merge(nil, notes[0], notes[1]).first?.reason.contains("no primary key") == true)
    #expect(try texts(notes[0], of: "Note").count == 2)
  }

  // MARK: schemas

  @Test("additions to the schema are merged with their values")
  func schemaAdditions() throws {
    let base = try realm(["{\"id\":1}", "{\"id\":2}"])
    let ours = try realm([:]) { transaction in
      let item = try transaction.table(ofClass: "Item")
      _ = try transaction.addColumn(item, ColumnSpec("ours", .int))
      try put(["{\"id\":1,\"ours\":7}", "{\"id\":2}"], in: "Item", transaction)
    }
    let theirs = try realm([:]) { transaction in
      let item = try transaction.table(ofClass: "Item")
      let home = try transaction.table(ofClass: "Home")
      _ = try transaction.addColumn(item, ColumnSpec("theirs", .string, collection: .list))
      _ = try transaction.addColumn(home, ColumnSpec("city", .string, isNullable: true))
      _ = try transaction.addClass("Extra", [ColumnSpec("id", .int)], primaryKey: "id")
      let texts = ["{\"id\":1,\"home\":{\"city\":\"x\"}}", "{\"id\":2,\"theirs\":[\"b\"]}"]
      try put(texts, in: "Item", transaction)
      try put(["{\"id\":5}"], in: "Extra", transaction)
    }
    #expect(try merge(base, ours, theirs).isEmpty)
    let found = try texts(ours)
    #expect(found[0].hasSuffix("\"ours\":7,\"theirs\":[]}") && found[0].contains("\"city\":\"x\""))
    #expect(found[1].hasSuffix("\"ours\":0,\"theirs\":[\"b\"]}"))
    #expect(try texts(ours, of: "Extra") == ["{\"id\":5}"])
  }

  @Test("different definitions of a property, and removed ones whose values changed, refuse the merge")
  func schemaConflicts() throws {
    func adding(_ column: ColumnSpec) throws -> RealmWriter {
      try realm([:]) { transaction in
        _ = try transaction.addColumn(try transaction.table(ofClass: "Item"), column)
      }
    }
    func removing(_ name: String, _ texts: [String] = ["{\"id\":1}"]) throws -> RealmWriter {
      try realm([:]) { transaction in
        let item = try transaction.table(ofClass: "Item")
        let column = try #require(try transaction.columns(of: item).first { $0.name == name })
        try transaction.removeColumn(item, column.key)
        try put(texts, in: "Item", transaction)
      }
    }
    func refusal(_ base: RealmWriter?, _ ours: RealmWriter, _ theirs: RealmWriter) throws -> String {
      let before = try ours.realm.latest().version
      defer { #expect((try? ours.realm.latest().version) == before) }
      do { try merge(base, ours, theirs) } catch { return "\(error)" }
      return ""
    }
    let types = try refusal(realm(), adding(ColumnSpec("x", .int)), adding(ColumnSpec("x", .string)))
    #expect(types.contains("Item.x is int in OURS and string in THEIRS"))
    let base = try realm(["{\"id\":1,\"age\":5}"])
    #expect(
      try refusal(base, realm(["{\"id\":1,\"age\":6}"]), removing("age")).contains("Item.age is removed in THEIRS")
    )
    #expect(try refusal(base, removing("age"), realm(["{\"id\":1,\"age\":6}"])).contains("Item.age is removed in OURS"))
    // Nulls of one side do not become values of a property that the other side made required.
    let optional = ColumnSpec("x", .int, isNullable: true), required = ColumnSpec("x", .int)
    for refused in [
      try refusal(adding(optional), adding(optional), adding(required)),
      try refusal(adding(optional), adding(required), adding(optional)),
    ] {
      #expect(refused.contains("Item.x is int") && refused.contains("int? in"))
    }
    #expect(try merge(adding(required), adding(optional), adding(required)).isEmpty)
    #expect(try merge(adding(required), adding(required), adding(optional)).isEmpty)
    // A property of an embedded class concerns only the objects that contain such objects.
    func withoutZip() throws -> RealmWriter {
      try realm([:]) { transaction in
        let home = try transaction.table(ofClass: "Home")
        let column = try #require(try transaction.columns(of: home).first { $0.name == "zip" })
        try transaction.removeColumn(home, column.key)
        try put(["{\"id\":1,\"home\":{\"street\":\"a\"}}"], in: "Item", transaction)
      }
    }
    let housed = try realm(["{\"id\":1,\"home\":{\"street\":\"a\",\"zip\":4}}"])
    let moved = "{\"id\":1,\"home\":{\"street\":\"a\",\"zip\":5}}"
    let older = "{\"id\":1,\"age\":7,\"home\":{\"street\":\"a\",\"zip\":4}}"
    #expect(try refusal(housed, realm([moved]), withoutZip()).contains("Home.zip is removed in THEIRS"))
    #expect(try refusal(housed, withoutZip(), realm([moved])).contains("Home.zip is removed in OURS"))
    let (aged, zipless) = try (realm([older]), withoutZip())
    #expect(try merge(housed, aged, withoutZip()).isEmpty)
    #expect(try merge(housed, zipless, realm([older])).isEmpty)
    for writer in [aged, zipless] {
      #expect(try texts(writer)[0].contains("\"age\":7") && texts(writer)[0].contains("\"home\":{\"street\":\"a\"}"))
    }
    // A class may be removed if the other side only deleted objects of it.
    func extra(_ count: Int?) throws -> RealmWriter {
      try realm([:]) { transaction in
        guard let count else { return }
        _ = try transaction.addClass("Extra", [ColumnSpec("id", .int)], primaryKey: "id")
        try put((0..<count).map { "{\"id\":\($0)}" }, in: "Extra", transaction)
      }
    }
    #expect(try refusal(extra(2), extra(3), extra(nil)).contains("class Extra is removed in THEIRS"))
    #expect(try refusal(extra(2), extra(nil), extra(3)).contains("class Extra is removed in OURS"))
    #expect(try merge(extra(2), extra(1), extra(nil)).isEmpty)
    #expect(try merge(extra(2), extra(nil), extra(1)).isEmpty)
    // Unchanged values are removed with the property.
    let ours = try realm(["{\"id\":1,\"age\":5,\"name\":\"n\"}"])
    #expect(try merge(base, ours, removing("age")).isEmpty)
    #expect(try !texts(ours)[0].contains("age"))
    let without = try removing("age")
    #expect(try merge(base, without, realm(["{\"id\":1,\"age\":5,\"name\":\"n\"}"])).isEmpty)
    #expect(try texts(without)[0].contains("\"name\":\"n\"") && !texts(without)[0].contains("age"))
  }

  // MARK: random merges

  @Test("random merges agree with a model, and commute where nothing conflicts")
  func random() throws {
    let count = Seeds.only == nil ? Self.environment["MERGES"].flatMap { UInt64($0) } ?? 200 : 1
    for seed in Seeds.first..<Seeds.first + count { try round(seed) }
  }

  private func round(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var base: State = [:]
    for id in 0..<random.below(8) { base[id] = Item(id) }
    for _ in 0..<20 { edit(&base, side: 0, &random) }
    var (one, two) = (base, base)
    for _ in 0..<random.below(8) { edit(&one, side: 1, &random) }
    for _ in 0..<random.below(8) { edit(&two, side: 2, &random) }
    let old = try realm(base), theirs = try realm(two)
    let ours = try realm(one), conflicts = try merge(old, ours, theirs)
    check(base, one, two, try state(ours), conflicts, seed)
    let swapped = try realm(two), others = try merge(old, swapped, realm(one))
    #expect(conflicts.isEmpty == others.isEmpty, "seed \(seed)")
    if conflicts.isEmpty { #expect(try state(ours) == state(swapped), "seed \(seed)") }
    // Merging a side with itself, or with the base, changes nothing; again, neither.
    for (first, second) in [(one, one), (one, base)] {
      let same = try realm(first), version = try same.realm.latest().version
      #expect(try merge(old, same, realm(second)).isEmpty, "seed \(seed)")
      #expect(try same.realm.latest().version == version, "seed \(seed)")
    }
    if conflicts.isEmpty {
      let version = try ours.realm.latest().version
      #expect(try merge(theirs, ours, theirs).isEmpty)
      #expect(try ours.realm.latest().version == version, "seed \(seed)")
    }
  }

  private func edit(_ state: inout State, side: Int, _ random: inout SplitMix64) {
    let ids = state.keys.sorted()
    guard let id = ids.randomElement(using: &random), random.below(12) > 0, var item = state[id] else {
      let id = random.below(3) == 0 ? 100 + random.below(3) : 1000 * side + random.below(20)
      if state[id] == nil { state[id] = Item(id) }
      return
    }
    let fresh = 1000 * side + random.below(900)
    switch random.below(11) {
    case 0: item.name = random.below(4) == 0 ? nil : "n\(random.below(5))"
    case 1: item.age = random.below(5)
    case 2: if !item.scores.contains(fresh) { item.scores.insert(fresh, at: random.below(item.scores.count + 1)) }
    case 3: if !item.scores.isEmpty { item.scores.remove(at: random.below(item.scores.count)) }
    case 4: item.tags.formSymmetricDifference(["t\(random.below(6))"])
    case 5: item.counts["k\(random.below(3))"] = random.below(3)
    case 6: item.counts["k\(random.below(3))"] = nil
    case 7: item.home = random.below(4) == 0 ? nil : Home(street: item.home?.street, zip: random.below(4))
    case 8: if item.home != nil { item.home?.street = "s\(random.below(4))" }
    case 9: item.friend = ids.randomElement(using: &random)
    default:
      if random.below(2) == 0 {
        state[id] = nil
        for other in ids where other != id {
          if state[other]?.friend == id { state[other]?.friend = nil }
          state[other]?.friends.removeAll { $0 == id }
        }
        return
      }
      if let other = ids.randomElement(using: &random) { item.friends.append(other) }
    }
    state[id] = item
  }

  private func check(
    _ base: State,
    _ one: State,
    _ two: State,
    _ merged: State,
    _ conflicts: [RealmMerge.Conflict],
    _ seed: UInt64
  ) {
    let reported = Dictionary(uniqueKeysWithValues: conflicts.map { ($0.name, $0) })
    let (removed, staying) = (Set(base.keys).subtracting(one.keys), Set(merged.keys).subtracting(two.keys))
    for id in Set(base.keys).union(one.keys).union(two.keys).sorted() {
      let (old, ours, theirs, out) = (base[id], one[id], two[id], merged[id])
      let conflict = reported["\(id).json"], place = "seed \(seed), object \(id): \(String(describing: conflict))"
      guard let ours, let theirs else {
        let wasChanged = (ours ?? theirs) != old
        if old == nil {
          #expect(out != nil, "\(place)")
        } else {
          if ours != nil || theirs != nil, wasChanged { #expect(conflict != nil, "\(place)") }
          #expect((out != nil) == (ours != nil && conflict != nil), "\(place)")
        }
        continue
      }
      guard let out else {
        Issue.record("missing: \(place)")
        continue
      }
      let paths = Set(conflict?.properties ?? [])
      func check<T: Equatable>(_ path: String, _ value: (Item?) -> T?) {
        let (b, o, t) = (value(old), value(ours), value(theirs))
        let isConflict = o != t && b != o && b != t || old == nil && o != t
        #expect(paths.contains(path) == isConflict, "\(path), \(place)")
        #expect(value(out) == (o == t || b == t && old != nil ? o : isConflict ? o : t), "\(path), \(place)")
      }
      check("name") { $0?.name.map { Optional($0) } ?? "-" }
      check("age") { $0?.age }
      let sets = (old?.tags ?? [], ours.tags, theirs.tags)
      let kept = sets.0.intersection(sets.1).intersection(sets.2)
      #expect(out.tags == kept.union(sets.1.subtracting(sets.0)).union(sets.2.subtracting(sets.0)), "\(place)")
      for key in ["k0", "k1", "k2"] {
        let (b, o, t) = (old?.counts[key], ours.counts[key], theirs.counts[key])
        let isConflict = o != t && b != o && b != t
        #expect(paths.contains("counts[\(key)]") == isConflict, "\(place)")
        #expect(out.counts[key] == (b == o && !isConflict ? t : o), "\(place)")
      }
      if ours.home != nil, theirs.home != nil, old?.home != nil {
        check("home.street") { $0?.home?.street ?? "-" }
        check("home.zip") { $0?.home?.zip }
      }
      checkList(old?.scores, ours.scores, theirs.scores, out.scores, paths.contains { $0.hasPrefix("scores") }, place)
      checkFriend(old, ours, theirs, out, removed, staying, paths.contains("friend"), place)
      checkFriends(old, ours, theirs, out, removed, staying, paths, place)
      #expect(out.friends.allSatisfy { merged[$0] != nil } && out.friend.map { merged[$0] != nil } ?? true, "\(place)")
    }
  }

  /// Checks a link. `removed` has the objects that ours deleted, `kept` those that stay although theirs deleted them.
  private func checkFriend(
    _ old: Item?,
    _ ours: Item,
    _ theirs: Item,
    _ out: Item,
    _ removed: Set<Int>,
    _ kept: Set<Int>,
    _ isReported: Bool,
    _ place: String
  ) {
    let (b, o) = (old?.friend, ours.friend)
    var t = theirs.friend
    if t == nil, let b, kept.contains(b) { t = b }
    let isConflict = o != t && (old == nil || b != t && (b != o || removed.contains(t ?? -1)))
    #expect(isReported == isConflict, "friend, \(place)")
    #expect(out.friend == (isConflict || old == nil || b == t ? o : b == o ? t : o), "friend, \(place)")
  }

  /// Checks a list of links, which may contain an object several times.
  private func checkFriends(
    _ old: Item?,
    _ ours: Item,
    _ theirs: Item,
    _ out: Item,
    _ removed: Set<Int>,
    _ kept: Set<Int>,
    _ paths: Set<String>,
    _ place: String
  ) {
    let (b, o, t) = (old?.friends ?? [], ours.friends, theirs.friends)
    let isReported = paths.contains { $0.hasPrefix("friends") }
    if old == nil { return #expect(out.friends == o && isReported == (o != t), "friends, \(place)") }
    if kept.intersection(b).isEmpty {
      if b == t || o == t { #expect(out.friends == o && !isReported, "friends, \(place)") }
      if b == o, removed.isDisjoint(with: t) { #expect(out.friends == t && !isReported, "friends, \(place)") }
    }
    // A link of theirs to an object that ours deleted leaves the list of ours.
    let added = Set(t).subtracting(b)
    if !removed.isDisjoint(with: added) { #expect(out.friends == o && isReported, "friends, \(place)") }
    #expect(Set(out.friends).isSubset(of: Set(o).union(t).union(kept)), "friends, \(place)")
    if !isReported {
      #expect(Set(o).subtracting(b).union(added).isSubset(of: out.friends), "friends, \(place)")
    }
  }

  /// Checks a list of distinct elements: each side's elements keep their order.
  private func checkList(
    _ base: [Int]?,
    _ ours: [Int],
    _ theirs: [Int],
    _ merged: [Int],
    _ isConflict: Bool,
    _ place: String
  ) {
    if isConflict { return #expect(ours != theirs && base != ours && base != theirs, "\(place)") }
    let (b, o, t) = (Set(base ?? []), Set(ours), Set(theirs))
    let expected = b.intersection(o).intersection(t).union(o.subtracting(b)).union(t.subtracting(b))
    #expect(Set(merged) == expected && merged.count == expected.count, "\(merged), \(place)")
    #expect(merged.filter(o.contains) == ours.filter(expected.contains), "\(merged), \(place)")
    #expect(merged.filter(t.contains) == theirs.filter(expected.contains), "\(merged), \(place)")
  }
}
