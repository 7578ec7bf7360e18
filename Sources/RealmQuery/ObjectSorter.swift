// The order of the objects that a query finds. Values are compared as words of 64 bits first, which takes no look at
// the objects; only those whose words are equal and do not tell everything are looked at again.

import RealmPages

/// Orders objects of a class by the values that paths lead to.
struct ObjectSorter {
  let keys: [ObjKey]
  let by: [(path: BoundPath, ascending: Bool)]
  let cursor: ObjectCursor

  /// Longer texts that begin alike are compared as a whole.
  private static let mostCommonBytes = 56

  /// The first `limit` of the keys in the order. What is equal keeps its order.
  ///
  /// Cost: one look at each object, two at texts that all begin alike, and some passes over their words; another look
  /// for each object among the first `limit` whose words equal those of others.
  func sorted(limit: Int, _ work: inout QueryWork) throws -> [ObjKey] {
    try places(Array(keys.indices), by: 0, from: 0, limit, &work).map { keys[$0] }
  }

  /// The first `limit` of these places by the path `index` and those after it. Texts are known to be equal before
  /// `offset`.
  private func places(
    _ places: [Int],
    by index: Int,
    from offset: Int,
    _ limit: Int,
    _ work: inout QueryWork
  ) throws -> [Int] {
    if index == by.count || places.count < 2 { return Array(places.prefix(limit)) }
    var offset = offset
    guard var words = try words(of: places, by: index, from: offset, limit, &work) else {
      return try compared(places, by: index, limit, &work)
    }
    if words.commonBytes > 0 {
      // All texts begin with the same bytes: those behind them tell more.
      offset += words.commonBytes
      guard let better = try self.words(of: places, by: index, from: offset, limit, &work) else {
        return try compared(places, by: index, limit, &work)
      }
      words = better
    }
    words.items.sort()
    let items = words.items.items
    var result: [Int] = [], first = 0
    result.reserveCapacity(min(limit, items.count))
    while first < items.count, result.count < limit {
      var end = first + 1
      while end < items.count, items[end].hasWord(of: items[first]) { end += 1 }
      let rest = limit - result.count
      if end == first + 1 {
        result.append(items[first].place)
      } else {
        let run = items[first..<end].map(\.place)
        switch items[first].rest {
        case .nothing: result += try self.places(run, by: index + 1, from: 0, rest, &work)
        case .bytes where offset < Self.mostCommonBytes:
          result += try self.places(run, by: index, from: offset + OrderWord.byteCount, rest, &work)
        case .bytes, .value: result += try compared(run, by: index, rest, &work)
        }
      }
      first = end
    }
    return result
  }

  /// The words of objects, and how many bytes their texts have in common.
  private struct Words {
    var items: OrderItems
    var commonBytes: Int
  }

  /// The words of the values by the path `index`, of texts behind `offset`, as far as they may be among the first
  /// `limit`; nil if words do not tell the order.
  private func words(
    of places: [Int],
    by index: Int,
    from offset: Int,
    _ limit: Int,
    _ work: inout QueryWork
  ) throws -> Words? {
    let (path, ascending) = by[index], property = path.plainProperty
    var items = OrderItems(limit: limit, of: places.count)
    var kinds: Kinds = [], common = CommonBytes(from: offset)
    for place in places {
      try work.step()
      var word = OrderWord.null
      if try cursor.seek(keys[place]) {
        let value: ValueView?
        if let property {
          value = try cursor.value(property)
        } else if try path.leadsNowhere(cursor) {
          (word, value) = (.nowhere, nil)
        } else {
          value = try path.operand(cursor).first
        }
        if let value {
          guard let known = OrderWord(value, from: offset, &kinds) else { return nil }
          common.add(value)
          word = known
        }
      }
      items.add(OrderItem(ascending ? word : word.reversed, place))
    }
    // Integers and others are not made comparable by their words.
    return kinds == [.integers, .reals] ? nil : Words(items: items, commonBytes: common.count)
  }

  /// The same by comparing values.
  private func compared(_ places: [Int], by index: Int, _ limit: Int, _ work: inout QueryWork) throws -> [Int] {
    let by = by[index...], paths = by.map(\.path)
    var items: [(place: Int, values: [OrderingValue])] = []
    items.reserveCapacity(places.count)
    for place in places {
      try work.step()
      items.append((place, try OrderingValue.all(of: keys[place], paths, cursor)))
    }
    items.sort { a, b in
      for ((x, y), key) in zip(zip(a.values, b.values), by) {
        // Objects whose links lead to nothing come after the others.
        if x.leadsNowhere || y.leadsNowhere {
          if x.leadsNowhere == y.leadsNowhere { continue }
          return key.ascending != x.leadsNowhere
        }
        let order = x.value.order(y.value)
        if order != 0 { return key.ascending ? order < 0 : order > 0 }
      }
      return a.place < b.place
    }
    return items.prefix(limit).map(\.place)
  }
}

/// A value that an object is ordered by, and whether a link on the way to it leads to nothing.
struct OrderingValue {
  let value: ValueView
  let leadsNowhere: Bool

  /// The values of an object.
  static func all(of key: ObjKey, _ paths: [BoundPath], _ cursor: ObjectCursor) throws -> [OrderingValue] {
    guard try cursor.seek(key) else { return [] }
    var values: [OrderingValue] = []
    for path in paths {
      let value = try path.operand(cursor).first ?? .null
      values.append(OrderingValue(value: value, leadsNowhere: try path.leadsNowhere(cursor)))
    }
    return values
  }
}

/// The kinds of numbers that were met.
struct Kinds: OptionSet {
  let rawValue: Int
  static let integers = Kinds(rawValue: 1), reals = Kinds(rawValue: 2)
}

/// The bytes that all texts begin with.
private struct CommonBytes {
  private let offset: Int
  private var first: ByteView?
  /// How many they are, from the offset on.
  private(set) var count = 0

  init(from offset: Int) { self.offset = offset }

  @inline(__always)
  mutating func add(_ value: ValueView) {
    switch value {
    case .string(let text), .data(let text):
      if first == nil {
        (first, count) = (text, max(0, text.count - offset))
      } else if count > 0 {
        compare(text)
      }
    default: break
    }
  }

  private mutating func compare(_ text: ByteView) {
    guard let first else { return }
    let end = min(offset + count, text.count), bytes = unsafe text.unsafeBytes, others = unsafe first.unsafeBytes
    var index = offset
    while index < end, unsafe bytes[index] == others[index] { index += 1 }
    count = max(0, index - offset)
  }
}

/// A value as numbers that are ordered as values are, or are equal.
struct OrderWord {
  /// What must be compared where words are equal.
  enum Rest: UInt8 {
    /// The values are equal.
    case nothing
    /// The bytes behind those in the word.
    case bytes
    case value
  }

  /// The place of the type among all types.
  var type: UInt8
  var bits: UInt64
  var rest = Rest.nothing

  /// The bytes of a text that are in a word; how many more there are is in the last byte.
  static let byteCount = 7

  static let null = OrderWord(type: 0, bits: 0)
  /// After all others.
  static let nowhere = OrderWord(type: .max, bits: 0)

  private init(type: UInt8, bits: UInt64, rest: Rest = .nothing) {
    (self.type, self.bits, self.rest) = (type, bits, rest)
  }

  /// Nil for values that have no word. Texts are those behind `offset`.
  init?(_ value: ValueView, from offset: Int, _ kinds: inout Kinds) {
    switch value {
    case .null: self = .null
    case .bool(let value): self.init(type: 1, bits: value ? 1 : 0)
    case .int(let value):
      kinds.insert(.integers)
      self.init(type: 3, bits: Self.bits(value))
    case .float(let value): self.init(Double(value), &kinds)
    case .double(let value): self.init(value, &kinds)
    case .string(let bytes): self.init(type: 4, bytes, from: offset)
    case .data(let bytes): self.init(type: 5, bytes, from: offset)
    case .date(let date):
      self.init(type: 6, bits: Self.bits(date.seconds), rest: .value)
    case .objectID(let id): self.init(type: 7, bits: id.high, rest: .value)
    case .uuid(let id): self.init(type: 8, bits: id.high, rest: .value)
    case .decimal128, .link, .list, .set, .dictionary: return nil
    }
  }

  private init(_ value: Double, _ kinds: inout Kinds) {
    kinds.insert(.reals)
    if value.isNaN {
      self.init(type: 2, bits: 0, rest: .value)
    } else {
      // The two zeros are equal. Larger negative numbers have larger bits.
      let bits = value == 0 ? 0 : value.bitPattern
      self.init(type: 3, bits: bits >> 63 == 0 ? bits | 1 << 63 : ~bits)
    }
  }

  private init(type: UInt8, _ bytes: ByteView, from offset: Int) {
    let content = unsafe bytes.unsafeBytes, count = max(0, bytes.count - offset)
    var bits: UInt64 = 0
    for index in 0..<Self.byteCount {
      bits = unsafe bits << 8 | (index < count ? UInt64(content[offset + index]) : 0)
    }
    let length = min(count, Self.byteCount + 1)
    self.init(type: type, bits: bits << 8 | UInt64(length), rest: length > Self.byteCount ? .bytes : .nothing)
  }

  private static func bits(_ value: Int64) -> UInt64 { UInt64(bitPattern: value) ^ 1 << 63 }

  /// The word in the opposite order.
  var reversed: OrderWord { OrderWord(type: ~type, bits: ~bits, rest: rest) }
}
