// `/api/classes/CLASS/objects/KEY`, its backlinks, and the contents of its binary values.

import RealmJSON
import RealmPages

extension WebAPI {
  /// The maximum size of an object's text that is sent.
  private static let textLimit = 8 << 20
  static let maxLinks = 500

  /// Calls `body` with a cursor at an object.
  func withObject<R>(
    _ className: String,
    _ key: String,
    _ body: (ObjectCursor, Snapshot) throws -> R
  ) throws -> R {
    let objectKey = try Self.objectKey(key)
    return try browsed.onNewest { snapshot in
      let cursor = ObjectCursor(try snapshot.table(ofClass: className))
      let isFound = try cursor.seek(objectKey)
      if !isFound { throw WebError(404, "no object \(key) in class \(className)") }
      return try body(cursor, snapshot)
    }
  }

  static func objectKey(_ text: String) throws -> ObjKey {
    guard let value = Int64(text), value >= 0 else { throw WebError(404, "'\(text.prefix(40))' is not an object key") }
    return ObjKey(value)
  }

  func object(_ className: String, _ key: String) throws -> WebResponse {
    try withObject(className, key) { cursor, snapshot in
      let rows = RowRenderer(snapshot), out = OutputBuffer()
      out.append("{\"version\":")
      out.append(decimal: snapshot.version)
      out.append(",\"key\":\"")
      out.append(decimal: cursor.key.value)
      out.append("\",\"primaryKey\":")
      rows.appendPrimaryKey(cursor, to: out)
      rows.appendValues(cursor, Array(cursor.table.columns.indices), to: out)
      out.append(",\"json\":")
      try Self.append(cursor, snapshot, to: out)
      out.append("}\n")
      return .json(out)
    }
  }

  /// Appends the object as JSON and the text of its file in a mount, or null and the reason if it cannot be shown.
  private static func append(_ cursor: ObjectCursor, _ snapshot: Snapshot, to out: OutputBuffer) throws {
    let start = out.count
    do throws(RenderError) {
      var size = 0
      for index in cursor.table.columns.indices {
        let value: ValueView
        do { value = try cursor.value(index) } catch { throw RenderError(.damaged(error)) }
        switch value {
        case .string(let bytes), .data(let bytes): size += bytes.count
        default: break
        }
      }
      let text = OutputBuffer(), renderer = ObjectRenderer(snapshot, limit: 2 * textLimit)
      if size <= textLimit {
        try renderer.render(cursor, layout: .compact, into: out)
        if out.count - start <= textLimit { try renderer.render(cursor, layout: .pretty, into: text) }
      }
      if size <= textLimit, out.count - start <= textLimit {
        // Remove the final newline.
        out.truncate(to: out.count - 1)
        out.append(",\"text\":")
        out.append(quoted: text.string)
      } else {
        out.truncate(to: start)
        out.append("null,\"text\":null,\"problem\":")
        out.append(quoted: "the object is too large to be shown; 'realmfs cat' prints it")
      }
    } catch {
      out.truncate(to: start)
      out.append("null,\"text\":null,\"problem\":")
      out.append(quoted: error.description)
    }
  }

  func backlinks(_ className: String, _ key: String, _ target: RequestTarget) throws -> WebResponse {
    let limit = try target.number("limit", 0...Self.maxLinks) ?? 50
    return try withObject(className, key) { cursor, snapshot in
      let out = OutputBuffer()
      out.append("{\"version\":")
      out.append(decimal: snapshot.version)
      out.append(",")
      try Self.appendLinks(to: cursor, snapshot, limit: limit, out)
      out.append("}\n")
      return .json(out)
    }
  }

  /// Appends `"links":[..],"count":..`: the links to the object at a cursor.
  static func appendLinks(
    to cursor: ObjectCursor,
    _ snapshot: Snapshot,
    limit: Int,
    _ out: OutputBuffer
  ) throws {
    let rows = RowRenderer(snapshot)
    var count = 0, shown = 0
    out.append("\"links\":[")
    for source in cursor.table.linkSources {
      let origins = try cursor.origins(from: source.table, source.column)
      if origins.isEmpty { continue }
      count += origins.count
      let table = try snapshot.table(source.table)
      let property = table?.columns.first { $0.key == source.column }?.name ?? ""
      for origin in origins where shown < limit {
        if shown > 0 { out.append(",") }
        shown += 1
        rows.appendLink(source.table, origin, property: property, to: out)
      }
    }
    out.append("],\"count\":")
    out.append(decimal: Int64(count))
  }

  func blob(_ className: String, _ key: String, _ property: String) throws -> WebResponse {
    try withObject(className, key) { cursor, _ in
      let index = try cursor.table.columnIndex(named: property)
      let value: ValueView, bytes: [UInt8], suffix: String
      value = try cursor.value(index)
      switch value {
      case .data(let view): (bytes, suffix) = (view.bytes, "bin")
      case .string(let view): (bytes, suffix) = (view.bytes, "txt")
      default: throw WebError(404, "\(property) has no bytes")
      }
      // Text is never shown as an image.
      let image = suffix == "bin" ? ImageKind(bytes) : nil
      var response = WebResponse(contentType: image?.type ?? "application/octet-stream", body: .bytes(bytes))
      let name = "\(className)-\(key)-\(property).\(image?.rawValue ?? suffix)"
      response.headers = [("Content-Disposition", Self.disposition(image == nil ? "attachment" : "inline", name))]
      return response
    }
  }

  /// Returns a header with a file name that browsers use unchanged.
  static func disposition(_ kind: String, _ name: String) -> String {
    let plain = String(
      name.unicodeScalars.map { scalar in
        scalar.properties.isAlphabetic && scalar.isASCII || "0123456789.-_".unicodeScalars.contains(scalar)
          ? Character(scalar) : "_"
      }
    )
    return "\(kind); filename=\"\(plain)\"; filename*=UTF-8''\(URLText.encoded(name))"
  }
}

/// The image formats that browsers display and that cannot contain scripts.
private enum ImageKind: String {
  case png, jpg, gif, webp

  /// Recognizes an image by its first bytes.
  init?(_ bytes: [UInt8]) {
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      self = .png
    } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
      self = .jpg
    } else if bytes.starts(with: "GIF87a".utf8) || bytes.starts(with: "GIF89a".utf8) {
      self = .gif
    } else if bytes.starts(with: "RIFF".utf8), bytes.dropFirst(8).starts(with: "WEBP".utf8) {
      self = .webp
    } else {
      return nil
    }
  }

  var type: String { self == .jpg ? "image/jpeg" : "image/\(rawValue)" }
}
