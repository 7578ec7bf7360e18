// The error for rejected input from users: its kind, the position, and a one-line message.

/// The reason that input is rejected: a JSON text, a record of an import, a query, a condition or a key.
///
/// `description` is one line with the position, the problem and its remedy.
public struct InputError: Error, Sendable, CustomStringConvertible {
  /// The kinds of error that a program distinguishes.
  public enum Kind: Sendable {
    /// Not of the expected syntax, not UTF-8, or a duplicate member or class.
    case syntax
    /// A query that is invalid, or does not fit the class.
    case query
    /// A value whose type is not that of the property, or null where null is not allowed.
    case wrongType
    /// A property that does not exist in the class.
    case unknownProperty
    /// A number or date that the type cannot represent.
    case outOfRange
    /// A text, name or nesting depth beyond the limits of the format or of this reader.
    case overLimit
    /// The primary key in the text differs from that of the object or the file name, or is missing where one is
    /// required.
    case keyMismatch
    /// A link to an object that does not exist.
    case linkTargetMissing
    /// The object to be created already exists.
    case duplicate
    /// The object to be changed does not exist.
    case missingObject
    /// An operation that is not possible through texts, such as writing objects of an asymmetric class.
    case forbidden
    /// The engine rejected the change.
    case engine(EngineError)
  }

  /// The kind of error, for programs.
  public let kind: Kind
  /// The line in the text, from 1; 0 if the error has no line.
  public let line: Int
  /// The character in the line, from 1, counted in Unicode scalars; 0 if the error has no position.
  public let column: Int
  /// The property, element or field concerned, such as `friends[2].name`; empty for the object itself.
  public let path: String
  /// The problem and its remedy, without the position.
  public let problem: String
  /// For queries: the index of the condition with the problem, from 0.
  public package(set) var condition = 0

  package init(_ kind: Kind, line: Int = 0, column: Int = 0, path: String = "", _ problem: String) {
    (self.kind, self.line, self.column, self.path, self.problem) = (kind, line, column, path, problem)
  }

  /// The position and the problem on one line.
  public var description: String {
    var place = line > 0 ? "line \(line), column \(column)" : column > 0 ? "column \(column)" : ""
    if !path.isEmpty { place += (place.isEmpty ? "" : ", ") + path }
    return place.isEmpty ? problem : place + ": " + problem
  }
}
