// Edits leaves of any column or collection type, with one switch per operation. Sources:
// docs/format/1-storage.md S5 to S15.

import Glibc

extension ElementType {
  /// The default value of this type's columns in a new object, as in Realm.
  var defaultValue: Value {
    if isNullable { return .null }
    return switch type {
    case .int: .int(0)
    case .bool: .bool(false)
    case .float: .float(0)
    case .double: .double(0)
    case .string: .string([])
    case .data: .data([])
    case .date: .date(Timestamp(seconds: 0, nanoseconds: 0))
    case .decimal128: .decimal128(.zero)
    case .objectID: .objectID(ObjectID(high: 0, low: 0))
    case .uuid: .uuid(UniqueID(high: 0, low: 0))
    case .mixed, .link: .null
    }
  }
}

extension NodeEditor {
  /// Creates an empty leaf of `element`s and returns its ref.
  func makeLeaf(_ element: ElementType, inTree: Bool) -> Int {
    switch element.type {
    case .int: element.isNullable ? makeNullableInts() : slab.makeInts()
    case .bool, .link: slab.makeInts()
    case .float: makeElements(width: 4)
    case .double: makeElements(width: 8)
    case .string: makeStrings()
    case .data: makeBinaries()
    case .date: slab.makeInts(.hasRefs, [Int64(makeNullableInts()), Int64(slab.makeInts())])
    case .decimal128: makeDecimals()
    case .objectID, .uuid: makeFixedBytes()
    case .mixed: MixedEditor.make(self)
    }
  }

  /// Inserts `value`, which must be of the element's type, before element `index` of the leaf in `slot`.
  func insert(_ slot: Slot, _ index: Int, _ value: ValueView, _ element: ElementType, inTree: Bool) throws(EngineError)
  {
    switch element.type {
    case .int:
      let ref = try dirty(slot)
      if element.isNullable {
        insertNullableInt(ref, index, Self.int(value))
      } else {
        slab.insertInt(ref, index, Self.int(value) ?? 0)
      }
    case .bool: slab.insertInt(try dirty(slot), index, Self.bool(value))
    case .link: slab.insertInt(try dirty(slot), index, Self.link(value, inTree: inTree))
    case .float:
      unsafe openElement(try elements(slot, width: 4), index).storeBytes(of: Self.float(value), as: UInt32.self)
    case .double:
      unsafe openElement(try elements(slot, width: 8), index).storeBytes(of: Self.double(value), as: UInt64.self)
    case .string:
      try unsafe insertString(slot, index, Self.bytes(value))
    case .data: try unsafe insertBinary(slot, index, Self.bytes(value))
    case .date:
      let root = try dirty(slot), date = Self.date(value)
      insertNullableInt(try slab.child(root, 0, arena), index, date?.seconds)
      slab.insertInt(try slab.child(root, 1, arena), index, Int64(date?.nanoseconds ?? 0))
    case .decimal128: try insertDecimal(try dirty(slot), index, Self.decimal(value))
    case .objectID, .uuid:
      let ref = try dirty(slot)
      unsafe withFill(value) { unsafe insertFixed(ref, index, element.type == .objectID ? 12 : 16, $0) }
    case .mixed: try MixedEditor(self, slot).insert(index, value)
    }
  }

  /// Replaces element `index` of the leaf in `slot`.
  func set(_ slot: Slot, _ index: Int, _ value: ValueView, _ element: ElementType, inTree: Bool) throws(EngineError) {
    switch element.type {
    case .int:
      let ref = try dirty(slot)
      if element.isNullable {
        setNullableInt(ref, index, Self.int(value))
      } else {
        slab.setInt(ref, index, Self.int(value) ?? 0)
      }
    case .bool: slab.setInt(try dirty(slot), index, Self.bool(value))
    case .link: slab.setInt(try dirty(slot), index, Self.link(value, inTree: inTree))
    case .float:
      unsafe self.element(try elements(slot, width: 4), index).storeBytes(of: Self.float(value), as: UInt32.self)
    case .double:
      unsafe self.element(try elements(slot, width: 8), index).storeBytes(of: Self.double(value), as: UInt64.self)
    case .string:
      try unsafe setString(slot, index, Self.bytes(value))
    case .data: try unsafe setBinary(slot, index, Self.bytes(value))
    case .date:
      let root = try dirty(slot), date = Self.date(value)
      setNullableInt(try slab.child(root, 0, arena), index, date?.seconds)
      slab.setInt(try slab.child(root, 1, arena), index, Int64(date?.nanoseconds ?? 0))
    case .decimal128: try setDecimal(try dirty(slot), index, Self.decimal(value))
    case .objectID, .uuid:
      let ref = try dirty(slot)
      unsafe withFill(value) { unsafe setFixed(ref, index, element.type == .objectID ? 12 : 16, $0) }
    case .mixed: try MixedEditor(self, slot).set(index, value)
    }
  }

  /// Removes element `index` of the leaf in `slot`.
  func remove(_ slot: Slot, _ index: Int, _ element: ElementType) throws(EngineError) {
    switch element.type {
    case .int: slab.removeInt(try dirty(slot), element.isNullable ? index + 1 : index)
    case .bool, .link: slab.removeInt(try dirty(slot), index)
    case .float, .double, .decimal128: closeElement(try dirty(slot), index)
    case .string:
      try removeString(slot, index)
    case .data: try removeBinary(slot, index)
    case .date:
      let root = try dirty(slot)
      slab.removeInt(try slab.child(root, 0, arena), index + 1)
      slab.removeInt(try slab.child(root, 1, arena), index)
    case .objectID, .uuid: removeFixed(try dirty(slot), index, element.type == .objectID ? 12 : 16)
    case .mixed: try MixedEditor(self, slot).remove(index)
    }
  }

  /// Moves the elements from `start` on in the leaf in `source` to the end of the leaf in `target`.
  func move(_ source: Slot, from start: Int, to target: Slot, _ element: ElementType, inTree: Bool) throws(EngineError)
  {
    if element.type == .mixed {
      let from = try MixedEditor(self, source), to = try MixedEditor(self, target)
      let values = try MixedLeaf(arena, from.root)
      let count = values.count
      for i in start..<max(start, count) { try to.take(i, from: from, as: MixedLeaf(arena, from.root).value(i, arena)) }
      for i in (start..<max(start, count)).reversed() { try from.remove(i) }
      return
    }
    let leaf = try ColumnLeaf(arena, ref(source), element, inTree: inTree, enumRef: 0)
    let count = leaf.count
    var end = try ColumnLeaf(arena, ref(target), element, inTree: inTree).count
    for i in start..<max(start, count) {
      try insert(target, end, leaf.value(i, arena), element, inTree: inTree)
      end += 1
    }
    for i in (start..<max(start, count)).reversed() { try remove(source, i, element) }
  }

  // MARK: parts of values

  static func int(_ value: ValueView) -> Int64? {
    if case .int(let value) = value { value } else { nil }
  }

  static func bool(_ value: ValueView) -> Int64 {
    if case .bool(let value) = value { value ? 1 : 0 } else { 3 }
  }

  static func link(_ value: ValueView, inTree: Bool) -> Int64 {
    let key: Int64 = if case .link(_, let key) = value { key.value } else { -1 }
    return inTree ? key : key + 1
  }

  static func float(_ value: ValueView) -> UInt32 {
    if case .float(let value) = value { value.bitPattern.littleEndian } else { UInt32(0x7fc0_00aa).littleEndian }
  }

  static func double(_ value: ValueView) -> UInt64 {
    if case .double(let value) = value {
      value.bitPattern.littleEndian
    } else {
      UInt64(0x7ff8_0000_0000_00aa).littleEndian
    }
  }

  static func bytes(_ value: ValueView) -> UnsafeRawBufferPointer? {
    switch value {
    case .string(let bytes), .data(let bytes): unsafe bytes.unsafeBytes
    default: nil
    }
  }

  static func date(_ value: ValueView) -> Timestamp? {
    if case .date(let value) = value { value } else { nil }
  }

  private static func decimal(_ value: ValueView) -> Decimal128? {
    if case .decimal128(let value) = value { value } else { nil }
  }

  private func withFill(_ value: ValueView, _ body: (((UnsafeMutableRawPointer) -> Void)?) -> Void) {
    switch value {
    case .objectID(let id):
      unsafe body { target in
        unsafe id.withBytes { _ = unsafe memcpy(target, $0.baseAddress ?? UnsafeRawPointer(target), 12) }
      }
    case .uuid(let id):
      unsafe body { target in
        unsafe id.withBytes { _ = unsafe memcpy(target, $0.baseAddress ?? UnsafeRawPointer(target), 16) }
      }
    default: body(nil)
    }
  }
}
