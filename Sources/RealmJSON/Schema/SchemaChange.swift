// Computes the steps from one schema to another, and which of them lose or convert data.
//
// Lossless steps are always allowed; the others require a higher schema version, so that saving an old copy of a schema
// file does not drop properties.

public import RealmPages

/// The steps from one schema to another.
public struct SchemaChange: Sendable {
  /// A single change, identified by names.
  public enum Step: Hashable, Sendable {
    case addClass(String, TableKind)
    case removeClass(String)
    case addProperty(String, PropertyDescription)
    case removeProperty(String, String)
    /// Allows null or disallows it; disallowing it replaces nulls with the type's default value.
    case setNullable(String, String, Bool)
    case addIndex(String, String, IndexKind)
    case removeIndex(String, String)
    /// Nil removes the primary key.
    case setPrimaryKey(String, String?)
    case setVersion(UInt64)
  }

  /// The steps in the order of their application.
  public private(set) var steps: [Step] = []
  /// Descriptions of lost or converted data; empty if there is none.
  public private(set) var losses: [String] = []

  /// True if nothing changes.
  public var isEmpty: Bool { steps.isEmpty }

  /// Computes the change of a complete schema.
  ///
  /// Classes and properties are matched by name; their order does not matter. A property whose type changes is removed
  /// and added again, so its values are lost. Changes to a class in `emptyClasses`, which has no objects, lose nothing.
  ///
  /// - Throws: if the change loses or converts data and the version does not increase, if the version decreases, or if
  ///   the change is not possible.
  package init(
    from old: SchemaDescription,
    to new: SchemaDescription,
    emptyClasses: Set<ExactName> = []
  ) throws(SchemaChangeError) {
    var removed: [Step] = [], classes: [Step] = [], properties: [Step] = [], indexes: [Step] = [], keys: [Step] = []
    func isLoss(in name: String) -> Bool { !emptyClasses.contains(ExactName(name)) }

    for known in old.classes where new[known.name] == nil {
      // Remove links first, so that classes that link to each other can be removed together.
      for property in known.properties where property.type == .link && !property.target.isExactly(known.name) {
        removed.append(.removeProperty(known.name, property.name))
      }
      if isLoss(in: known.name) { losses.append("removes class \(known.name) with its objects") }
    }
    for wanted in new.classes {
      try Self.checkLinks(of: wanted, in: new)
      guard let known = old[wanted.name] else {
        classes.append(.addClass(wanted.name, wanted.kind))
        for property in wanted.properties {
          properties.append(.addProperty(wanted.name, property))
          if let index = property.index { indexes.append(.addIndex(wanted.name, property.name, index)) }
        }
        if let key = wanted.primaryKey { keys.append(.setPrimaryKey(wanted.name, key)) }
        continue
      }
      if known.kind != wanted.kind {
        throw SchemaChangeError(
          .unsupported,
          "class \(wanted.name) is \(Self.name(of: known.kind)) and cannot become \(Self.name(of: wanted.kind)); "
            + "make another class"
        )
      }
      if !known.primaryKey.isExactly(wanted.primaryKey) {
        if known.primaryKey != nil { removed.append(.setPrimaryKey(wanted.name, nil)) }
        if isLoss(in: wanted.name) {
          let names = (known.primaryKey ?? "none", wanted.primaryKey ?? "none")
          losses.append("changes the primary key of \(wanted.name) from \(names.0) to \(names.1)")
        }
      }
      var isKeyNew = !known.primaryKey.isExactly(wanted.primaryKey)
      for property in known.properties where wanted[property.name] == nil {
        removed.append(.removeProperty(wanted.name, property.name))
        if isLoss(in: wanted.name) { losses.append("removes \(wanted.name).\(property.name) with its values") }
      }
      for property in wanted.properties {
        let place = "\(wanted.name).\(property.name)"
        guard let before = known[property.name] else {
          properties.append(.addProperty(wanted.name, property))
          if let index = property.index { indexes.append(.addIndex(wanted.name, property.name, index)) }
          continue
        }
        if before.type != property.type || before.collection != property.collection
          || !before.target.isExactly(property.target)
        {
          removed.append(.removeProperty(wanted.name, property.name))
          properties.append(.addProperty(wanted.name, property))
          if let index = property.index { indexes.append(.addIndex(wanted.name, property.name, index)) }
          if property.name.isExactly(wanted.primaryKey) { isKeyNew = true }
          if isLoss(in: wanted.name) {
            losses.append("changes \(place) from \(before.typeText) to \(property.typeText): its values are lost")
          }
          continue
        }
        if before.isNullable != property.isNullable {
          properties.append(.setNullable(wanted.name, property.name, property.isNullable))
          if !property.isNullable && isLoss(in: wanted.name) {
            losses.append("makes \(place) required: null becomes the type's default")
          }
        }
        if before.index != property.index {
          if before.index != nil { removed.append(.removeIndex(wanted.name, property.name)) }
          if let index = property.index { indexes.append(.addIndex(wanted.name, property.name, index)) }
        }
      }
      if isKeyNew, let key = wanted.primaryKey { keys.append(.setPrimaryKey(wanted.name, key)) }
    }
    for known in old.classes where new[known.name] == nil { removed.append(.removeClass(known.name)) }
    steps = removed + classes + properties + indexes + keys
    try checkVersion(old.version, new.version)
    if let version = new.version, version != old.version { steps.append(.setVersion(version)) }
  }

  /// Computes the change of one class; the other classes and the version do not change.
  package init(
    from old: SchemaDescription,
    toClass wanted: ClassDescription,
    emptyClasses: Set<ExactName> = []
  ) throws(SchemaChangeError) {
    var new = old
    new.version = nil
    if let index = new.classes.firstIndex(where: { $0.name.isExactly(wanted.name) }) {
      new.classes[index] = wanted
    } else {
      new.classes.append(wanted)
    }
    try self.init(from: old, to: new, emptyClasses: emptyClasses)
  }

  private func checkVersion(_ old: UInt64?, _ new: UInt64?) throws(SchemaChangeError) {
    if let old, let new, new < old {
      throw SchemaChangeError(
        .oldVersion,
        "the realm has schema version \(old), this schema has version \(new); start from the newest schema"
      )
    }
    let hasGrown = new.map { new in old.map { new > $0 } ?? true } ?? false
    if !losses.isEmpty && !hasGrown {
      let next = old.map { "\($0 &+ 1)" } ?? "1"
      throw SchemaChangeError(
        .needsVersion(losses),
        "this change loses or converts data: it \(losses.joined(separator: "; it ")). To make it, set "
          + "\"schemaVersion\" to \(next) or more in the whole schema; now it is \(old.map { "\($0)" } ?? "not set")"
      )
    }
  }

  private static func checkLinks(of wanted: ClassDescription, in new: SchemaDescription) throws(SchemaChangeError) {
    for property in wanted.properties {
      if property.type == .link, property.target.flatMap({ new[$0] }) == nil {
        let target = property.target ?? "nothing"
        let hint = PropertyDescription.hint(forType: target, classes: new.classes.map(\.name))
        throw SchemaChangeError(
          .invalid,
          "\(wanted.name).\(property.name): \(target) is neither a type nor a class\(hint)"
        )
      }
    }
  }

  private static func name(of kind: TableKind) -> String {
    switch kind {
    case .topLevel: "a top-level class"
    case .embedded: "embedded"
    case .asymmetric: "asymmetric"
    }
  }
}

/// The reason that a schema is rejected.
///
/// Nothing was changed, unless the reason is `engine`, in which case the transaction may contain part of the change.
public struct SchemaChangeError: Error, Sendable, CustomStringConvertible {
  /// The kinds of error that a program distinguishes.
  public enum Reason: Sendable {
    /// Data would be lost or converted, as described, and the schema version does not increase.
    case needsVersion([String])
    /// The schema version is lower than that of the realm.
    case oldVersion
    /// The schema is inconsistent.
    case invalid
    /// The change is not possible.
    case unsupported
    /// The engine rejected the change.
    case engine(EngineError)
  }

  /// The kind of error, for programs.
  public let reason: Reason
  /// The problem and its remedy, on one line.
  public let description: String

  init(_ reason: Reason, _ description: String) {
    self.reason = reason
    self.description = description
  }

  init(_ error: EngineError) { self.init(.engine(error), error.description) }
}
