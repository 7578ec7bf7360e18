// The classes that a realm is opened with.

import RealmPages

/// The model classes of a realm: those in `objectTypes`, or all classes of the program.
struct WantedClasses: Sendable {
  let classes: [ClassSchema]

  /// Creates classes that a file has, which need no check.
  init(dynamic classes: [ClassSchema]) { self.classes = classes }

  /// Throws if classes are missing or violate a rule.
  init(_ types: [ObjectBase.Type]?) throws {
    var classes: [ClassSchema]
    if let types {
      classes = types.map { ClassSchema.of($0) }
    } else {
      classes = ClassDiscovery.modelClasses.filter { $0.type.shouldIncludeInDefaultSchema() }
        .map { ClassSchema.of($0.type) }
        // Skips classes without properties, which serve only as base classes.
        .filter { !$0.properties.isEmpty }
    }
    var byName: [String: ClassSchema] = [:]
    var problems: [String] = []
    for schema in classes {
      // Two classes may represent the same objects if they have the same stored properties.
      if let other = byName[schema.name], !other.hasSameStorage(as: schema) {
        problems.append(
          "\(String(reflecting: other.type)) and \(String(reflecting: schema.type)) both have the name '\(schema.name)'"
        )
      }
      if byName[schema.name] == nil { byName[schema.name] = schema }
    }
    var known: Set<ObjectIdentifier> = []
    classes = classes.filter { known.insert(ObjectIdentifier($0)).inserted }.sorted { $0.name < $1.name }
    for schema in classes {
      problems += schema.problems
      for property in schema.properties where byName[property.linkedName ?? schema.name] == nil {
        problems.append(
          "'\(schema.name).\(property.name)' links to '\(property.linkedName ?? "")', which is not in objectTypes"
        )
      }
    }
    if !problems.isEmpty {
      throw Realm.Error(.schemaMismatch, "the schema is not valid:\n- " + problems.joined(separator: "\n- "))
    }
    self.classes = classes
  }
}
