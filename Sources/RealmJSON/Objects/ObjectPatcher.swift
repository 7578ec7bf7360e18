// Applies JSON texts to objects: finds or creates the object, computes the difference, and changes only the properties
// that differ.
//
// All changes are planned from the stored values before the first is made, so most errors occur before anything is
// changed. The content of a new embedded object is planned after the object is created.

public import RealmPages

/// The meaning of a text for properties that it omits.
public enum WriteMode: String, Sendable, CaseIterable {
  /// Omitted properties keep their values.
  case patch
  /// Omitted properties are set to their default values.
  case replace
}

/// The object that a text is for.
public enum PatchTarget: Sendable {
  /// This existing object. A primary key in the text must match the object's.
  case object(ObjKey)
  /// A new object. The text contains its primary key, if the class has one. The object gets the preferred object key
  /// if that is free.
  case new(preferring: ObjKey? = nil)
  /// A new object with this primary key; the text may repeat it. The object gets the preferred object key if that is
  /// free.
  case named(Value, preferring: ObjKey? = nil)
  /// A new object with this key, in a class without a primary key.
  case keyed(ObjKey)
  /// The object with the text's primary key, or a new object if none exists.
  case upsert
}

/// The handling of links whose targets do not exist.
public enum MissingLinks: Sendable {
  /// Rejects the text.
  case refuse
  /// Counts such links and omits them: the property is null, or the element is omitted. Applying the same text again
  /// once the targets exist sets the links and changes nothing else. An import does this for texts that link to objects
  /// later in the input.
  case leaveOut
  /// Keeps links that resolve once their targets are created, and that are shown as the targets' primary keys until
  /// then. Only for versions that exist in memory. Targets without a primary key must already exist.
  case expect
}

/// The result of applying a text.
public struct PatchOutcome: Sendable {
  /// The key of the object.
  public let object: ObjKey
  /// True if the object was created.
  public let wasCreated: Bool
  /// True if anything was changed.
  public let hasChanged: Bool
  /// The number of links that were omitted.
  public var missingLinks: Int
  /// The required properties of new objects, including embedded ones, that the text omits.
  public var defaulted: [RequiredProperty] = []
  /// The objects that were created or updated in place of links.
  public var linked: [LinkedObject] = []
}

/// Writes objects from JSON texts, in one transaction.
///
/// It caches the classes that it has used, so the schema must not change during its lifetime. Not thread-safe: one
/// thread at a time.
public final class ObjectPatcher {
  /// The treatment of properties that a text omits.
  public let mode: WriteMode
  /// The handling of links whose targets do not exist.
  public let missingLinks: MissingLinks
  /// Names of members that are ignored although they are not properties; each begins with `$`.
  public let ignoredMembers: [String]
  /// True if an object in place of a link creates or updates the object with its primary key. In a class without a
  /// primary key it creates one.
  public let createsLinked: Bool
  /// The links to the linked objects of the current text, by node.
  var linked: [Int: Value] = [:]

  /// New keys of objects without a primary key that were stored under a different key than the one in the texts. Links
  /// use the new keys.
  package var renumbered: [ObjectReference: ObjKey] = [:]

  let schemas = SchemaCache()

  /// Creates a patcher with an empty cache.
  public init(
    mode: WriteMode = .patch,
    missingLinks: MissingLinks = .refuse,
    ignoredMembers: [String] = [],
    createsLinked: Bool = false
  ) {
    self.createsLinked = createsLinked
    self.mode = mode
    self.missingLinks = missingLinks
    self.ignoredMembers = ignoredMembers
  }

  /// Changes an object to match `text`.
  ///
  /// Only differences are written; a text that matches the stored object changes nothing at all. Numbers, dates and
  /// similar values are equal if they have the same text. Lists keep the elements before and after the difference; sets
  /// and dictionaries keep all unchanged entries; embedded objects and collections in a Mixed are changed in place. A
  /// property that is null in the text is cleared. An embedded object in the text replaces the stored one completely:
  /// properties that its text omits are set to their default values, in both modes.
  ///
  /// On error the transaction may contain part of the changes; the caller must discard it.
  ///
  /// Cost: the size of the text and of the stored object, plus O(log n) for the object and for each link.
  public func apply(
    _ text: JSONText,
    to target: PatchTarget,
    of table: TableKey,
    in transaction: borrowing WriteTransaction
  ) throws(InputError) -> PatchOutcome {
    try apply(text, to: target, of: table, made: [:], in: transaction)
  }

  /// Like `apply(_:to:of:in:)`. `made` contains the linked objects that an earlier application of the text created, by
  /// node.
  func apply(
    _ text: JSONText,
    to target: PatchTarget,
    of table: TableKey,
    made: [Int: ObjKey],
    in transaction: borrowing WriteTransaction
  ) throws(InputError) -> PatchOutcome {
    schemas.forgetObjects()
    let schema = try schemas.schema(table, transaction)
    guard text.kind(JSONText.root) == .object else {
      throw text.mismatch(JSONText.root, "an object with the properties of \(schema.name)")
    }
    if schema.kind != .topLevel {
      let kind =
        schema.kind == .embedded ? "embedded: its objects are written inside of others" : "asymmetric: read-only"
      throw InputError(.forbidden, "class \(schema.name) is \(kind)")
    }
    var linked = LinkedOutcome(made: made)
    self.linked = [:]
    if createsLinked, text.hasInnerObjects {
      try applyLinked(in: JSONText.root, schema, depth: 0, text, &linked, transaction)
      schemas.forgetObjects()
    }
    var outcome =
      switch try resolve(target, text, schema, transaction) {
      case .existing(let object): try change(object, isNew: false, text, schema, transaction)
      case .new(let new): try make(new, text, schema, transaction)
      }
    outcome.missingLinks += linked.missingLinks
    outcome.defaulted += linked.defaulted
    outcome.linked = linked.objects
    return outcome
  }

  // MARK: the object

  /// An object to be created.
  private struct NewObject {
    var primaryKey: Value?
    var key: ObjKey?
    /// The node at which an error of the engine is reported.
    var node = JSONText.root
    /// True if the caller did not check that the object does not exist.
    var mayExist = false
  }

  private enum Resolution {
    case existing(ObjKey)
    case new(NewObject)
  }

  /// True if the last upsert created an object: the next one most likely will as well.
  private var expectsNew = false

  private func change(
    _ object: ObjKey,
    isNew: Bool,
    _ text: JSONText,
    _ schema: CachedClass,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) -> PatchOutcome {
    var plan = ObjectPlan(text, self, missingLinks)
    try plan.addObject(JSONText.root, schema, object, isNew: isNew, mode: mode, depth: 0, transaction)
    let hasChanged = isNew || !plan.steps.isEmpty
    let (missing, defaulted) = try plan.apply(transaction)
    return PatchOutcome(
      object: object,
      wasCreated: isNew,
      hasChanged: hasChanged,
      missingLinks: missing,
      defaulted: defaulted
    )
  }

  /// Creates an object with all its values at once.
  private func make(
    _ new: NewObject,
    _ text: JSONText,
    _ schema: CachedClass,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) -> PatchOutcome {
    var plan = ObjectPlan(text, self, missingLinks)
    plan.ownName = (new.primaryKey ?? new.key.map { .int($0.value) }).map { (schema.key, $0) }
    do {
      try plan.addObject(JSONText.root, schema, ObjectPlan.unmade, isNew: true, mode: mode, depth: 0, transaction)
    } catch {
      // The link may refer to the object itself.
      guard case .linkTargetMissing = error.kind else { throw error }
      return try makeInSteps(new, text, schema, transaction)
    }
    let object: ObjKey
    do { object = try create(new, schema, plan.values, transaction) } catch {
      // Nothing was changed. If the object is created step by step, the error concerns a single value, whose position
      // can be reported.
      return try makeInSteps(new, text, schema, transaction)
    }
    expectsNew = true
    let (missing, defaulted) = try plan.apply(to: object, transaction)
    return PatchOutcome(
      object: object,
      wasCreated: true,
      hasChanged: true,
      missingLinks: missing,
      defaulted: defaulted
    )
  }

  /// Creates an object with default values, then changes it. If the object already exists, it is only changed.
  private func makeInSteps(
    _ new: NewObject,
    _ text: JSONText,
    _ schema: CachedClass,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) -> PatchOutcome {
    schemas.forgetObjects()
    let object: ObjKey, isNew: Bool
    do {
      if new.mayExist, let key = new.primaryKey, let known = try transaction.objectKey(schema.key, primaryKey: key) {
        (object, isNew) = (known, false)
      } else {
        (object, isNew) = (try create(new, schema, [], transaction), true)
      }
    } catch {
      throw text.error(error, at: new.node)
    }
    expectsNew = isNew
    return try change(object, isNew: isNew, text, schema, transaction)
  }

  private func create(
    _ new: NewObject,
    _ schema: CachedClass,
    _ values: [(ColKey, Value)],
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) -> ObjKey {
    if let primaryKey = new.primaryKey {
      return try transaction.create(schema.key, primaryKey: primaryKey, key: new.key, values: values)
    }
    return try transaction.create(schema.key, key: new.key, values: values)
  }

  private func resolve(
    _ target: PatchTarget,
    _ text: JSONText,
    _ schema: CachedClass,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) -> Resolution {
    switch target {
    case .object(let key):
      guard try schemas.contains(schema, key, transaction) else {
        throw InputError(.missingObject, "\(schema.name) object \(key) no longer exists")
      }
      try checkPrimaryKey(text, schema, key, transaction)
      return .existing(key)
    case .keyed(let key):
      if schema.primaryKey != nil {
        throw InputError(.keyMismatch, "class \(schema.name) has a primary key; name the object by that")
      }
      return .new(NewObject(key: key))
    case .new, .named, .upsert: break
    }
    let preferred = preferredKey(target, schema, transaction)
    guard let column = schema.primaryKey else {
      if case .named = target {
        throw InputError(.keyMismatch, "class \(schema.name) has no primary key; name the object by a number")
      }
      return .new(NewObject(key: preferred))
    }
    let wanted: Value?
    if case .named(let key, _) = target {
      try text.checkPrimaryKey(of: column, is: key)
      wanted = key
    } else {
      wanted = try text.primaryKey(of: column)
    }
    guard let wanted else {
      throw text.error(.keyMismatch, at: JSONText.root, "the primary key \"\(column.name)\" is missing; add it")
    }
    var new = NewObject(primaryKey: wanted, key: preferred)
    new.node = text.member(column.name, of: JSONText.root) ?? JSONText.root
    guard case .upsert = target else { return .new(new) }
    if expectsNew {
      new.mayExist = true
      return .new(new)
    }
    do {
      if let key = try transaction.objectKey(schema.key, primaryKey: wanted) { return .existing(key) }
    } catch {
      throw text.error(error, at: new.node)
    }
    return .new(new)
  }

  /// Returns the preferred key of a new object; nil if none is preferred or the key is taken.
  private func preferredKey(
    _ target: PatchTarget,
    _ schema: CachedClass,
    _ transaction: borrowing WriteTransaction
  ) -> ObjKey? {
    switch target {
    case .new(let key?), .named(_, let key?):
      // A key that cannot be looked up counts as in use.
      do { return try schemas.contains(schema, key, transaction) ? nil : key } catch {
        return nil
      }
    default: return nil
    }
  }

  private func checkPrimaryKey(
    _ text: JSONText,
    _ schema: CachedClass,
    _ key: ObjKey,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) {
    guard let column = schema.primaryKey, let index = schema.primaryKeyIndex,
      let told = try text.primaryKey(of: column),
      let node = text.member(column.name, of: JSONText.root)
    else { return }
    let stored = try schemas.value(schema, key, index, transaction)
    let isSame: Bool
    do { isSame = try told.rendersAs(stored) } catch {
      throw text.error(error, at: node)
    }
    if !isSame {
      throw text.error(
        .keyMismatch,
        at: node,
        "\(text.describe(node)) is not this object's primary key, which cannot change; create a new object instead"
      )
    }
  }
}

extension JSONText {
  /// True if the outermost object has a member with this name.
  public func hasMember(_ name: String) -> Bool { member(name, of: Self.root) != nil }

  /// Returns the string in a member of the outermost object; nil if there is no such member or it is not a string.
  public func string(ofMember name: String) -> String? {
    guard let node = member(name, of: Self.root), isString(node) else { return nil }
    return fullString(node)
  }

  /// Returns the integer in a member of the outermost object; nil if there is no such member.
  public func integer(ofMember name: String) throws(InputError) -> Int64? {
    guard let node = member(name, of: Self.root), case .int(let value) = try scalar(node, as: .int) else { return nil }
    return value
  }

  /// Throws if the text of an object contains a different primary key than the name of its file.
  public func checkPrimaryKey(of column: Column, is key: Value) throws(InputError) {
    guard let told = try primaryKey(of: column), told != key, let node = member(column.name, of: Self.root) else {
      return
    }
    throw error(
      .keyMismatch,
      at: node,
      "\(describe(node)) does not match the primary key in the file name; make them agree"
    )
  }

  /// Returns the primary key in the text of an object; nil if it contains none.
  public func primaryKey(of column: Column) throws(InputError) -> Value? {
    try primaryKey(of: column, at: Self.root)
  }

  /// Returns the primary key in the object at `object`; nil if it contains none.
  func primaryKey(of column: Column, at object: Int) throws(InputError) -> Value? {
    guard let node = member(column.name, of: object) else { return nil }
    if kind(node) == .null {
      if column.isNullable { return .null }
      throw mismatch(node, Self.example(of: column.type))
    }
    return try scalar(node, as: column.type)
  }

  /// Converts an error of the engine into one at the position of the value that caused it.
  func error(_ error: EngineError, at node: Int) -> InputError {
    let kind: InputError.Kind =
      switch error.reason {
      case .wrongType: .wrongType
      case .duplicateKey: .duplicate
      case .overLimit: .overLimit
      case .forbidden: .forbidden
      default: .engine(error)
      }
    return self.error(kind, at: node, error.description)
  }
}
