// Sorts the objects found by a query. Values are first compared as 64-bit words, without access to the objects. Objects
// are read again only if their words are equal and do not contain the complete value.

import RealmPages

/// Sorts objects of a class by the values of paths.
struct ObjectSorter {
  let keys: [ObjKey]
  let by: [(path: BoundPath, ascending: Bool)]
  let cursor: ObjectCursor

  /// The limit for comparing strings word by word; strings with a longer common prefix are compared in full.
  private static let maxCommonBytes = 56

  /// Returns the first `limit` of the sorted keys. The sort is stable.
  ///
  /// Cost: one read of each object (two if all strings have a common prefix) and a few passes over the words, plus
  /// another read of each object among the first `limit` whose word equals another one.
  func sorted(limit: Int, _ work: inout QueryWork) throws -> [ObjKey] {
    try places(keys.indices, by: 0, from: 0, limit, &work).map { keys[$0] }
  }

  /// Sorts the objects at `places` by the path `index` and those after it, and returns the first `limit`. Strings are
  /// known to be equal before `offset`.
  private func places(
    _ places: some Collection<Int>,
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
      // All strings have a common prefix: the bytes after it are more distinctive.
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
        case .bytes where offset < Self.maxCommonBytes:
          result += try self.places(run, by: index, from: offset + OrderWord.byteCount, rest, &work)
        case .bytes, .value: result += try compared(run, by: index, rest, &work)
        }
      }
      first = end
    }
    return result
  }

  /// The words of objects, and the length of the common prefix of their strings.
  private struct Words {
    var items: OrderItems
    var commonBytes: Int
  }

  /// Returns the words of the values of the path `index`, starting at `offset` in strings, for the objects that may be
  /// among the first `limit`. Nil if words cannot represent the order.
  private func words(
    of places: some Collection<Int>,
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
    // Words of integers and of floating-point numbers are not comparable with each other.
    return kinds == [.integers, .reals] ? nil : Words(items: items, commonBytes: common.count)
  }

  /// Sorts like `places`, but by comparing values.
  private func compared(
    _ places: some Collection<Int>,
    by index: Int,
    _ limit: Int,
    _ work: inout QueryWork
  ) throws -> [Int] {
    let by = by[index...], paths = by.map(\.path)
    var items: [(place: Int, values: [OrderingValue])] = []
    items.reserveCapacity(places.count)
    for place in places {
      try work.step()
      items.append((place, try OrderingValue.all(of: keys[place], paths, cursor)))
    }
    items.sort { a, b in
      for ((x, y), key) in zip(zip(a.values, b.values), by) {
        // Objects with a null link along the path sort after all others.
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

/// A value to sort by. `leadsNowhere` is true if a link along the path is null.
struct OrderingValue {
  let value: ValueView
  let leadsNowhere: Bool

  /// Returns the values of an object.
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

/// The kinds of numbers among the values.
struct Kinds: OptionSet {
  let rawValue: Int
  static let integers = Kinds(rawValue: 1), reals = Kinds(rawValue: 2)
}

/// The length of the common prefix of all strings.
private struct CommonBytes {
  private let offset: Int
  private var first: ByteView?
  /// The number of common bytes, starting at the offset.
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

/// A sort key whose order agrees with that of the values. Different values can have equal keys.
struct OrderWord {
  /// The comparison that remains if words are equal.
  enum Rest: UInt8 {
    /// The values are equal.
    case nothing
    /// The bytes after those in the word must be compared.
    case bytes
    case value
  }

  /// The rank of the type among all types.
  var type: UInt8
  var bits: UInt64
  var rest = Rest.nothing

  /// The number of bytes of a string in a word. The last byte of the word contains the length from the offset on, up to
  /// 8.
  static let byteCount = 7

  static let null = OrderWord(type: 0, bits: 0)
  /// Sorts after all others.
  static let nowhere = OrderWord(type: .max, bits: 0)

  private init(type: UInt8, bits: UInt64, rest: Rest = .nothing) {
    (self.type, self.bits, self.rest) = (type, bits, rest)
  }

  /// Nil for values without a word. For strings, uses the bytes from `offset` on.
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
      // Both zeros are equal. Negative numbers are inverted, because their bit patterns ascend with their magnitude.
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

  /// The word for descending order.
  var reversed: OrderWord { OrderWord(type: ~type, bits: ~bits, rest: rest) }
}
