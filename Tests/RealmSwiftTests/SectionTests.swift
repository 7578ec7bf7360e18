// Sectioned results: the sections, and the notifications of their observers.

import Foundation
import RealmSwift
import Testing

extension Dog {
  fileprivate var initial: String { String(name.prefix(1)) }
}

@Suite struct SectionTests {
  private let realm: Realm

  init() throws {
    let types: [ObjectBase.Type] = [Dog.self, Person.self, Address.self, Street.self, Everything.self]
    realm = try Realm(configuration: .init(inMemoryIdentifier: "sections \(UUID())", objectTypes: types))
    try realm.write {
      for name in ["banana", "box", "apple", "chalk"] { realm.add(Dog(value: ["name": name])) }
    }
  }

  @Test("sections by a computed property are ordered by its value")
  func objects() throws {
    let sections = realm.objects(Dog.self).sectioned(by: \.initial)
    #expect(sections.allKeys == ["a", "b", "c"])
    #expect(sections.map { $0.map(\.name) } == [["apple"], ["banana", "box"], ["chalk"]])
    #expect(sections[IndexPath(item: 1, section: 1)].name == "box")
    #expect(realm.objects(Dog.self).sectioned(by: \.initial, ascending: false).allKeys == ["c", "b", "a"])
    let byBlock = realm.objects(Dog.self)
      .sectioned(by: { $0.name.count }, sortDescriptors: [SortDescriptor(keyPath: "name", ascending: false)])
    #expect(byBlock.allKeys == [5, 3, 6])
    #expect(sections == sections)
    #expect(sections != realm.objects(Dog.self).sectioned(by: \.initial))
  }

  @Test("sections can be computed by a closure")
  func values() throws {
    let owner = try realm.write {
      realm.create(Everything.self, value: ["numbers": [5, 1, 4, 2], "optionals": ["b", nil]])
    }
    let parity = owner.numbers.sectioned(by: { $0 % 2 == 0 ? "even" : "odd" })
    #expect(parity.allKeys == ["odd", "even"])
    #expect(parity.map(Array.init) == [[1, 5], [2, 4]])
    #expect(owner.optionals.sectioned(by: { $0 == nil }, ascending: false).allKeys == [false, true])
  }

  @Test("sections are live, frozen ones do not change")
  func versions() throws {
    let sections = realm.objects(Dog.self).sectioned(by: \.initial), section = sections[0]
    let frozen = sections.freeze(), frozenSection = section.freeze()
    try realm.write { realm.add(Dog(value: ["name": "aa"])) }
    #expect(section.map(\.name) == ["aa", "apple"])
    #expect(frozenSection.map(\.name) == ["apple"])
    #expect(frozen.isFrozen && frozen[0].count == 1)
    #expect(try #require(frozen.thaw())[0].count == 2)
    #expect(try #require(frozenSection.thaw()).key == "a")
    try realm.write { realm.deleteAll() }
    #expect(sections.isEmpty)
    #expect(section.isEmpty)
    #expect(frozen.count == 3)
  }

  private func text<C>(_ change: SectionedResultsChange<C>) -> String {
    func paths(_ paths: [IndexPath]) -> String { paths.map { "\($0.section).\($0.item)" }.joined(separator: " ") }
    guard case .update(_, let gone, let come, let changed, let newSections, let oldSections) = change else {
      return "initial"
    }
    return
      "-[\(paths(gone))] +[\(paths(come))] ~[\(paths(changed))] sections -\(Array(oldSections)) +\(Array(newSections))"
  }

  @Test("an observer is notified of inserted and deleted sections and elements")
  func observing() throws {
    let sections = realm.objects(Dog.self).sectioned(by: \.initial), configuration = realm.configuration
    var told: [String] = [], ofB: [String] = [], ofAge: [String] = []
    let tokens = [
      sections.observe { told.append(text($0)) }, sections[1].observe { ofB.append(text($0)) },
      sections.observe(keyPaths: [\.age]) { ofAge.append(text($0)) },
    ]
    func elsewhere(_ body: @escaping (Realm, (String) -> Results<Dog>) -> Void) throws {
      try onAnotherThread {
        let realm = try Realm(configuration: configuration)
        try realm.write { body(realm) { realm.objects(Dog.self).filter("name == %@", $0) } }
      }
      #expect(realm.refresh())
    }
    try elsewhere { realm, _ in realm.create(Person.self, value: ["name": "Ada"]) }
    try elsewhere { realm, named in
      realm.delete(named("banana"))
      realm.delete(named("apple"))
      named("box").first?.name = "bog"
      realm.add(Dog(value: ["name": "zebra"]))
    }
    try elsewhere { _, named in named("bog").first?.name = "bogg" }
    let first = "-[1.0 1.1] +[0.0 2.0] ~[] sections -[0] +[2]"
    #expect(told == ["initial", first, "-[] +[] ~[0.0] sections -[] +[]"])
    #expect(ofB == ["initial", "-[1.0 1.1] +[0.0] ~[] sections -[] +[]", "-[] +[] ~[0.0] sections -[] +[]"])
    #expect(ofAge == ["initial", "-[1.0] +[2.0] ~[] sections -[0] +[2]"])
    tokens.forEach { $0.invalidate() }
  }
}
