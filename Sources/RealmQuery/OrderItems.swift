// Objects that are being ordered by words of 64 bits. Words are sorted digit by digit, which takes no comparisons;
// where only the first objects are wanted, what cannot be among them is dropped on the way.

/// An object that is to be ordered: its word, and where it stands.
struct OrderItem {
  /// What is compared where the types are the same.
  let bits: UInt64
  /// The type in the upper byte, what remains to be compared in the next, the place in the others.
  private let tag: UInt64

  private static let placeBits: UInt64 = 48

  init(_ word: OrderWord, _ place: Int) {
    bits = word.bits
    tag = UInt64(word.type) << 56 | UInt64(word.rest.rawValue) << Self.placeBits | UInt64(place)
  }

  var type: UInt8 { UInt8(truncatingIfNeeded: tag >> 56) }
  var place: Int { Int(tag & (1 << Self.placeBits - 1)) }

  /// What must be compared among items with the same word.
  var rest: OrderWord.Rest { OrderWord.Rest(rawValue: UInt8(truncatingIfNeeded: tag >> Self.placeBits)) ?? .value }

  @inline(__always)
  func hasWord(of other: OrderItem) -> Bool { bits == other.bits && type == other.type }

  @inline(__always)
  static func < (a: OrderItem, b: OrderItem) -> Bool { a.type != b.type ? a.type < b.type : a.bits < b.bits }

  /// One byte of the word, counted from the lowest; the type is the highest.
  @inline(__always)
  fileprivate func digit(_ index: Int) -> Int { index < 8 ? Int(bits >> UInt64(8 * index) & 0xFF) : Int(type) }

  fileprivate static let digitCount = 9
}

/// The items that may be among the first ones.
struct OrderItems {
  /// In the order in which they were added; after `sort()` in that of their words.
  private(set) var items: [OrderItem] = []
  private let limit: Int
  /// As many items are added before those behind the first ones are dropped.
  private var capacity: Int
  /// The last of the first ones that were known at the last drop: what is behind it is not wanted.
  private var bound: OrderItem?

  private static let leastCapacity = 4096

  /// Room for the first `limit` of `count` items.
  init(limit: Int, of count: Int) {
    self.limit = limit
    capacity = limit < count / 4 ? max(2 * limit, Self.leastCapacity) : count
    items.reserveCapacity(min(capacity, count))
  }

  /// Adds an item. Places ascend.
  @inline(__always)
  mutating func add(_ item: OrderItem) {
    if let bound, bound < item { return }
    items.append(item)
    if items.count >= capacity { drop() }
  }

  /// Drops what is behind the first ones, but not what has the word of the last of them.
  private mutating func drop() {
    if limit == 0 || items.count <= limit { return }
    sort()
    let last = items[limit - 1]
    let end = items[limit...].firstIndex { !$0.hasWord(of: last) } ?? items.count
    items.removeSubrange(end...)
    // Those that were not dropped do not fill the room again at once.
    (bound, capacity) = (last, max(capacity, 2 * items.count))
  }

  /// Sorts by words. What is equal keeps its order.
  mutating func sort() {
    if items.count < Self.fewest {
      return items.sort { $0.hasWord(of: $1) ? $0.place < $1.place : $0 < $1 }
    }
    var counts = Array(repeating: 0, count: 256 * OrderItem.digitCount)
    for item in items { for index in 0..<OrderItem.digitCount { counts[index << 8 | item.digit(index)] += 1 } }
    var spare = items
    for index in 0..<OrderItem.digitCount {
      let digit = counts[index << 8..<(index + 1) << 8]
      // All have the same.
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

  /// Fewer items are sorted by comparisons.
  private static let fewest = 512
}
