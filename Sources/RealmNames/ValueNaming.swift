// Converts property values to directory names and back, escaped like keys in the names of objects, without `.json`.
// Invariant: the mapping is a bijection, so of all texts that parse as a value, only one is its name.

public import RealmJSON
public import RealmPages

/// Converts values to names and back.
public enum ValueNaming {
  /// The meaning of a name.
  public enum Parsed: Hashable, Sendable {
    case value(Value)
    /// The name of a long string, which must be found by comparison.
    case shortened
    /// The name of the object that a link refers to.
    case object([UInt8])
  }

  /// Returns true if the values of a property have names: single scalar values other than binary and Mixed, and single
  /// links to objects with names.
  public static func hasNames(_ property: Column) -> Bool {
    if property.collection != nil { return false }
    switch property.type {
    case .int, .bool, .string, .date, .objectID, .uuid, .decimal128, .double, .float, .link: return true
    default: return false
    }
  }

  /// Appends the name of a value to `out`. Returns false, without appending anything, for links and for values without
  /// a name.
  public static func append(_ value: ValueView, to out: OutputBuffer) -> Bool {
    switch value {
    case .null: out.append("%null")
    case .bool(let value): out.append(value ? "true" : "false")
    case .date(let date): return out.append(date: date)
    case .decimal128(let value): out.append(value)
    case .double(let value): append(value, "\(value)", to: out)
    case .float(let value): append(Double(value), "\(value)", to: out)
    case .int, .objectID, .uuid, .string:
      let start = out.count
      guard NameEscaping.append(fileOf: value, to: out) else { return false }
      out.truncate(to: max(start, out.count - NameEscaping.suffix.utf8.count))
    default: return false
    }
    return true
  }

  private static func append(_ value: Double, _ text: String, to out: OutputBuffer) {
    // All NaN values share one name.
    out.append(Array((value.isNaN ? "nan" : text).utf8))
  }

  /// Parses the name of a property value of this type. Returns nil if it is not the name of any value.
  public static func parse(_ name: [UInt8], type: ValueType) -> Parsed? {
    let text = String(decoding: name, as: UTF8.self)
    if text == "%null" { return .value(.null) }
    let value: Value?
    switch type {
    case .bool: value = text == "true" ? .bool(true) : text == "false" ? .bool(false) : nil
    case .date: value = Timestamp(text: name[...]).map { .date($0) }
    case .decimal128: value = .decimal128(Decimal128(parsing: text))
    case .double: value = Double(text).map { .double($0) }
    case .float: value = Float(text).map { .float($0) }
    case .link: return .object(name)
    default:
      let file = name + Array(NameEscaping.suffix.utf8)
      switch NameEscaping.parse(file: file, primaryKey: type) {
      case .key(.int(let number)): return .value(.int(number))
      case .key(.string(let bytes)): return .value(.string(bytes))
      case .key(.objectID(let id)): return .value(.objectID(id))
      case .key(.uuid(let id)): return .value(.uuid(id))
      case .hashed: return .shortened
      default: return nil
      }
    }
    guard let value else { return nil }
    let held = HeldValue(value), again = OutputBuffer()
    return withExtendedLifetime(held) {
      append(held.view, to: again) && again.equals(name) ? .value(value) : nil
    }
  }
}
