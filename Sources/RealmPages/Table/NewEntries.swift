// Objects that are to be listed in a search index. They wait until there are many: a node of the index is then changed
// once for all that belong to it.

/// Objects to be listed under values each of which begins with another word, and with none that is in the index.
struct NewEntries {
  /// The first four bytes of an object's value, as the index compares them, and the object.
  struct Entry {
    let word: Int32
    let key: ObjKey
  }

  private var entries: [Entry] = []
  private var words: Set<Int32> = []

  /// So many wait at most.
  static let maximumCount = 1 << 17

  var count: Int { entries.count }

  /// Whether one waits whose value begins with `word`.
  func contains(_ word: Int32) -> Bool { words.contains(word) }

  /// Adds an object, unless one waits whose value begins with the same word: then false.
  mutating func append(_ word: Int32, _ key: ObjKey) -> Bool {
    if !words.insert(word).inserted { return false }
    entries.append(Entry(word: word, key: key))
    return true
  }

  /// The entries in the order of their words. None wait any more.
  mutating func takeAll() -> [Entry] {
    var taken: [Entry] = []
    swap(&taken, &entries)
    words.removeAll(keepingCapacity: true)
    taken.sort { $0.word < $1.word }
    return taken
  }
}
