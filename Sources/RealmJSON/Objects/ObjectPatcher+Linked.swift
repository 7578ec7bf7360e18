// Objects in place of links: `"author": {"id": 4, "name": "Ann"}` creates or updates the author, and the link
// refers to it. They are applied before the text that contains them is planned, innermost first.

public import RealmPages

/// An object that a text created or updated in place of a link.
public struct LinkedObject: Sendable {
  /// The object.
  public let object: ObjectReference
  /// True if the object was created.
  public let wasCreated: Bool
  /// True if anything was changed.
  public let hasChanged: Bool
  /// Its node in the text.
  let node: Int
}

/// The results of applying the linked objects of a text.
struct LinkedOutcome {
  /// The objects that an earlier application of the same text created, by node.
  let made: [Int: ObjKey]
  var objects: [LinkedObject] = []
  var missingLinks = 0
  var defaulted: [RequiredProperty] = []
}

extension ObjectPatcher {
  /// Applies the linked objects in the object at `node`, and stores the links to them in `linked`.
  func applyLinked(
    in node: Int,
    _ schema: CachedClass,
    depth: Int,
    _ text: JSONText,
    _ outcome: inout LinkedOutcome,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) {
    if depth > ObjectPlan.depthLimit {
      throw text.error(.overLimit, at: node, "more than \(ObjectPlan.depthLimit) levels of objects and collections")
    }
    for (name, value) in text.members(node) {
      let bytes = text.content(name)
      guard let index = schema.names.firstIndex(where: { $0.elementsEqual(bytes) }) else { continue }
      let column = schema.columns[index]
      guard column.type == .link, let key = column.targetTable else { continue }
      let target = try schemas.schema(key, transaction)
      for item in Self.items(value, column, text) where text.kind(item) == .object && !text.isNotation(item) {
        if target.kind == .embedded {
          try applyLinked(in: item, target, depth: depth + 1, text, &outcome, transaction)
        } else {
          linked[item] = .link(key, try applyLinked(item, target, depth: depth + 1, text, &outcome, transaction))
        }
      }
    }
  }

  /// Returns the nodes of the values in a property.
  private static func items(_ value: Int, _ column: Column, _ text: JSONText) -> [Int] {
    switch column.collection {
    case nil: [value]
    case .list, .set: Array(text.elements(value))
    case .dictionary: text.members(text.wrapper(value)?.value ?? value).map(\.value)
    }
  }

  /// Creates or updates the object at `node` and returns its key.
  private func applyLinked(
    _ node: Int,
    _ schema: CachedClass,
    depth: Int,
    _ text: JSONText,
    _ outcome: inout LinkedOutcome,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) -> ObjKey {
    try applyLinked(in: node, schema, depth: depth, text, &outcome, transaction)
    schemas.forgetObjects()
    var primaryKey: Value?
    if let column = schema.primaryKey {
      primaryKey = try text.primaryKey(of: column, at: node)
      if primaryKey == nil {
        throw text.error(
          .keyMismatch,
          at: node,
          "the primary key \"\(column.name)\" of the \(schema.name) is missing; add it"
        )
      }
    }
    let object: ObjKey, isNew: Bool
    do {
      if let known = outcome.made[node] {
        (object, isNew) = (known, false)
      } else if let primaryKey {
        let known = try transaction.objectKey(schema.key, primaryKey: primaryKey)
        isNew = known == nil
        if let known { object = known } else { object = try transaction.create(schema.key, primaryKey: primaryKey) }
      } else {
        (object, isNew) = (try transaction.create(schema.key), true)
      }
    } catch { throw text.error(error, at: node) }
    var plan = ObjectPlan(text, self, missingLinks)
    try plan.addObject(node, schema, object, isNew: isNew, mode: mode, depth: depth, transaction)
    let hasChanged = isNew || !plan.steps.isEmpty
    let (missing, defaulted) = try plan.apply(transaction)
    outcome.missingLinks += missing
    outcome.defaulted += defaulted
    let reference = ObjectReference(table: schema.key, key: object)
    outcome.objects.append(
      LinkedObject(object: reference, wasCreated: isNew, hasChanged: hasChanged, node: node)
    )
    return object
  }
}

extension JSONText {
  /// True if the outermost object contains another object.
  var hasInnerObjects: Bool { nodes.dropFirst().contains { $0.kind == .object } }

  /// True for an object whose first member begins with `$`: a reference or a key in Extended JSON, not an object of a
  /// class.
  func isNotation(_ node: Int) -> Bool {
    for (name, _) in members(node) { return content(name).first == UInt8(ascii: "$") }
    return false
  }
}
