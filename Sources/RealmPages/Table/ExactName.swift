// Names of classes and properties, and paths, as files and file systems tell them apart: by their bytes. Swift takes
// texts for equal that only look the same, as "é" of one scalar and of two.

/// A name that equals only itself.
package struct ExactName: Hashable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (a: ExactName, b: ExactName) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

  package func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }
}

extension String {
  /// Whether `other` has the same bytes.
  package func isExactly(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }

  /// Whether `other` has the same bytes; false if there is none.
  package func isExactly(_ other: String?) -> Bool { other.map { isExactly($0) } ?? false }
}

extension Optional<String> {
  /// Whether both have the same bytes, or there is neither.
  package func isExactly(_ other: String?) -> Bool { map(ExactName.init) == other.map(ExactName.init) }
}

extension Collection {
  /// The first element with exactly this name, else one whose name looks the same: people type either form of "é".
  package func first(named name: String, _ nameOf: (Element) -> String?) -> Element? {
    firstIndex(named: name, nameOf).map { self[$0] }
  }

  /// The index of the same.
  package func firstIndex(named name: String, _ nameOf: (Element) -> String?) -> Index? {
    firstIndex { nameOf($0).isExactly(name) } ?? firstIndex { nameOf($0) == name }
  }
}
