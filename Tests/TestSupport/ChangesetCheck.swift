// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Checks that a changeset describes a commit correctly.

package import RealmPages

extension ChangesetDecoder {
  /// Returns what the changeset omits or invents, given the realm before and after; nil if it is correct.
  package func omission(before: RealmModel, after: RealmModel) -> String? {
    for key in selected {
      let table = TableKey(UInt32(truncatingIfNeeded: key))
      let isKnown = before.classes[table] != nil || after.classes[table] != nil || after.otherTables.contains(table)
      if !isKnown && !tables.added.contains(key) { return "selects table \(key)" }
    }
    for (key, new) in after.classes {
      let table = Int64(key.value)
      guard let old = before.classes[key] else {
        if !tables.added.contains(table) { return "says nothing of class \(new.name)" }
        continue
      }
      if old.name != new.name && !tables.renamed.contains(table) { return "does not rename \(new.name)" }
      for property in new.properties {
        guard let known = old.property(property.key) else {
          if !columns.added.contains([table, property.key.value]) {
            return "does not add \(new.name).\(property.name)"
          }
          continue
        }
        if known.name != property.name && !columns.renamed.contains([table, property.key.value]) {
          return "does not rename \(new.name).\(property.name)"
        }
      }
      for property in old.properties where new.property(property.key) == nil {
        if !columns.removed.contains([table, property.key.value]) {
          return "does not remove \(new.name).\(property.name)"
        }
      }
      for (object, values) in new.objects {
        guard let was = old.objects[object] else {
          if new.kind != .embedded && !created.contains([table, object.value]) {
            return "does not create \(new.name) \(object)"
          }
          continue
        }
        // Removed and recreated with the same key.
        if created.contains([table, object.value]) || removed.contains([table, object.value]) { continue }
        for property in new.properties where old.property(property.key) != nil {
          let place = Place(table: table, object: object.value, column: property.key.value)
          if touched.contains(place) { continue }
          guard let a = was[property.key], let b = values[property.key], RealmModel.same(a, b) else {
            return "does not say that \(new.name) \(object), \(property.name) changed"
          }
        }
      }
      for object in old.objects.keys where new.objects[object] == nil {
        if !removed.contains([table, object.value]) { return "does not remove \(new.name) \(object)" }
      }
    }
    for (key, old) in before.classes where after.classes[key] == nil {
      if !tables.removed.contains(Int64(key.value)) { return "does not remove class \(old.name)" }
    }
    return nil
  }
}
