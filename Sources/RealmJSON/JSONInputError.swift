// Why a text is not taken: the kind, the place in the text, and one plain line for people.

public import RealmPages

/// Why a text is refused.
///
/// `description` is one line that says where, what, and what to do.
public struct JSONInputError: Error, Sendable, CustomStringConvertible {
  /// The kinds that a program decides on.
  public enum Kind: Sendable {
    /// Not JSON, not UTF-8, or a member that stands there twice.
    case syntax
    /// A value of another type than the property's, or null where it cannot be.
    case wrongType
    /// A property that the class does not have.
    case unknownProperty
    /// A number or date that the type cannot hold.
    case outOfRange
    /// A text, name or nesting beyond the limits of the format or of this reader.
    case overLimit
    /// The text has another primary key than the object or the file name, or none where one is needed.
    case keyMismatch
    /// A link to an object that does not exist.
    case linkTargetMissing
    /// An object to be created exists.
    case duplicate
    /// The object to be changed does not exist.
    case missingObject
    /// Something that texts do not change, such as objects of an asymmetric class.
    case forbidden
    /// The engine refused.
    case engine(EngineError)
  }

  /// What a program decides on.
  public let kind: Kind
  /// The line of the text, from 1; 0 if no place in the text is to blame.
  public let line: Int
  /// The character in the line, from 1 (Unicode scalars, however wide they show); 0 if no place is to blame.
  public let column: Int
  /// The property or element concerned, such as `friends[2].name`; empty for the whole.
  public let path: String
  /// What is wrong and what to do, without the place.
  public let problem: String

  init(_ kind: Kind, line: Int = 0, column: Int = 0, path: String = "", _ problem: String) {
    self.kind = kind
    self.line = line
    self.column = column
    self.path = path
    self.problem = problem
  }

  /// The place and the problem in one line.
  public var description: String {
    var place = line > 0 ? "line \(line), column \(column)" : ""
    if !path.isEmpty { place += (place.isEmpty ? "" : ", ") + path }
    return place.isEmpty ? problem : place + ": " + problem
  }
}
