// Finds objects by value through the search index of a Mixed property. Numbers of different types can be equal but
// differ in their index data, so the lookup tries each form that an equal number can have. Source:
// docs/format/2-model.md M9, M10, M15.

extension Table {
  /// Returns the objects whose Mixed property equals `value`, in ascending order; nil if the index cannot answer.
  func objectKeys(mixed column: Column, is value: ValueView) throws(EngineError) -> [ObjKey]? {
    guard column.indexRef != 0, arena.format == 24, let forms = Self.indexedForms(of: value) else { return nil }
    let objects = objects, arena = arena, position = column.key.leafPosition
    let index = SearchIndex(arena: arena, rootRef: column.indexRef)
    var found: Set<ObjKey> = []
    do {
      for form in forms {
        // When removing the entry of an object whose link became null, Realm's engine looks it up as null, not as the
        // link. This can drop other entries that share null's first word.
        if IndexData(form).key(0) == 0 { return nil }
        let keys = try index.all(form) { (key) throws(EngineError) in
          guard key.value >= 0, let (cluster, row) = try objects.place(of: UInt64(key.value)) else { return false }
          return try value.order(column.leaf(arena, cluster.leafRef(position)).value(row, arena)) == 0
        }
        found.formUnion(keys)
      }
    } catch {
      // If the index is damaged, the caller reads the objects instead.
      return nil
    }
    return found.sorted()
  }

  /// Values that cover the index data of all values equal to this one; nil if these cannot be enumerated.
  private static func indexedForms(of value: ValueView) -> [ValueView]? {
    switch value {
    case .string, .data, .bool, .date, .objectID, .uuid: return [value]
    case .int(let number):
      // Each of these integers is exactly one double.
      return number.magnitude < 1 << 53 ? forms(of: Double(number)) : nil
    case .float(let number): return number.magnitude < 0x1p53 ? decimal(value) + forms(of: Double(number)) : nil
    case .double(let number): return number.magnitude < 0x1p53 ? decimal(value) + forms(of: number) : nil
    // Many doubles can equal one decimal. Entries of null and of links can be stale.
    case .decimal128, .null, .link, .list, .set, .dictionary: return nil
    }
  }

  private static func forms(of number: Double) -> [ValueView] {
    var forms: [ValueView] = [.double(number)]
    if let whole = Int64(exactly: number) { forms.append(.int(whole)) }
    if let short = Float(exactly: number) { forms.append(.float(short)) }
    return forms
  }

  /// Returns the form of decimals that equal the number: rounded to the digits that comparisons use. The index stores
  /// decimals without their fraction.
  private static func decimal(_ value: ValueView) -> [ValueView] { [.decimal128(Decimal128(comparing: value))] }
}
