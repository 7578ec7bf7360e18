// Names of classes and properties, and paths, compared by their bytes as files and file systems do. Swift's `String`
// treats canonically equivalent strings as equal, such as "é" as one scalar and as two.

/// A name that equals only a name with the same bytes.
package struct ExactName: Hashable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (a: ExactName, b: ExactName) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

  package func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }
}

extension String {
  /// Returns true if `other` has the same bytes.
  package func isExactly(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }

  /// Returns true if `other` is not nil and has the same bytes.
  package func isExactly(_ other: String?) -> Bool { other.map { isExactly($0) } ?? false }
}

extension Optional<String> {
  /// Returns true if both have the same bytes, or both are nil.
  package func isExactly(_ other: String?) -> Bool { map(ExactName.init) == other.map(ExactName.init) }
}

extension Collection {
  /// Returns the first element with exactly this name, else the first with a canonically equivalent one: users type
  /// either form of "é".
  package func first(named name: String, _ nameOf: (Element) -> String?) -> Element? {
    firstIndex(named: name, nameOf).map { self[$0] }
  }

  /// Returns the index of the element that `first(named:_:)` returns.
  package func firstIndex(named name: String, _ nameOf: (Element) -> String?) -> Index? {
    firstIndex { nameOf($0).isExactly(name) } ?? firstIndex { nameOf($0) == name }
  }
}
