// Objects to be added to a search index. Buffering them allows one update of an index node for all of its new entries.

/// Objects whose values begin with distinct words, none of which is in the index yet.
struct NewEntries {
  /// The first four bytes of an object's value, as the index compares them, and the object.
  struct Entry {
    let word: Int32
    let key: ObjKey
  }

  private var entries: [Entry] = []
  private var words: Set<Int32> = []

  /// The maximum number of buffered entries.
  static let maximumCount = 1 << 17

  var count: Int { entries.count }

  /// Returns true if the buffer has an entry whose value begins with `word`.
  func contains(_ word: Int32) -> Bool { words.contains(word) }

  /// Adds an object. Returns false, without adding it, if the buffer has an entry whose value begins with the same
  /// word.
  mutating func append(_ word: Int32, _ key: ObjKey) -> Bool {
    if !words.insert(word).inserted { return false }
    entries.append(Entry(word: word, key: key))
    return true
  }

  /// Returns the entries in word order and empties the buffer.
  mutating func takeAll() -> [Entry] {
    var taken: [Entry] = []
    swap(&taken, &entries)
    words.removeAll(keepingCapacity: true)
    taken.sort { $0.word < $1.word }
    return taken
  }
}
