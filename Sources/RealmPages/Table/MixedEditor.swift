// Edits leaves of Mixed values: one composite word per value, payloads beside them. Source:
// docs/format/1-storage.md S15.

import Glibc

/// Edits one leaf of Mixed values.
struct MixedEditor {
  let editor: NodeEditor
  /// The dirty root of the leaf.
  let root: Int

  private enum Part {
    static let composite = 0, ints = 1, pairs = 2, strings = 3, refs = 4, keys = 5, count = 6
  }

  private enum Code {
    static let int: Int64 = 0, bool: Int64 = 1, string: Int64 = 2, data: Int64 = 4, date: Int64 = 8, float: Int64 = 9
    static let double: Int64 = 10, decimal: Int64 = 11, objectID: Int64 = 15, typedLink: Int64 = 16
    static let uuid: Int64 = 17, list: Int64 = 19, dictionary: Int64 = 21
  }

  private var slab: Slab { editor.slab }

  /// Creates an empty leaf and returns its ref.
  static func make(_ editor: NodeEditor) -> Int {
    editor.slab.makeInts(.hasRefs, [Int64(editor.slab.makeInts()), 0, 0, 0, 0, 0])
  }

  /// Opens the leaf that `slot` refers to for writing.
  init(_ editor: NodeEditor, _ slot: Slot) throws(EngineError) {
    self.editor = editor
    root = try editor.dirty(slot)
    try editor.slab.pad(root, to: Part.count)
  }

  private func composite() throws(EngineError) -> Int { try slab.child(root, Part.composite, editor.arena) }

  /// Returns the number of values.
  func count() throws(EngineError) -> Int { slab.node(try composite()).count }

  /// Inserts a value before element `index`. A list or dictionary is inserted empty: fill it through `nested`.
  func insert(_ index: Int, _ value: ValueView) throws(EngineError) {
    let count = try count(), word = try store(value)
    slab.insertInt(try composite(), index, word)
    if try slab.node(root).child(Part.keys) != 0 { slab.insertInt(try keys(count), index, 0) }
    if Self.isCollection(value) { try assignKey(index) }
  }

  /// Replaces element `index`. If it holds a nested collection, the caller must remove the links in it first.
  func set(_ index: Int, _ value: ValueView) throws(EngineError) {
    // The new value may borrow bytes of the old one, so it is stored before the old payload is released. The release
    // may move the new payload and update its word, which is in place by then.
    let old = slab.int(try composite(), index)
    slab.setInt(try composite(), index, try store(value))
    try release(old)
    if Self.isCollection(value) { try assignKey(index) } else { try clearKey(index) }
  }

  /// Removes element `index`.
  func remove(_ index: Int) throws(EngineError) {
    let count = try count(), word = slab.int(try composite(), index)
    slab.removeInt(try composite(), index)
    try release(word)
    if try slab.node(root).child(Part.keys) != 0 { slab.removeInt(try keys(count), index) }
  }

  /// Returns the slot that holds the root of the collection nested in element `index`; nil if the element is not a
  /// collection.
  func nested(_ index: Int) throws(EngineError) -> Slot? {
    let word = slab.int(try composite(), index)
    if word == 0 || Int(word >> 5 & 7) != Part.refs { return nil }
    return Slot(parent: try slab.child(root, Part.refs, editor.arena), index: Int(word >> 8))
  }

  /// Returns the key of the collection nested in element `index`; 0 if it has none.
  func key(_ index: Int) throws(EngineError) -> Int64 {
    let keys = try slab.node(root).child(Part.keys)
    if keys == 0 { return 0 }
    let node = try editor.arena.integers(keys)
    return index < node.count ? try node.int(index) : 0
  }

  /// Appends element `index` of `source`, with the given value, to this leaf. A nested collection is moved with its
  /// key; the caller removes the element from `source`.
  func take(_ index: Int, from source: MixedEditor, as value: ValueView) throws(EngineError) {
    let at = try count()
    guard let place = try source.nested(index) else {
      try insert(at, value)
      return
    }
    let key = try source.key(index), ref = try editor.ref(place)
    editor.set(place, 0)
    try insert(at, value)
    if let target = try nested(at) { editor.set(target, ref) }
    try setKey(at, key)
  }

  /// Moves the root and key of a collection nested in `source` to the empty collection nested in element `index`.
  func adopt(_ index: Int, from source: MixedEditor, _ sourceIndex: Int) throws(EngineError) {
    guard let from = try source.nested(sourceIndex), let to = try nested(index) else { return }
    let ref = try editor.ref(from), key = try source.key(sourceIndex)
    editor.set(from, 0)
    editor.set(to, ref)
    try setKey(index, key)
  }

  /// Returns true if the value is a collection and so needs a key.
  static func isCollection(_ value: ValueView) -> Bool {
    switch value {
    case .list, .dictionary: true
    default: false
    }
  }

  // MARK: payloads

  private func word(_ code: Int64, _ part: Int, _ datum: Int64) -> Int64 { datum << 8 | Int64(part) << 5 | code + 1 }

  /// Stores the value's payload and returns its composite word.
  private func store(_ value: ValueView) throws(EngineError) -> Int64 {
    switch value {
    case .null: return 0
    case .int(let value):
      if value == Int64(Int32(truncatingIfNeeded: value)) { return word(Code.int, 0, value) }
      return word(Code.int, Part.ints, try append(Part.ints, value))
    case .bool(let value): return word(Code.bool, 0, value ? 1 : 0)
    case .float(let value): return word(Code.float, Part.ints, try append(Part.ints, Int64(value.bitPattern)))
    case .double(let value):
      return word(Code.double, Part.ints, try append(Part.ints, Int64(bitPattern: value.bitPattern)))
    case .string(let bytes): return unsafe word(Code.string, Part.strings, try append(bytes.unsafeBytes))
    case .data(let bytes): return unsafe word(Code.data, Part.strings, try append(bytes.unsafeBytes))
    case .objectID(let id):
      return unsafe word(
        Code.objectID,
        Part.strings,
        try id.withBytes { bytes throws(EngineError) in try unsafe append(bytes) }
      )
    case .uuid(let id):
      return unsafe word(
        Code.uuid,
        Part.strings,
        try id.withBytes { bytes throws(EngineError) in try unsafe append(bytes) }
      )
    case .date(let date):
      return word(Code.date, Part.pairs, try append(pair: date.seconds, Int64(date.nanoseconds)))
    case .decimal128(let value):
      return word(
        Code.decimal,
        Part.pairs,
        try append(pair: Int64(bitPattern: value.low), Int64(bitPattern: value.high))
      )
    case .link(let table, let key):
      return word(Code.typedLink, Part.pairs, try append(pair: Int64(table.value), key.value))
    case .list, .set: return word(Code.list, Part.refs, try append(Part.refs, 0))
    case .dictionary: return word(Code.dictionary, Part.refs, try append(Part.refs, 0))
    }
  }

  private func payload(_ part: Int) throws(EngineError) -> Int {
    if try slab.node(root).child(part) == 0 {
      let new = part == Part.strings ? editor.makeStrings() : slab.makeInts(part == Part.refs ? .hasRefs : [])
      slab.setChild(root, part, new)
    }
    return try slab.child(root, part, editor.arena)
  }

  private func append(_ part: Int, _ value: Int64) throws(EngineError) -> Int64 {
    let ref = try payload(part), index = slab.node(ref).count
    slab.insertInt(ref, index, value)
    return Int64(index)
  }

  private func append(pair first: Int64, _ second: Int64) throws(EngineError) -> Int64 {
    let ref = try payload(Part.pairs), index = slab.node(ref).count
    slab.insertInt(ref, index, first)
    slab.insertInt(ref, index + 1, second)
    return Int64(index / 2)
  }

  private func append(_ bytes: UnsafeRawBufferPointer) throws(EngineError) -> Int64 {
    let ref = try payload(Part.strings), index = try StringLeaf(editor.arena, ref).count
    try unsafe editor.insertString(Slot(parent: root, index: Part.strings), index, bytes)
    return Int64(index)
  }

  /// Releases the payload of a word and moves the last payload into the gap.
  private func release(_ word: Int64) throws(EngineError) {
    let part = Int(word >> 5 & 7), index = Int(word >> 8)
    if word == 0 || part == 0 { return }
    let last: Int
    switch part {
    case Part.strings:
      let slot = Slot(parent: root, index: Part.strings)
      last = try StringLeaf(editor.arena, payload(part)).count - 1
      if index != last, let bytes = try StringLeaf(editor.arena, payload(part)).value(last, editor.arena) {
        // Copied, because the leaf that holds the bytes is about to change.
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        defer { unsafe copy.deallocate() }
        unsafe copy.copyMemory(from: bytes.unsafeBytes)
        try unsafe editor.setString(slot, index, UnsafeRawBufferPointer(copy))
      }
      try editor.removeString(slot, last)
    case Part.pairs:
      let ref = try payload(part)
      last = slab.node(ref).count / 2 - 1
      slab.setInt(ref, 2 * index, slab.int(ref, 2 * last))
      slab.setInt(ref, 2 * index + 1, slab.int(ref, 2 * last + 1))
      slab.truncateInts(ref, 2 * last)
    default:
      let ref = try payload(part)
      last = slab.node(ref).count - 1
      if part == Part.refs {
        let nested = try slab.node(ref).child(index)
        if nested != 0 { try slab.dropTree(nested, editor.arena) }
      }
      slab.setInt(ref, index, slab.int(ref, last))
      slab.truncateInts(ref, last)
    }
    if index == last { return }
    let words = try composite()
    for i in 0..<slab.node(words).count {
      let other = slab.int(words, i)
      if other != 0 && Int(other >> 5 & 7) == part && Int(other >> 8) == last {
        slab.setInt(words, i, Int64(index) << 8 | other & 0xFF)
        return
      }
    }
  }

  // MARK: keys of nested collections

  private func setKey(_ index: Int, _ key: Int64) throws(EngineError) {
    slab.setInt(try keys(count()), index, key)
  }

  /// Returns the ref of the dirty keys, one for each of `count` values. Other writers may have stored fewer, but
  /// inserting a key next to a value requires a complete array.
  private func keys(_ count: Int) throws(EngineError) -> Int {
    if try slab.node(root).child(Part.keys) == 0 {
      slab.setChild(root, Part.keys, slab.makeInts(repeating: 0, count: count))
    }
    let keys = try slab.child(root, Part.keys, editor.arena)
    try slab.pad(keys, to: count)
    return keys
  }

  private func clearKey(_ index: Int) throws(EngineError) {
    if try key(index) != 0 { try setKey(index, 0) }
  }

  /// Assigns a key that is unique in the leaf. The caller ensures uniqueness across the leaves of a collection. The key
  /// has as few bits as the size of the leaf allows, or 32 if `isWide`.
  func assignKey(_ index: Int, isWide: Bool = false) throws(EngineError) {
    let ref = try keys(count()), keys = slab.node(ref)
    let bits = isWide ? 32 : keys.count < 16 ? 8 : keys.count < 4096 ? 16 : 32
    let limit = Int64(1) << (bits - 1)
    func isFree(_ key: Int64) throws(EngineError) -> Bool {
      if key == 0 { return false }
      return try keys.first(0..<keys.count, in: key...key, isInverted: false) == nil
    }
    var key: Int64 = 0
    while try !isFree(key) { key = .random(in: -limit..<limit) }
    slab.setInt(ref, index, key)
  }

  /// Returns the key of the collection nested in element `index` of a leaf; 0 if it has none.
  static func key(_ arena: Arena, _ leaf: Int, _ index: Int) throws(EngineError) -> Int64 {
    let node = try arena.refs(leaf)
    guard node.count > Part.keys, case let ref = try node.child(Part.keys), ref != 0 else { return 0 }
    let keys = try arena.integers(ref)
    return index < keys.count ? try keys.int(index) : 0
  }

  /// Adds the keys of a leaf's nested collections to `keys`, except that of element `index`.
  static func collectKeys(
    _ arena: Arena,
    _ leaf: Int,
    except index: Int?,
    into keys: inout Set<Int64>
  ) throws(EngineError) {
    let node = try arena.refs(leaf)
    guard node.count > Part.keys, case let ref = try node.child(Part.keys), ref != 0 else { return }
    let all = try arena.integers(ref)
    for i in 0..<all.count where i != index {
      let key = try all.int(i)
      if key != 0 { keys.insert(key) }
    }
  }
}

extension ObjectID {
  /// Calls `body` with the twelve bytes.
  func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    var bytes = (high.bigEndian, low.bigEndian)
    return try unsafe withUnsafeBytes(of: &bytes) { buffer throws(E) in
      try unsafe body(UnsafeRawBufferPointer(rebasing: buffer[0..<12]))
    }
  }
}

extension UniqueID {
  /// Calls `body` with the sixteen bytes.
  func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    var bytes = (high.bigEndian, low.bigEndian)
    return try unsafe withUnsafeBytes(of: &bytes) { buffer throws(E) in try unsafe body(buffer) }
  }
}
