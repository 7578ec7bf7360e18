// Values as stored in the file: scalars by value, strings, binaries and collections as views that borrow from the
// snapshot.

/// One value of a property, of a collection element, or inside a Mixed.
///
/// Strings, binaries and collections borrow from the snapshot that they were read from.
public enum ValueView {
  case null
  case int(Int64)
  case bool(Bool)
  case float(Float)
  case double(Double)
  case string(ByteView)
  case data(ByteView)
  case date(Timestamp)
  case decimal128(Decimal128)
  case objectID(ObjectID)
  case uuid(UniqueID)
  /// A link; the key can be that of a tombstone or of an object that does not exist.
  case link(TableKey, ObjKey)
  /// A list property, or a list inside a Mixed.
  case list(ListView)
  /// A set property, in its sort order.
  case set(ListView)
  /// A dictionary property, or a dictionary inside a Mixed.
  case dictionary(DictionaryView)
}

extension ValueView {
  /// The type of the value; nil for null, Mixed for a collection.
  package var type: ValueType? {
    switch self {
    case .null: nil
    case .int: .int
    case .bool: .bool
    case .float: .float
    case .double: .double
    case .string: .string
    case .data: .data
    case .date: .date
    case .decimal128: .decimal128
    case .objectID: .objectID
    case .uuid: .uuid
    case .link: .link
    case .list, .set, .dictionary: .mixed
    }
  }

  /// The value, with a collection replaced by an empty one.
  var withoutElements: ValueView {
    switch self {
    case .list, .set: .list(.empty)
    case .dictionary: .dictionary(.empty)
    default: self
    }
  }
}
