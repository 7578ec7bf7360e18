// Leaves without elements in every form that realm-core leaves: as created, and as cleared, which drops the width of
// some to 0. Each accepts values of any size, returns them, and can be emptied and filled again. Source:
// docs/format/1-storage.md S5 to S15.

import Testing

@testable import RealmPages

@Suite("Empty leaves of the engine")
struct EmptyLeafTests {
  /// The header bytes of a leaf, and of the children that it has.
  struct Form: CustomTestStringConvertible {
    let element: ElementType
    let header: String
    var children: [String] = []

    init(_ type: ValueType, isNullable: Bool = true, _ header: String, _ children: [String] = []) {
      element = ElementType(type, isNullable: isNullable)
      self.header = header
      self.children = children
    }

    var testDescription: String { "\(element.type) \(header) \(children)" }
  }

  private static let integers = "00 00 00 00", noNulls = "00 00 00 01"

  static let forms = [
    Form(.int, isNullable: false, integers), Form(.int, isNullable: false, "07 00 00 00"), Form(.int, noNulls),
    Form(.bool, integers), Form(.bool, "02 00 00 00"),
    Form(.float, "0b 00 00 00"), Form(.float, "08 00 00 00"),
    Form(.double, "0c 00 00 00"), Form(.double, "08 00 00 00"),
    Form(.string, "08 00 00 00"), Form(.string, "0d 00 00 00"), Form(.string, "65 00 00 00"),
    Form(.string, "60 00 00 00"),
    Form(.string, "45 00 00 03", [integers, "10 00 00 00", integers]),
    Form(.string, "45 00 00 03", ["05 00 00 00", "11 00 00 00", "01 00 00 00"]),
    Form(.data, "45 00 00 03", [integers, "10 00 00 00", integers]),
    Form(.data, "45 00 00 03", ["05 00 00 00", "11 00 00 00", "01 00 00 00"]),
    Form(.data, "60 00 00 00"), Form(.data, "65 00 00 00"),
    Form(.date, "45 00 00 02", [noNulls, integers]), Form(.date, "45 00 00 02", [noNulls, "06 00 00 00"]),
    Form(.decimal128, "08 00 00 00"), Form(.decimal128, "28 00 00 00"), Form(.decimal128, "0b 00 00 00"),
    Form(.decimal128, "0d 00 00 00"), Form(.decimal128, "2d 00 00 00"),
    Form(.objectID, "08 00 00 00"), Form(.objectID, "09 00 00 00"),
    Form(.uuid, "08 00 00 00"), Form(.uuid, "09 00 00 00"),
    Form(.mixed, "45 00 00 06", [integers]), Form(.mixed, "45 00 00 04", [integers]),
    Form(.mixed, "45 00 00 06", ["07 00 00 00"]),
  ]

  /// The leaf in a file, and an editor of it.
  private func open(_ form: Form, _ body: (NodeEditor, Slot) throws -> Void) throws {
    var bytes = NodeBytes()
    let children = form.children.map { NodeBytes.Element.ref(bytes.add($0)) }
    let slots = form.header.hasPrefix("45") ? Int(form.header.suffix(1)) ?? 0 : 0
    let leaf: Int
    if slots > 0 {
      leaf = bytes.addRefs(children + Array(repeating: .ref(0), count: slots - children.count))
    } else {
      leaf = bytes.add(form.header)
    }
    try bytes.bytes.withUnsafeBytes { memory in
      let space = MemoryPages(memory), slab = Slab(space: space, limit: memory.count)
      let editor = NodeEditor(arena: Arena(space, limit: memory.count, format: 24, slab: slab), slab: slab)
      try body(editor, Slot(parent: slab.makeInts(.hasRefs, [Int64(leaf)]), index: 0))
      #expect(slab.damage == nil)
    }
  }

  /// Values of the forms that a leaf of the type can take.
  private func values(_ element: ElementType, count: Int) -> [Value] {
    (0..<count).map { i in
      if element.isNullable && i % 5 == 1 { return .null }
      let bytes = [UInt8](repeating: UInt8(97 + i % 26), count: [0, 3, 15, 16, 63, 64, 100][i * 7 / count])
      let number = [0, 1, -1, 100, 1 << 20, 1 << 40][i * 6 / count] * Int64(i)
      return switch element.type {
      case .int, .link: .int(number)
      case .bool: .bool(i % 2 == 0)
      case .float: .float(Float(i) / 2)
      case .double: .double(Double(i) / 2)
      case .string: .string(bytes)
      case .data: .data(bytes)
      case .date: .date(Timestamp(seconds: number, nanoseconds: number < 0 ? -Int32(i) : Int32(i)))
      case .decimal128: .decimal128(Decimal128(low: UInt64(number.magnitude), high: 0x3040 << 48))
      case .objectID: .objectID(ObjectID(high: UInt64(i), low: 7))
      case .uuid: .uuid(UniqueID(high: UInt64(i), low: 7))
      case .mixed: i % 3 == 0 ? .string(bytes) : i % 3 == 1 ? .int(number) : .uuid(UniqueID(high: 1, low: UInt64(i)))
      }
    }
  }

  /// The content of the leaf in `slot`.
  private func held(_ editor: NodeEditor, _ slot: Slot, _ element: ElementType) throws -> [Value] {
    let leaf = try ColumnLeaf(editor.arena, editor.ref(slot), element, inTree: false)
    return try (0..<leaf.count).map { try Value(copying: leaf.value($0, editor.arena)) }
  }

  @Test("accept values one by one, and again after these are removed", arguments: forms)
  func oneByOne(form: Form) throws {
    try open(form) { editor, slot in
      #expect(try held(editor, slot, form.element) == [])
      for count in [1, 2, 40] {
        let values = values(form.element, count: count)
        // From the middle outwards, so that elements move.
        for (i, value) in values.enumerated() {
          let order = i % 2 == 0 ? values.count : 0
          let present = try held(editor, slot, form.element).count
          try value.withView { (view) throws(EngineError) in
            try editor.insert(slot, min(order, present), view, form.element, inTree: false)
          }
        }
        var expected: [Value] = []
        for (i, value) in values.enumerated() { expected.insert(value, at: i % 2 == 0 ? expected.count : 0) }
        #expect(try held(editor, slot, form.element) == expected)
        for i in expected.indices.reversed() { try editor.remove(slot, i, form.element) }
        #expect(try held(editor, slot, form.element) == [])
      }
    }
  }

  @Test("accept many values at once, as in a cluster", arguments: forms)
  func together(form: Form) throws {
    for count in [1, 255, 256] {
      try open(form) { editor, slot in
        var column = NewColumn(form.element)
        let values = values(form.element, count: count)
        for value in values { _ = column.append(value) }
        try editor.append(column, 0..<count, to: slot, count: 0)
        #expect(try held(editor, slot, form.element) == values)
      }
    }
  }

  @Test("accept the elements of another leaf, as in a split", arguments: forms)
  func moved(form: Form) throws {
    try open(form) { editor, slot in
      let other = Slot(
        parent: editor.slab.makeInts(.hasRefs, [Int64(editor.makeLeaf(form.element, inTree: false))]),
        index: 0
      )
      let values = values(form.element, count: 30)
      for (i, value) in values.enumerated() {
        try value.withView { (view) throws(EngineError) in
          try editor.insert(other, i, view, form.element, inTree: false)
        }
      }
      try editor.move(other, from: 10, to: slot, form.element, inTree: false)
      #expect(try held(editor, slot, form.element) == Array(values[10...]))
      #expect(try held(editor, other, form.element) == Array(values[..<10]))
    }
  }
}
