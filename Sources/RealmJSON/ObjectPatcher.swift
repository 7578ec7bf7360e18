// Texts into objects: finds or makes the object, works out what differs, and changes only that.
//
// All that differs is planned from what is stored before the first change; so most refusals come before anything was
// changed. What a new embedded object holds is planned when it is made.

public import RealmPages

/// What a text means for the properties that it does not name.
public enum WriteMode: String, Sendable, CaseIterable {
  /// They keep their values.
  case patch
  /// They take their defaults.
  case replace
}

/// Which object a text is for.
public enum PatchTarget: Sendable {
  /// This object, which exists. A primary key in the text must be the object's.
  case object(ObjKey)
  /// A new object. The text has its primary key, if the class has one.
  case new
  /// A new object with this primary key; the text may repeat it.
  case named(Value)
  /// A new object with this key, in a class without primary key.
  case keyed(ObjKey)
  /// The object that has the text's primary key, or else a new one.
  case upsert
}

/// What is done about links whose targets do not exist.
public enum MissingLinks: Sendable {
  /// The text is refused.
  case refuse
  /// They are counted and left out: null, or no element. Applying the same text again, when the targets exist, sets
  /// them and changes nothing else. That is how an import, where objects name later ones, goes over such texts twice.
  case leaveOut
  /// They lead to the targets as soon as these are made, and show their primary keys until then. For versions that are
  /// in memory only. Targets without a primary key must be there.
  case expect
}

/// What a text did.
public struct PatchOutcome: Sendable {
  /// The object.
  public let object: ObjKey
  /// Whether it is new.
  public let wasCreated: Bool
  /// Whether anything was changed.
  public let hasChanged: Bool
  /// The links that were left out.
  public let missingLinks: Int
  /// The required properties of new objects, embedded ones included, that the text did not give.
  public var defaulted: [RequiredProperty] = []
}

/// Writes objects as texts tell them, in one transaction.
///
/// It remembers the classes that it has met, so it is for as long as the schema stays as it is. One thread at a time.
public final class ObjectPatcher {
  /// What becomes of properties that a text does not name.
  public let mode: WriteMode
  /// What is done about links whose targets do not exist.
  public let missingLinks: MissingLinks
  /// Names of members of a text that are no properties and are passed over, with a `$` at the beginning.
  public let ignoredMembers: [String]

  /// Objects without a primary key that have other keys than the texts say: where links to them lead.
  package var renumbered: [ObjectReference: ObjKey] = [:]

  let schemas = SchemaCache()

  /// A patcher that has met no class yet.
  public init(mode: WriteMode = .patch, missingLinks: MissingLinks = .refuse, ignoredMembers: [String] = []) {
    self.mode = mode
    self.missingLinks = missingLinks
    self.ignoredMembers = ignoredMembers
  }

  /// Makes an object be what `text` says.
  ///
  /// Only what differs is written; a text that tells what is stored changes nothing at all. Numbers, dates and the
  /// like count as the same if they have the same text. Lists keep the elements before and after what differs, sets and
  /// dictionaries all that stays, embedded objects and collections in a Mixed are changed in place. A property that is
  /// null is cleared. An embedded object that is given is replaced whole: what its text does not name takes its
  /// default, in both modes.
  ///
  /// On error the transaction may hold a part of the changes: drop it.
  ///
  /// Cost: the size of the text and of what is stored, O(log n) for the object and for each link.
  public func apply(
    _ text: JSONText,
    to target: PatchTarget,
    of table: TableKey,
    in transaction: borrowing WriteTransaction
  ) throws(JSONInputError) -> PatchOutcome {
    schemas.forgetObjects()
    let schema = try schemas.schema(table, transaction)
    guard text.kind(JSONText.root) == .object else {
      throw text.mismatch(JSONText.root, "an object with the properties of \(schema.name)")
    }
    if schema.kind != .topLevel {
      let kind =
        schema.kind == .embedded ? "embedded: its objects are written inside of others" : "asymmetric: read-only"
      throw JSONInputError(.forbidden, "class \(schema.name) is \(kind)")
    }
    switch try resolve(target, text, schema, transaction) {
    case .existing(let object): return try change(object, isNew: false, text, schema, transaction)
    case .new(let new): return try make(new, text, schema, transaction)
    }
  }

  // MARK: the object

  /// An object that is not there yet.
  private struct NewObject {
    var primaryKey: Value?
    var key: ObjKey?
    /// The value that the engine's refusal is about.
    var node = JSONText.root
    /// Whether it was not looked for.
    var mayExist = false
  }

  private enum Resolution {
    case existing(ObjKey)
    case new(NewObject)
  }

  /// Whether the last upsert made an object: then the next one will, most likely.
  private var expectsNew = false

  private func change(
    _ object: ObjKey,
    isNew: Bool,
    _ text: JSONText,
    _ schema: ClassSchema,
    _ transaction: borrowing WriteTransaction
  ) throws(JSONInputError) -> PatchOutcome {
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

  /// Makes an object with all its values at once.
  private func make(
    _ new: NewObject,
    _ text: JSONText,
    _ schema: ClassSchema,
    _ transaction: borrowing WriteTransaction
  ) throws(JSONInputError) -> PatchOutcome {
    var plan = ObjectPlan(text, self, missingLinks)
    plan.ownName = (new.primaryKey ?? new.key.map { .int($0.value) }).map { (schema.key, $0) }
    do throws(JSONInputError) {
      try plan.addObject(JSONText.root, schema, ObjectPlan.unmade, isNew: true, mode: mode, depth: 0, transaction)
    } catch {
      // The link may lead to the object itself.
      guard case .linkTargetMissing = error.kind else { throw error }
      return try makeInSteps(new, text, schema, transaction)
    }
    let object: ObjKey
    do throws(EngineError) { object = try create(new, schema, plan.values, transaction) } catch {
      // Nothing was changed. Step by step the refusal is about one value, whose place can be told.
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

  /// Makes an object with its defaults, and changes it. If it exists after all, it is only changed.
  private func makeInSteps(
    _ new: NewObject,
    _ text: JSONText,
    _ schema: ClassSchema,
    _ transaction: borrowing WriteTransaction
  ) throws(JSONInputError) -> PatchOutcome {
    schemas.forgetObjects()
    let object: ObjKey, isNew: Bool
    do throws(EngineError) {
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
    _ schema: ClassSchema,
    _ values: [(ColKey, Value)],
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) -> ObjKey {
    if let primaryKey = new.primaryKey {
      return try transaction.create(schema.key, primaryKey: primaryKey, values: values)
    }
    return try transaction.create(schema.key, key: new.key, values: values)
  }

  private func resolve(
    _ target: PatchTarget,
    _ text: JSONText,
    _ schema: ClassSchema,
    _ transaction: borrowing WriteTransaction
  ) throws(JSONInputError) -> Resolution {
    switch target {
    case .object(let key):
      guard try schemas.contains(schema, key, transaction) else {
        throw JSONInputError(.missingObject, "\(schema.name) object \(key) does not exist any more")
      }
      try checkPrimaryKey(text, schema, key, transaction)
      return .existing(key)
    case .keyed(let key):
      if schema.primaryKey != nil {
        throw JSONInputError(.keyMismatch, "class \(schema.name) has a primary key; name the object by that")
      }
      return .new(NewObject(key: key))
    case .new, .named, .upsert: break
    }
    guard let column = schema.primaryKey else {
      if case .named = target {
        throw JSONInputError(.keyMismatch, "class \(schema.name) has no primary key; name the object by a number")
      }
      return .new(NewObject())
    }
    let wanted: Value?
    if case .named(let key) = target {
      try text.checkPrimaryKey(of: column, is: key)
      wanted = key
    } else {
      wanted = try text.primaryKey(of: column)
    }
    guard let wanted else {
      throw text.error(.keyMismatch, at: JSONText.root, "the primary key \"\(column.name)\" is missing; add it")
    }
    var new = NewObject(primaryKey: wanted)
    new.node = text.member(column.name, of: JSONText.root) ?? JSONText.root
    guard case .upsert = target else { return .new(new) }
    if expectsNew {
      new.mayExist = true
      return .new(new)
    }
    do throws(EngineError) {
      if let key = try transaction.objectKey(schema.key, primaryKey: wanted) { return .existing(key) }
    } catch {
      throw text.error(error, at: new.node)
    }
    return .new(new)
  }

  private func checkPrimaryKey(
    _ text: JSONText,
    _ schema: ClassSchema,
    _ key: ObjKey,
    _ transaction: borrowing WriteTransaction
  ) throws(JSONInputError) {
    guard let column = schema.primaryKey, let index = schema.primaryKeyIndex,
      let told = try text.primaryKey(of: column),
      let node = text.member(column.name, of: JSONText.root)
    else { return }
    let stored = try schemas.value(schema, key, index, transaction)
    let isSame: Bool
    do throws(EngineError) { isSame = try told.isStored(as: stored) } catch {
      throw text.error(error, at: node)
    }
    if !isSame {
      throw text.error(
        .keyMismatch,
        at: node,
        "\(text.describe(node)) is not this object's primary key, which cannot change; make a new object instead"
      )
    }
  }
}

extension JSONText {
  /// True if the outermost object has a member with this name.
  public func hasMember(_ name: String) -> Bool { member(name, of: Self.root) != nil }

  /// The string that a member of the outermost object holds; nil if there is no such member, or it holds no string.
  public func string(ofMember name: String) -> String? {
    guard let node = member(name, of: Self.root), isString(node) else { return nil }
    return fullString(node)
  }

  /// The integer that a member of the outermost object holds; nil if there is no such member.
  public func integer(ofMember name: String) throws(JSONInputError) -> Int64? {
    guard let node = member(name, of: Self.root), case .int(let value) = try scalar(node, as: .int) else { return nil }
    return value
  }

  /// Refuses a text of an object that gives another primary key than the name of its file.
  public func checkPrimaryKey(of column: Column, is key: Value) throws(JSONInputError) {
    guard let told = try primaryKey(of: column), told != key, let node = member(column.name, of: Self.root) else {
      return
    }
    throw error(
      .keyMismatch,
      at: node,
      "\(describe(node)) is not the primary key of this file's name; make them agree"
    )
  }

  /// The primary key that the text of an object gives; nil if it gives none.
  public func primaryKey(of column: Column) throws(JSONInputError) -> Value? {
    guard let node = member(column.name, of: Self.root) else { return nil }
    if kind(node) == .null {
      if column.isNullable { return .null }
      throw mismatch(node, Self.example(of: column.type))
    }
    return try scalar(node, as: column.type)
  }

  /// The engine's refusal, at the value that it is about.
  func error(_ error: EngineError, at node: Int) -> JSONInputError {
    let kind: JSONInputError.Kind =
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
