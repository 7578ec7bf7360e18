// Links whose targets do not list them yet. They wait until there are many: a list of backlinks is then changed once
// for all that come to it.

/// Links from new objects to objects of one table.
struct NewBacklinks {
  private struct Link {
    let target: ObjKey
    let position: Int32
    /// Counts the links, so that sorting keeps the order of those to one target.
    let number: Int32
    let origin: ObjKey
  }

  private var links: [Link] = []

  /// So many wait at most.
  static let maximumCount = 1 << 17

  var count: Int { links.count }

  /// Adds a link that the backlinks at leaf position `position` are to list.
  mutating func append(_ target: ObjKey, _ position: Int, from origin: ObjKey) {
    links.append(Link(target: target, position: Int32(position), number: Int32(links.count), origin: origin))
  }

  /// Calls `body` for each target and leaf position with the objects that link there, in the order in which they were
  /// added. None wait any more.
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

/// Objects of one table by their primary keys: links often lead to the same ones.
struct KnownTargets {
  private var numbers: [Int64: ObjKey] = [:]
  private var texts: [[UInt8]: ObjKey] = [:]

  private static let maximumCount = 1 << 16
  private static let longestText = 64

  /// The object with this primary key, if it is known.
  subscript(_ value: ValueView) -> ObjKey? {
    switch value {
    case .int(let number): numbers[number]
    case .string(let text) where text.count <= Self.longestText: texts[text.bytes]
    default: nil
    }
  }

  /// Notes that the object with this primary key is `key`.
  mutating func note(_ value: ValueView, _ key: ObjKey) {
    if numbers.count + texts.count >= Self.maximumCount { forgetAll() }
    switch value {
    case .int(let number): numbers[number] = key
    case .string(let text) where text.count <= Self.longestText: texts[text.bytes] = key
    default: return
    }
  }

  /// Forgets all: an object is gone.
  mutating func forgetAll() {
    if !numbers.isEmpty { numbers = [:] }
    if !texts.isEmpty { texts = [:] }
  }
}
