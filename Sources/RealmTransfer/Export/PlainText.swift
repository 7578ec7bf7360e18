// Formats values of typed columns as plain text, for spreadsheets, databases and people.

package import RealmJSON
package import RealmPages

extension Column {
  /// True if the values of the property have plain text: it is neither a collection nor Mixed.
  package var isPlain: Bool { collection == nil && type != .mixed }
}

extension OutputBuffer {
  /// Appends the plain text of a value of a typed property, without quotes; appends nothing for null.
  ///
  /// Returns false and appends nothing for a value without plain text: a link, a collection, a string that is not
  /// UTF-8, a date before the year 1 or after 9999. `ObjectRenderer.shown` converts a link to the key shown for it.
  package func append(plain value: ValueView) -> Bool {
    switch value {
    case .null: break
    case .int(let value): append(decimal: value)
    case .bool(let value): append(value ? "true" : "false")
    case .float(let value): if value.isFinite { append(real: value) } else { append(notFinite: Double(value)) }
    case .double(let value): if value.isFinite { append(real: value) } else { append(notFinite: value) }
    case .string(let text):
      let bytes = unsafe text.unsafeBytes
      if unsafe !UTF8Sequence.isValid(bytes.bytes) { return false }
      unsafe append(bytes)
    case .data(let data): unsafe append(base64: data.unsafeBytes.bytes)
    case .date(let date): return append(date: date)
    case .decimal128(let value): append(value)
    case .objectID(let id): append(id)
    case .uuid(let id): append(id)
    case .link, .list, .set, .dictionary: return false
    }
    return true
  }

  private func append(notFinite value: Double) {
    if value.isNaN { append("NaN") } else { append(value > 0 ? "Infinity" : "-Infinity") }
  }
}
