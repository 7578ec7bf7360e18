// Request targets. Paths and queries are decoded only here.

/// Decodes the parts of a URL.
enum URLText {
  /// Decodes percent-encoding and, in a query, `+` as a space. Returns nil if an escape is malformed, or if the result
  /// is not UTF-8 or contains NUL.
  static func decoded(_ text: some Sequence<UInt8>, isQuery: Bool) -> String? {
    var bytes: [UInt8] = [], iterator = text.makeIterator()
    while let byte = iterator.next() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = iterator.next().flatMap(digit), let low = iterator.next().flatMap(digit) else { return nil }
        bytes.append(high << 4 | low)
      case UInt8(ascii: "+") where isQuery: bytes.append(UInt8(ascii: " "))
      default: bytes.append(byte)
      }
    }
    return bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x41 + 10
    case 0x61...0x66: byte - 0x61 + 10
    default: nil
    }
  }

  /// Encodes all bytes except unreserved characters.
  static func encoded(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: result.unicodeScalars.append(.init(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        result += digits.utf8.count == 1 ? "%0" + digits : "%" + digits
      }
    }
    return result
  }
}

/// The target of a request.
struct RequestTarget: Sendable {
  /// The decoded segments of the path: none for `/`.
  let path: [String]
  /// The parameters of the query. Names are decoded, values are not.
  private let parameters: [(name: String, value: [UInt8])]

  /// Nil if the target is malformed.
  init?(_ text: [UInt8]) {
    let parts = text.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts[0].first == UInt8(ascii: "/") else { return nil }
    var path: [String] = []
    let segments = parts[0].dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    if segments.count > 1 || segments.first?.isEmpty == false {
      for segment in segments {
        guard let segment = URLText.decoded(segment, isQuery: false) else { return nil }
        path.append(segment)
      }
    }
    var parameters: [(name: String, value: [UInt8])] = []
    for item in parts.count > 1 ? parts[1].split(separator: UInt8(ascii: "&")) : [] {
      let pair = item.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = URLText.decoded(pair[0], isQuery: true) else { return nil }
      let value = pair.count > 1 ? Array(pair[1]) : []
      // All values are decoded here once, so that a request with a malformed one is refused as a whole.
      guard URLText.decoded(value, isQuery: true) != nil else { return nil }
      parameters.append((name, value))
    }
    (self.path, self.parameters) = (path, parameters)
  }

  /// Returns a parameter; nil if it is missing.
  subscript(name: String) -> String? {
    parameters.first { $0.name == name }.flatMap { URLText.decoded($0.value, isQuery: true) }
  }

  /// Returns the comma-separated parts of a parameter. A comma within a part is sent as `%2C`.
  func list(_ name: String) -> [String]? {
    parameters.first { $0.name == name }.map { parameter in
      parameter.value.split(separator: UInt8(ascii: ",")).compactMap { URLText.decoded($0, isQuery: true) }
    }
  }
}
