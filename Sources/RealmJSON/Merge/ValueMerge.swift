// Merges values of three versions, as texts: a base and the values that two sides made of it. What only one side
// changed is taken from that side; what both changed to different values is a conflict.
//
// Lists are merged by their changes (`ListChange`), sets and dictionaries by their elements, embedded objects by their
// properties. Without a base, equal values are merged, sets and dictionaries are united, and the rest is a conflict.

import RealmPages

/// Merges values of properties.
///
/// Swapping the two sides gives the same result, except at conflicts.
package struct ValueMerge {
  /// The way in which a value is merged.
  private indirect enum Shape {
    case single
    /// A link to the class.
    case link(String)
    case mixed
    /// An object of the class.
    case embedded(String)
    case list(Shape)
    case set(Shape)
    case dictionary(Shape)
  }

  /// True if conflicts are decided for the values of the other side.
  private let prefersTheirs: Bool
  private let kinds: [ExactName: TableKind]
  private let properties: [ExactName: [[UInt8]: Shape]]
  /// The paths of the values in conflict since the last call of `takeConflicts`.
  private var conflicts: [String] = []

  /// Prepares merging values of a realm with this schema. A value in conflict becomes that of ours, or that of theirs
  /// if `prefersTheirs` is true.
  package init(_ schema: SchemaDescription, prefersTheirs: Bool) {
    self.prefersTheirs = prefersTheirs
    let kinds = Dictionary(schema.classes.map { (ExactName($0.name), $0.kind) }) { first, _ in first }
    self.kinds = kinds
    properties = Dictionary(
      schema.classes.map { description in
        let shapes = description.properties.map { (Array($0.name.utf8), Self.shape(of: $0, kinds)) }
        return (ExactName(description.name), Dictionary(shapes) { first, _ in first })
      }
    ) { first, _ in first }
  }

  private static func shape(of property: PropertyDescription, _ kinds: [ExactName: TableKind]) -> Shape {
    let element: Shape
    switch (property.type, property.target) {
    case (.mixed, _): element = .mixed
    case (.link, let target?): element = kinds[ExactName(target)] == .embedded ? .embedded(target) : .link(target)
    default: element = .single
    }
    return switch property.collection {
    case nil: element
    case .list: .list(element)
    case .set: .set(element)
    case .dictionary: .dictionary(element)
    }
  }

  private func shape(_ property: [UInt8], of className: String) -> Shape {
    properties[ExactName(className)]?[property] ?? .single
  }

  // MARK: merging

  /// Returns the paths of the values in conflict since the last call, such as `address.city` or `scores[2]`.
  package mutating func takeConflicts() -> [String] {
    defer { conflicts = [] }
    return conflicts
  }

  /// Merges the values of a property. `base` is nil if there is no common value.
  ///
  /// Cost: the size of the values; for lists, see `ListChange.changes`.
  package mutating func merge(
    base: TextValue?,
    ours: TextValue,
    theirs: TextValue,
    property: String,
    of className: String
  ) -> TextValue {
    merge(base, ours, theirs, shape(Array(property.utf8), of: className), property)
  }

  /// Merges whole objects of a class, property by property.
  package mutating func merge(
    base: TextValue?,
    ours: TextValue,
    theirs: TextValue,
    of className: String
  ) -> TextValue {
    merge(base, ours, theirs, .embedded(className), "")
  }

  private mutating func merge(
    _ base: TextValue?,
    _ ours: TextValue,
    _ theirs: TextValue,
    _ shape: Shape,
    _ path: String
  ) -> TextValue {
    let (old, one, two) = (base.map { normal($0, shape) }, normal(ours, shape), normal(theirs, shape))
    if one == two || old == two { return ours }
    if old == one { return theirs }
    return mergeParts(base, ours, theirs, shape, path) ?? conflict(ours, theirs, path)
  }

  private mutating func conflict<T>(_ ours: T, _ theirs: T, _ path: String) -> T {
    conflicts.append(path)
    return prefersTheirs ? theirs : ours
  }

  /// Merges the parts of values that both sides changed; nil if they have no parts.
  private mutating func mergeParts(
    _ base: TextValue?,
    _ ours: TextValue,
    _ theirs: TextValue,
    _ shape: Shape,
    _ path: String
  ) -> TextValue? {
    switch shape {
    case .single, .link: return nil
    case .embedded(let className):
      guard case .object(let one) = ours, case .object(let two) = theirs else { return nil }
      let shapes = properties[ExactName(className)] ?? [:]
      let members = merge(Self.members(base), one, two, path.isEmpty ? "" : path + ".", "") { name in
        shapes[name] ?? .single
      }
      return TextValue(members: members)
    case .list(let element):
      guard let base, let old = base.elements, let one = ours.elements, let two = theirs.elements else { return nil }
      return .array(mergeList(old, one, two, element, path))
    case .set(let element):
      guard let one = set(ours, element), let two = set(theirs, element) else { return nil }
      let old = base.flatMap { set($0, element) } ?? []
      let kept = old.intersection(one).intersection(two)
      return .array(TextValue.set(of: kept.union(one.subtracting(old)).union(two.subtracting(old))))
    case .dictionary(let element):
      guard let one = Self.entries(ours), let two = Self.entries(theirs) else { return nil }
      return Self.dictionary(merge(base.flatMap(Self.entries), one, two, path + "[", "]") { _ in element })
    case .mixed:
      if ours.elements != nil, theirs.elements != nil {
        return mergeParts(base, ours, theirs, .list(.mixed), path)
      }
      if Self.isDictionary(ours), Self.isDictionary(theirs), base.map(Self.isDictionary) ?? true {
        return mergeParts(base, ours, theirs, .dictionary(.mixed), path)
      }
      return nil
    }
  }

  private static func members(_ value: TextValue?) -> [TextValue.Member]? {
    if case .object(let members)? = value { members } else { nil }
  }

  /// Merges members by name. A missing one equals another missing one.
  private mutating func merge(
    _ base: [TextValue.Member]?,
    _ ours: [TextValue.Member],
    _ theirs: [TextValue.Member],
    _ before: String,
    _ after: String,
    _ shape: ([UInt8]) -> Shape
  ) -> [TextValue.Member] {
    func byName(_ members: [TextValue.Member]?) -> [[UInt8]: TextValue] {
      Dictionary((members ?? []).map { ($0.name, $0.value) }) { first, _ in first }
    }
    let (base, ours, theirs) = (byName(base), byName(ours), byName(theirs))
    var merged: [TextValue.Member] = []
    for name in Set(ours.keys).union(theirs.keys).sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      let path = before + String(decoding: name, as: UTF8.self).printable + after
      let value = merge(base[name], ours[name], theirs[name], shape(name), path)
      if let value { merged.append(TextValue.Member(name: name, value: value)) }
    }
    return merged
  }

  private mutating func merge(
    _ base: TextValue?,
    _ ours: TextValue?,
    _ theirs: TextValue?,
    _ shape: Shape,
    _ path: String
  ) -> TextValue? {
    if let ours, let theirs { return merge(base, ours, theirs, shape, path) }
    let old = base.map { normal($0, shape) }
    if old == ours.map({ normal($0, shape) }) { return theirs }
    if old == theirs.map({ normal($0, shape) }) { return ours }
    return conflict(ours, theirs, path)
  }

  private mutating func mergeList(
    _ base: [TextValue],
    _ ours: [TextValue],
    _ theirs: [TextValue],
    _ shape: Shape,
    _ path: String
  ) -> [TextValue] {
    let (base, ours, theirs) = (
      base.map { normal($0, shape) }, ours.map { normal($0, shape) }, theirs.map { normal($0, shape) }
    )
    let regions = ListRegion.regions(
      ours: ListChange.changes(from: base, to: ours),
      theirs: ListChange.changes(from: base, to: theirs)
    )
    var merged: [TextValue] = [], place = 0
    for region in regions {
      merged += base[place..<region.range.lowerBound]
      place = region.range.upperBound
      let one = region.elements(of: base, after: region.ours), two = region.elements(of: base, after: region.theirs)
      if region.theirs.isEmpty || one == two {
        merged += one
      } else if region.ours.isEmpty {
        merged += two
      } else if one.count == region.range.count, two.count == one.count {
        for (offset, index) in region.range.enumerated() {
          merged.append(merge(base[index], one[offset], two[offset], shape, "\(path)[\(index)]"))
        }
      } else {
        merged += conflict(one, two, path)
      }
    }
    return merged + base[place...]
  }

  // MARK: forms of values

  /// Returns a value in which the elements of sets are sorted, so that equal sets are equal values.
  private func normal(_ value: TextValue, _ shape: Shape) -> TextValue {
    switch (shape, value) {
    case (.set(let element), .array(let elements)):
      .array(TextValue.set(of: elements.map { normal($0, element) }))
    case (.list(let element), .array(let elements)): .array(elements.map { normal($0, element) })
    case (.embedded(let className), .object(let members)):
      .object(
        members.map { member in
          TextValue.Member(name: member.name, value: normal(member.value, self.shape(member.name, of: className)))
        }
      )
    case (.dictionary(.embedded(let className)), .object):
      Self.entries(value).map { entries in
        Self.dictionary(
          entries.map { TextValue.Member(name: $0.name, value: normal($0.value, .embedded(className))) }
        )
      } ?? value
    default: value
    }
  }

  private func set(_ value: TextValue, _ element: Shape) -> Set<TextValue>? {
    value.elements.map { Set($0.map { normal($0, element) }) }
  }

  /// Returns the entries of a dictionary; nil if its text is not an object.
  private static func entries(_ value: TextValue) -> [TextValue.Member]? {
    if case .object(let members) = value["$dictionary"] ?? value { members } else { nil }
  }

  private static func dictionary(_ entries: [TextValue.Member]) -> TextValue {
    let needsWrapper = entries.contains { $0.name.first == UInt8(ascii: "$") }
    let object = TextValue(members: entries)
    return needsWrapper ? .object([TextValue.Member(name: Array("$dictionary".utf8), value: object)]) : object
  }

  /// True for a dictionary in a Mixed, in contrast to a value in Extended JSON.
  private static func isDictionary(_ value: TextValue) -> Bool {
    guard case .object(let members) = value else { return false }
    return value["$dictionary"] != nil || !members.contains { $0.name.first == UInt8(ascii: "$") }
  }

  // MARK: links

  /// Calls `body` with each link in a value of a property: the class, and the primary key of the target as text.
  package func forEachLink<E: Error>(
    in value: TextValue,
    property: String,
    of className: String,
    _ body: (_ target: String, _ id: [UInt8]) throws(E) -> Void
  ) throws(E) {
    try forEachLink(in: value, shape(Array(property.utf8), of: className), body)
  }

  private func forEachLink<E: Error>(
    in value: TextValue,
    _ shape: Shape,
    _ body: (_ target: String, _ id: [UInt8]) throws(E) -> Void
  ) throws(E) {
    switch (shape, value) {
    case (.link(let target), _):
      if value != .null { try body(target, (value["$id"] ?? value).bytes) }
    case (.embedded(let className), .object(let members)):
      for member in members { try forEachLink(in: member.value, self.shape(member.name, of: className), body) }
    case (.list(let element), .array(let elements)), (.set(let element), .array(let elements)):
      for member in elements { try forEachLink(in: member, element, body) }
    case (.dictionary(let element), _):
      for entry in Self.entries(value) ?? [] { try forEachLink(in: entry.value, element, body) }
    case (.mixed, .array(let elements)):
      for element in elements { try forEachLink(in: element, .mixed, body) }
    case (.mixed, .object):
      if case .string(let target)? = value["$ref"], let id = value["$id"] {
        try body(String(decoding: target, as: UTF8.self), id.bytes)
      } else if Self.isDictionary(value) {
        try forEachLink(in: value, .dictionary(.mixed), body)
      }
    default: break
    }
  }

  /// Returns the value that a property has once the objects for which `isDeleted` returns true are deleted.
  package func removingLinks(
    in value: TextValue,
    property: String,
    of className: String,
    where isDeleted: (_ target: String, _ id: [UInt8]) -> Bool
  ) -> TextValue {
    removingLinks(in: value, shape(Array(property.utf8), of: className), isDeleted) ?? .null
  }

  private func removingLinks(
    in value: TextValue,
    _ shape: Shape,
    _ isDeleted: (_ target: String, _ id: [UInt8]) -> Bool
  ) -> TextValue? {
    func members(_ members: [TextValue.Member], _ shape: ([UInt8]) -> Shape) -> [TextValue.Member] {
      members.map { member in
        let value = removingLinks(in: member.value, shape(member.name), isDeleted) ?? .null
        return TextValue.Member(name: member.name, value: value)
      }
    }
    switch (shape, value) {
    case (.link(let target), _):
      return value != .null && isDeleted(target, (value["$id"] ?? value).bytes) ? nil : value
    case (.embedded(let className), .object(let old)):
      return .object(members(old) { self.shape($0, of: className) })
    case (.list(let element), .array(let elements)), (.set(let element), .array(let elements)):
      return .array(elements.compactMap { removingLinks(in: $0, element, isDeleted) })
    case (.dictionary(let element), _):
      return Self.entries(value).map { Self.dictionary(members($0) { _ in element }) } ?? value
    case (.mixed, .array(let elements)):
      return .array(elements.map { removingLinks(in: $0, .mixed, isDeleted) ?? .null })
    case (.mixed, .object):
      if case .string(let target)? = value["$ref"], let id = value["$id"] {
        return isDeleted(String(decoding: target, as: UTF8.self), id.bytes) ? nil : value
      }
      return Self.isDictionary(value) ? removingLinks(in: value, .dictionary(.mixed), isDeleted) : value
    default: return value
    }
  }
}
