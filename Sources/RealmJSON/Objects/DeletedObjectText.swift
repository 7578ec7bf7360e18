// A deleted object as JSON, with its provenance. docs/FORENSICS.md has the schema.

public import RealmPages

/// The texts of a deleted object.
public struct DeletedObjectText {
  /// The object.
  public let object: DeletedObject
  /// The name of its class.
  public let className: String
  /// The primary key, as JSON; nil without one.
  public let primaryKey: [UInt8]?
  /// The object, as JSON in the layout asked for, without the line break of a compact one.
  public let value: [UInt8]
  /// The nodes that were read for it.
  public let nodes: [DeletedObject.StoredNode]

  /// Renders an object; nil if a later commit has overwritten a part of it.
  ///
  /// Cost: the length of the text.
  public init?(_ object: DeletedObject, style: JSONStyle = .plain, layout: JSONLayout = .compact) {
    self.object = object
    className = object.table.className ?? object.table.name
    // Parts that cannot be read were overwritten. A renderer remembers nodes, so each object gets its own.
    let read = try? object.recordingNodes { () throws(RenderError) -> (key: [UInt8]?, value: [UInt8])? in
      let renderer = ObjectRenderer(object.snapshot, style: style), out = OutputBuffer()
      guard try renderer.render(object.table, object.key, layout: layout, into: out) else { return nil }
      let value = Array(out.bytes.dropLast(layout == .compact ? 1 : 0))
      guard let index = object.table.primaryKeyIndex else { return (nil, value) }
      let cursor = ObjectCursor(object.table)
      do {
        guard try cursor.seek(object.key) else { return nil }
      } catch { return nil }
      out.reset()
      try renderer.render(property: index, of: cursor, into: out)
      return (out.bytes, value)
    }
    guard let read, let texts = read.result else { return nil }
    (primaryKey, value, nodes) = (texts.key, texts.value, read.nodes)
  }

  /// The nodes as a JSON array.
  public var nodesText: [UInt8] {
    let texts = nodes.map {
      "{\"offset\":\($0.offset),\"length\":\($0.length),\"sha256\":\"\($0.sha256)\"}"
    }
    return Array("[\(texts.joined(separator: ","))]".utf8)
  }
}
