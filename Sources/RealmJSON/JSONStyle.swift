// What the user chooses about JSON text: the notation of values and the layout.

/// How values are written.
///
/// The raw values are those of `-o json=`.
public enum JSONStyle: String, Sendable, CaseIterable {
  /// Typed properties bare, because the schema gives their type; Mixed values as relaxed Extended JSON.
  case plain
  /// MongoDB's relaxed Extended JSON v2 throughout.
  case ejson
  /// MongoDB's canonical Extended JSON v2 throughout.
  case canonical

  /// The notation of values whose type the schema gives.
  var typedForm: ValueForm {
    switch self {
    case .plain: .bare
    case .ejson: .relaxed
    case .canonical: .canonical
    }
  }

  /// The notation of values that must tell their type themselves.
  var mixedForm: ValueForm { self == .canonical ? .canonical : .relaxed }
}

/// Where lines break.
public enum JSONLayout: Sendable {
  /// As `jq .` prints: one member a line, two spaces a level, a final newline.
  case pretty
  /// As `jq -c .` prints: one line, no spaces, a final newline.
  case compact
}

/// The notation of one value.
enum ValueForm {
  case bare, relaxed, canonical
}
