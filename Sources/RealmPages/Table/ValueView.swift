// Values as stored in the file: scalars by value, strings, binaries and collections as views that borrow from the
// snapshot.

/// One value of a property, of a collection element, or inside a Mixed.
///
/// Strings, binaries and collections borrow from the snapshot that they were read from.
public enum ValueView {
  /// No value.
  case null
  /// A signed integer of 64 bits.
  case int(Int64)
  /// A Boolean.
  case bool(Bool)
  /// A floating-point number of 32 bits.
  case float(Float)
  /// A floating-point number of 64 bits.
  case double(Double)
  /// A string. The bytes are as the file stores them: UTF-8, unless the file is damaged or a program wrote other bytes.
  case string(ByteView)
  /// Binary data.
  case data(ByteView)
  /// A point in time: seconds and nanoseconds since 1970 in UTC.
  case date(Timestamp)
  /// A decimal floating-point number of 34 digits (IEEE 754-2008, decimal128).
  case decimal128(Decimal128)
  /// An ObjectId of 12 bytes.
  case objectID(ObjectID)
  /// A UUID of 16 bytes.
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
