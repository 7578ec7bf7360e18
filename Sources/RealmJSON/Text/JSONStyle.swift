// The user's choices about JSON text: the notation of values and the layout.

/// The notation of values.
///
/// The raw values are the names that `-o json=` accepts.
public enum JSONStyle: String, Sendable, CaseIterable {
  /// Typed properties are bare, because the schema contains their type; Mixed values are relaxed Extended JSON.
  case plain
  /// MongoDB's relaxed Extended JSON v2 throughout.
  case ejson
  /// MongoDB's canonical Extended JSON v2 throughout.
  case canonical

  /// The notation of values whose type is in the schema.
  var typedForm: ValueForm {
    switch self {
    case .plain: .bare
    case .ejson: .relaxed
    case .canonical: .canonical
    }
  }

  /// The notation of values whose text must include their type.
  var mixedForm: ValueForm { self == .canonical ? .canonical : .relaxed }
}

/// The layout of a text.
public enum JSONLayout: Sendable {
  /// Like `jq .`: one member per line, two spaces per level, a final newline.
  case pretty
  /// Like `jq -c .`: one line, no spaces, a final newline.
  case compact
}

/// The notation of one value.
enum ValueForm {
  case bare, relaxed, canonical
}
