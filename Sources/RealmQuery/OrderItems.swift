// Objects sorted by 64-bit words. A radix sort orders the words without comparisons. If only the first objects are
// needed, items that cannot be among them are dropped early.

/// An object to be sorted: its word and its position.
struct OrderItem {
  /// The bits to compare if the types are equal.
  let bits: UInt64
  /// The type in the upper byte, the remaining comparison in the next, the position in the others.
  private let tag: UInt64

  private static let placeBits: UInt64 = 48

  init(_ word: OrderWord, _ place: Int) {
    bits = word.bits
    tag = UInt64(word.type) << 56 | UInt64(word.rest.rawValue) << Self.placeBits | UInt64(place)
  }

  var type: UInt8 { UInt8(truncatingIfNeeded: tag >> 56) }
  var place: Int { Int(tag & (1 << Self.placeBits - 1)) }

  /// The remaining comparison among items with the same word.
  var rest: OrderWord.Rest { OrderWord.Rest(rawValue: UInt8(truncatingIfNeeded: tag >> Self.placeBits)) ?? .value }

  @inline(__always)
  func hasWord(of other: OrderItem) -> Bool { bits == other.bits && type == other.type }

  @inline(__always)
  static func < (a: OrderItem, b: OrderItem) -> Bool { a.type != b.type ? a.type < b.type : a.bits < b.bits }

  /// Returns a byte of the word, with index 0 for the lowest. The type is the highest.
  @inline(__always)
  fileprivate func digit(_ index: Int) -> Int { index < 8 ? Int(bits >> UInt64(8 * index) & 0xFF) : Int(type) }

  fileprivate static let digitCount = 9
}

/// The items that may be among the first.
struct OrderItems {
  /// The items, in insertion order; sorted by word after `sort()`.
  private(set) var items: [OrderItem] = []
  private let limit: Int
  /// The number of items that triggers dropping those that cannot be among the first.
  private var capacity: Int
  /// The last of the first `limit` items at the previous drop. Items after it are not needed.
  private var bound: OrderItem?

  private static let minCapacity = 4096

  /// Reserves room for the first `limit` of `count` items.
  init(limit: Int, of count: Int) {
    self.limit = limit
    capacity = limit < count / 4 ? max(2 * limit, Self.minCapacity) : count
    items.reserveCapacity(min(capacity, count))
  }

  /// Adds an item. Positions must ascend.
  @inline(__always)
  mutating func add(_ item: OrderItem) {
    if let bound, bound < item { return }
    items.append(item)
    if items.count >= capacity { drop() }
  }

  /// Drops the items after the first `limit`, except those with the same word as the last of them.
  private mutating func drop() {
    if limit == 0 || items.count <= limit { return }
    sort()
    let last = items[limit - 1]
    let end = items[limit...].firstIndex { !$0.hasWord(of: last) } ?? items.count
    items.removeSubrange(end...)
    // Double the capacity if necessary, so that the remaining items do not fill it again at once.
    (bound, capacity) = (last, max(capacity, 2 * items.count))
  }

  /// Sorts by word. The sort is stable.
  mutating func sort() {
    if items.count < Self.fewest {
      return items.sort { $0.hasWord(of: $1) ? $0.place < $1.place : $0 < $1 }
    }
    var counts = Array(repeating: 0, count: 256 * OrderItem.digitCount)
    for item in items { for index in 0..<OrderItem.digitCount { counts[index << 8 | item.digit(index)] += 1 } }
    var spare = items
    for index in 0..<OrderItem.digitCount {
      let digit = counts[index << 8..<(index + 1) << 8]
      // Skip a digit that is the same in all items.
      if digit.contains(items.count) { continue }
      var places: [Int] = [], sum = 0
      for count in digit {
        places.append(sum)
        sum += count
      }
      unsafe spare.withUnsafeMutableBufferPointer { target in
        for item in items {
          let digit = item.digit(index)
          unsafe target[places[digit]] = item
          places[digit] += 1
        }
      }
      swap(&items, &spare)
    }
  }

  /// Smaller arrays are sorted by comparisons.
  private static let fewest = 512
}
