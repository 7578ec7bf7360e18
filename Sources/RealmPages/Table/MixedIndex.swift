// Finding objects by a value through the search index of a Mixed property. Numbers of all types are equal by value, but
// not all have the same bytes in the index, so each form that an equal number can have is looked up. Source:
// docs/format/2-model.md M9, M10, M15.

extension Table {
  /// The objects whose Mixed property has this value, in ascending order; nil if the index does not tell.
  func objectKeys(mixed column: Column, is value: ValueView) throws(EngineError) -> [ObjKey]? {
    guard column.indexRef != 0, arena.format == 24, let forms = Self.indexedForms(of: value) else { return nil }
    let objects = objects, arena = arena, position = column.key.leafPosition
    let index = SearchIndex(arena: arena, rootRef: column.indexRef)
    var found: Set<ObjKey> = []
    do throws(EngineError) {
      for form in forms {
        // Realm's own engine takes an object out of the index as null that is listed as the link which it was. What
        // else is listed below the word of null may be lost by that.
        if IndexData(form).key(0) == 0 { return nil }
        let keys = try index.all(form) { (key) throws(EngineError) in
          guard key.value >= 0, let (cluster, row) = try objects.place(of: UInt64(key.value)) else { return false }
          return try value.order(column.leaf(arena, cluster.leafRef(position)).value(row, arena)) == 0
        }
        found.formUnion(keys)
      }
    } catch {
      // A damaged index is only a lost shortcut: the objects themselves are asked.
      return nil
    }
    return found.sorted()
  }

  /// Values with all index data that values equal to this one have; nil if these cannot be told.
  private static func indexedForms(of value: ValueView) -> [ValueView]? {
    switch value {
    case .string, .data, .bool, .date, .objectID, .uuid: return [value]
    case .int(let number):
      // Each is exactly one double.
      return number.magnitude < 1 << 53 ? forms(of: Double(number)) : nil
    case .float(let number): return number.magnitude < 0x1p53 ? decimal(value) + forms(of: Double(number)) : nil
    case .double(let number): return number.magnitude < 0x1p53 ? decimal(value) + forms(of: number) : nil
    // Many doubles can equal one decimal. The entries of null and of links can be stale.
    case .decimal128, .null, .link, .list, .set, .dictionary: return nil
    }
  }

  private static func forms(of number: Double) -> [ValueView] {
    var forms: [ValueView] = [.double(number)]
    if let whole = Int64(exactly: number) { forms.append(.int(whole)) }
    if let short = Float(exactly: number) { forms.append(.float(short)) }
    return forms
  }

  /// Decimals that equal a number equal its first digits, and are listed without their fraction.
  private static func decimal(_ value: ValueView) -> [ValueView] { [.decimal128(Decimal128(comparing: value))] }
}
