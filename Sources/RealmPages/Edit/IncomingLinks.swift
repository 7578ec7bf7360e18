// The links to an object, each with its location, so that they can be restored when the object is created again after a
// deletion. A deletion sets single links and entries of dictionaries to null, and removes elements of lists and sets.

/// A location that links to an object.
public struct IncomingLink: Hashable, Sendable {
  /// The object that holds the link; for an embedded object itself, not its owner.
  public let origin: ObjectReference
  /// The property.
  public let column: ColKey
  /// The path within the property; empty for a single value and for a set.
  public let path: [PathStep]
}

extension GroupEditor {
  /// All links from other objects, in the order in which `restore` can set them again; nil if there are more than
  /// `limit`.
  func incomingLinks(
    of target: TableEditor,
    _ object: ObjKey,
    limit: Int = .max
  ) throws(EngineError) -> [IncomingLink]? {
    var found: [IncomingLink] = []
    for backlink in target.backlinks {
      guard let (origin, column) = try origin(of: backlink) else { continue }
      let keys = try origins(target, object, backlink.key)
      if keys.count > limit - found.count { return nil }
      for key in Set(keys).sorted() where origin.key != target.key || key != object {
        guard let value = try origin.read(key, column) else { continue }
        try Self.collect(value, [], ObjectReference(table: target.key, key: object)) { path in
          found.append(
            IncomingLink(
              origin: ObjectReference(table: origin.key, key: key),
              column: column.key,
              path: column.collection == .set ? [] : path
            )
          )
        }
      }
    }
    return found
  }

  /// Passes the paths of all links to `target` in a value to `found`.
  private static func collect(
    _ value: ValueView,
    _ path: [PathStep],
    _ target: ObjectReference,
    _ found: ([PathStep]) -> Void
  ) throws(EngineError) {
    switch value {
    case .link(let table, let key): if table == target.table && key == target.key { found(path) }
    case .list(var list), .set(var list):
      for index in 0..<list.count { try collect(list.value(at: index), path + [.index(index)], target, found) }
    case .dictionary(var dictionary):
      for index in 0..<dictionary.count {
        let inner = try dictionary.value(at: index)
        switch inner {
        case .link, .list, .dictionary:
          try collect(inner, path + [.key(dictionary.key(at: index).bytes)], target, found)
        default: break
        }
      }
    default: break
    }
  }
}

extension WriteTransaction {
  /// All links from other objects, in the order in which `restore` can set them again; nil if there are more than
  /// `limit`. Cost: proportional to the size of the properties that hold the links.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func incomingLinks(
    of table: TableKey,
    _ object: ObjKey,
    limit: Int = .max
  ) throws(EngineError) -> [IncomingLink]? {
    try group.incomingLinks(of: group.table(table), object, limit: limit)
  }

  private static func read(
    _ table: TableEditor,
    _ object: ObjKey,
    _ column: Column
  ) throws(EngineError) -> ValueView? {
    try table.read(object, column)
  }

  /// Restores a link, to `target`, which must exist. In a list it is inserted at its previous position, or at the end
  /// if the list is shorter now. Returns false and changes nothing if the location no longer exists or holds another
  /// value.
  ///
  /// - Throws: `notFound` if there is no such target, `damaged`.
  public func restore(_ link: IncomingLink, to target: ObjectReference) throws(EngineError) -> Bool {
    let (table, object) = (link.origin.table, link.origin.key)
    do {
      let origin = try group.table(table)
      guard let index = origin.columnIndex(link.column), try group.has(origin, object) else { return false }
      let column = origin.columns[index], value = Value.link(target.table, target.key)
      let parent = Array(link.path.dropLast())
      switch (link.path.last, column.collection) {
      case (nil, .set):
        if try !add(table, object, column.key, value) { return false }
      case (nil, nil):
        guard case .null = try Self.read(origin, object, column) else { return false }
        try set(table, object, column.key, value)
      case (.index(let index), _):
        let count = try count(table, object, column.key, path: parent)
        try insert(table, object, column.key, path: parent, at: min(index, count), value)
      case (.key(let key), _):
        guard try collection(table, object, column.key, parent).hasNull(key: key) else { return false }
        try set(table, object, column.key, path: parent, entry: key, value)
      case (nil, .list), (nil, .dictionary): return false
      }
      return true
    } catch {
      // The schema or the object has changed since.
      if error.reason == .notFound || error.reason == .wrongType { return false }
      throw error
    }
  }
}
