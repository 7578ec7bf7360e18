// Links that their targets do not list as backlinks yet. Buffering them allows one update of a target's backlinks for
// many links.

/// Links from new objects to objects of one table.
struct NewBacklinks {
  private struct Link {
    let target: ObjKey
    let position: Int32
    /// The sequence number, so that sorting keeps the order of links to the same target.
    let number: Int32
    let origin: ObjKey
  }

  private var links: [Link] = []

  /// The maximum number of buffered links.
  static let maximumCount = 1 << 17

  var count: Int { links.count }

  /// Adds a link to be listed in the target's backlinks at leaf position `position`.
  mutating func append(_ target: ObjKey, _ position: Int, from origin: ObjKey) {
    links.append(Link(target: target, position: Int32(position), number: Int32(links.count), origin: origin))
  }

  /// Calls `body` for each target and leaf position with the linking objects in insertion order. Empties the buffer.
  mutating func takeAll(_ body: (ObjKey, Int, ArraySlice<Int64>) throws(EngineError) -> Void) throws(EngineError) {
    var taken: [Link] = []
    swap(&taken, &links)
    taken.sort { ($0.target.value, $0.position, $0.number) < ($1.target.value, $1.position, $1.number) }
    let origins = taken.map(\.origin.value)
    var start = 0
    while start < taken.count {
      let first = taken[start]
      var end = start + 1
      while end < taken.count, taken[end].target == first.target, taken[end].position == first.position { end += 1 }
      try body(first.target, Int(first.position), origins[start..<end])
      start = end
    }
  }
}

/// A cache of one table's objects by primary key, as many links often share a target.
struct KnownTargets {
  private var numbers: [Int64: ObjKey] = [:]
  private var texts: [[UInt8]: ObjKey] = [:]

  private static let maximumCount = 1 << 16
  private static let longestText = 64

  /// The object with this primary key, if cached.
  subscript(_ value: ValueView) -> ObjKey? {
    switch value {
    case .int(let number): numbers[number]
    case .string(let text) where text.count <= Self.longestText: texts[text.bytes]
    default: nil
    }
  }

  /// Caches `key` as the object with this primary key.
  mutating func note(_ value: ValueView, _ key: ObjKey) {
    if numbers.count + texts.count >= Self.maximumCount { forgetAll() }
    switch value {
    case .int(let number): numbers[number] = key
    case .string(let text) where text.count <= Self.longestText: texts[text.bytes] = key
    default: return
    }
  }

  /// Empties the cache, as is necessary when an object is deleted.
  mutating func forgetAll() {
    if !numbers.isEmpty { numbers = [:] }
    if !texts.isEmpty { texts = [:] }
  }
}
