// The error for rejected text: its kind, the position in the text, and a one-line message.

public import RealmPages

/// The reason that a text is rejected.
///
/// `description` is one line with the position, the problem and its remedy.
public struct JSONInputError: Error, Sendable, CustomStringConvertible {
  /// The kinds of error that a program distinguishes.
  public enum Kind: Sendable {
    /// Not JSON, not UTF-8, or a duplicate member or class.
    case syntax
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
  /// The line in the text, from 1; 0 if the error has no position.
  public let line: Int
  /// The character in the line, from 1, counted in Unicode scalars; 0 if the error has no position.
  public let column: Int
  /// The property or element concerned, such as `friends[2].name`; empty for the object itself.
  public let path: String
  /// The problem and its remedy, without the position.
  public let problem: String

  init(_ kind: Kind, line: Int = 0, column: Int = 0, path: String = "", _ problem: String) {
    self.kind = kind
    self.line = line
    self.column = column
    self.path = path
    self.problem = problem
  }

  /// The position and the problem on one line.
  public var description: String {
    var place = line > 0 ? "line \(line), column \(column)" : ""
    if !path.isEmpty { place += (place.isEmpty ? "" : ", ") + path }
    return place.isEmpty ? problem : place + ": " + problem
  }
}
