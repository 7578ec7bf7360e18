// Names of classes and properties as files tell them apart: by their bytes. Swift takes two texts for equal that only
// look the same, as "é" of one scalar and of two.

/// A name that equals only itself.
package struct ExactName: Hashable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (a: ExactName, b: ExactName) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

  package func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }
}

extension Sequence {
  /// The first element with exactly this name, else one whose name looks the same: people type either form of "é".
  package func first(named name: String, _ nameOf: (Element) -> String?) -> Element? {
    first { nameOf($0).map(ExactName.init) == ExactName(name) } ?? first { nameOf($0) == name }
  }
}
