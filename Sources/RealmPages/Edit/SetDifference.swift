// The differences between two sets or dictionaries: the elements that disappear and appear.

/// The steps that turn one set into another, as positions in the two lists of elements.
package struct SetDifference {
  /// The positions of removed elements, in the old list.
  package private(set) var removed: [Int] = []
  /// The positions of added elements, in the new list.
  package private(set) var added: [Int] = []

  /// Compares elements by their hash values and `==`. If the old list has an element more often than the new one, the
  /// surplus is removed. Cost: O(n) in both lists.
  package init<Element: Hashable>(old: [Element], new: [Element]) {
    var surplus: [Element: Int] = [:]
    for element in old { surplus[element, default: 0] += 1 }
    for (index, element) in new.enumerated() {
      if let count = surplus[element] { surplus[element] = count - 1 } else { added.append(index) }
    }
    for (index, element) in old.enumerated() {
      guard let count = surplus[element], count > 0 else { continue }
      surplus[element] = count - 1
      removed.append(index)
    }
  }
}

/// The steps that turn one dictionary into another, as positions in the two lists of entries.
package struct DictionaryDifference {
  /// For each new entry, the position of the old entry with the same key; nil if there is none, and for a key that
  /// occurs again.
  package let former: [Int?]
  /// The positions of removed entries, in the old list.
  package let removed: [Int]

  /// Compares the keys of two dictionaries. Cost: O(n) in both lists.
  package init<Key: Hashable>(old: [Key], new: [Key]) {
    var positions = Dictionary(old.enumerated().map { ($1, $0) }) { $1 }
    former = new.map { positions.removeValue(forKey: $0) }
    removed = old.indices.filter { positions[old[$0]] != nil }
  }
}
