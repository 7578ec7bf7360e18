// Changing search indexes. Source: format/2-model.md M10.

/// The bytes that stand for values in an index.
enum IndexBytes {
  /// Calls `body` with the bytes of a scalar; nil for null.
  static func with<R>(_ value: ValueView, _ body: (UnsafeRawBufferPointer?) throws(FormatError) -> R)
    throws(FormatError) -> R
  {
    switch value {
    case .null: return try body(nil)
    case .int(let value): return try integer(value, body)
    case .bool(let value): return try integer(value ? 1 : 0, body)
    case .float(let value):
      if let whole = Int32(exactly: value) { return try integer(Int64(whole), body) }
      return try raw(value.bitPattern.littleEndian, body)
    case .double(let value):
      if let whole = Int32(exactly: value) { return try integer(Int64(whole), body) }
      return try raw(value.bitPattern.littleEndian, body)
    case .string(let bytes), .data(let bytes): return try body(bytes.unsafeBytes)
    case .objectID(let id): return try id.withBytes { (bytes) throws(FormatError) in try body(bytes) }
    case .uuid(let id): return try id.withBytes { (bytes) throws(FormatError) in try body(bytes) }
    case .date(let date):
      var bytes = (date.seconds.littleEndian, date.nanoseconds.littleEndian)
      return try withUnsafeBytes(of: &bytes) { buffer throws(FormatError) in
        try body(UnsafeRawBufferPointer(rebasing: buffer[0..<12]))
      }
    case .decimal128(let value):
      if let whole = ValueOrder.int64(value) { return try integer(whole, body) }
      return try raw((value.low.littleEndian, value.high.littleEndian), body)
    case .link(let table, let key):
      let bytes =
        withUnsafeBytes(of: table.value.littleEndian) { [UInt8]($0) }
        + withUnsafeBytes(of: key.value.littleEndian) { [UInt8]($0) }
      return try bytes.withUnsafeBytesOf { (bytes) throws(FormatError) in try body(bytes) }
    case .list, .set:
      return try [UInt8]("__List__".utf8).withUnsafeBytesOf { (bytes) throws(FormatError) in try body(bytes) }
    case .dictionary:
      return try [UInt8]("__Dictionary__".utf8).withUnsafeBytesOf { (bytes) throws(FormatError) in try body(bytes) }
    }
  }

  private static func integer<R>(
    _ value: Int64,
    _ body: (UnsafeRawBufferPointer?) throws(FormatError) -> R
  ) throws(FormatError) -> R { try raw(value.littleEndian, body) }

  private static func raw<T: BitwiseCopyable, R>(
    _ value: T,
    _ body: (UnsafeRawBufferPointer?) throws(FormatError) -> R
  ) throws(FormatError) -> R {
    var copy = value
    return try withUnsafeBytes(of: &copy) { (buffer) throws(FormatError) in try body(buffer) }
  }
}

/// Bytes at a stable address.
final class BytesBox {
  let buffer: UnsafeRawBufferPointer

  init(_ bytes: [UInt8]) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 8)
    copy.copyBytes(from: bytes)
    buffer = UnsafeRawBufferPointer(start: copy.baseAddress, count: bytes.count)
  }

  deinit { buffer.deallocate() }
}

/// Changes one index.
struct SearchIndexEditor {
  let editor: NodeEditor
  let root: Slot
  /// Every entry ends at the end of its word: indexes of lists of strings, and full-text ones.
  let isFullWord: Bool

  static let maximumCount = 1000
  private static let maximumOffset = 200
  /// The bytes of a string in an indexed list at most.
  static let maximumWord = 200
  /// The index word of a value that has ended: 'X' and zeros.
  private static let wordEnd: Int32 = 0x5800_0000

  private var slab: Slab { editor.slab }
  private var arena: Arena { editor.arena }
  private static let keyElement = ElementType(.int, isNullable: false)

  /// A new, empty index node.
  static func make(_ editor: NodeEditor) -> Int { makeNode(editor, [], []) }

  private static func makeNode(_ editor: NodeEditor, _ words: [Int32], _ entries: [Int64], isInner: Bool = false) -> Int
  {
    let keys = editor.slab.make([], .bits, width: 32, count: 0, payload: max(32, words.count * 4))
    for (i, word) in words.enumerated() { editor.slab.insertInt(keys, i, Int64(word)) }
    return editor.slab.makeInts(
      isInner ? [.hasRefs, .context, .inner] : [.hasRefs, .context],
      [Int64(keys)] + entries
    )
  }

  // MARK: insertion

  /// Lists `key` under `value`. `valueOf` reads the indexed value of an object that is in the index already.
  func insert(
    _ value: ValueView,
    _ key: ObjKey,
    valueOf: (ObjKey) throws(FormatError) -> ValueView
  ) throws(FormatError) {
    try IndexBytes.with(value) { (data) throws(FormatError) in
      try insert(root, data, 0, value, key, valueOf)
    }
  }

  /// Lists `key` under a word of a full-text or list index; null is a word of its own.
  func insert(word: [UInt8]?, _ key: ObjKey) throws(FormatError) {
    try Self.withBytes(word) { (bytes) throws(FormatError) in
      try insert(root, bytes, 0, .null, key) { _ throws(FormatError) in .null }
    }
  }

  private static func withBytes(
    _ word: [UInt8]?,
    _ body: (UnsafeRawBufferPointer?) throws(FormatError) -> Void
  ) throws(FormatError) {
    guard let word else { return try body(nil) }
    try word.withUnsafeBytesOf { (bytes) throws(FormatError) in try body(bytes) }
  }

  private func insert(
    _ slot: Slot,
    _ data: UnsafeRawBufferPointer?,
    _ offset: Int,
    _ value: ValueView,
    _ key: ObjKey,
    _ valueOf: (ObjKey) throws(FormatError) -> ValueView
  ) throws(FormatError) {
    let word = Self.word(data, offset)
    guard let split = try insert(slot, word, data, offset, value, key, valueOf) else { return }
    let left = try editor.ref(slot)
    editor.set(
      slot,
      Self.makeNode(editor, [try lastWord(left), try lastWord(split)], [Int64(left), Int64(split)], isInner: true)
    )
  }

  private func lastWord(_ ref: Int) throws(FormatError) -> Int32 {
    let keys = try arena.integers(arena.node(ref).child(0))
    return Int32(truncatingIfNeeded: try keys.int(keys.count - 1))
  }

  /// Inserts below the node in `slot`; the right half if it was split.
  private func insert(
    _ slot: Slot,
    _ word: Int32,
    _ data: UnsafeRawBufferPointer?,
    _ offset: Int,
    _ value: ValueView,
    _ key: ObjKey,
    _ valueOf: (ObjKey) throws(FormatError) -> ValueView
  ) throws(FormatError) -> Int? {
    let ref = try editor.dirty(slot)
    let keys = try slab.child(ref, 0, arena)
    let position = lowerBound(keys, word)
    if slab.node(ref).isInner {
      let child = min(position, slab.node(keys).count - 1)
      let childSlot = Slot(parent: ref, index: child + 1)
      let split = try insert(childSlot, word, data, offset, value, key, valueOf)
      slab.setInt(keys, child, Int64(try lastWord(editor.ref(childSlot))))
      if let split {
        slab.insertInt(keys, child + 1, Int64(try lastWord(split)))
        slab.insertInt(ref, child + 2, Int64(split))
      }
      return try splitIfFull(ref, keys, isInner: true)
    }
    if position < slab.node(keys).count, slab.int(keys, position) == Int64(word) {
      try add(Slot(parent: ref, index: position + 1), data, offset, value, key, valueOf)
      return nil
    }
    let entry: Int64
    if isFullWord, let data, offset + 4 < data.count {
      // The word goes on: a level for every four bytes.
      let holder = slab.makeInts(.hasRefs, [Int64(Self.make(editor))])
      try insert(Slot(parent: holder, index: 0), data, offset + 4, value, key, valueOf)
      entry = slab.int(holder, 0)
      try slab.drop(holder, arena)
    } else {
      entry = Int64(bitPattern: UInt64(bitPattern: key.value) << 1 | 1)
    }
    slab.insertInt(keys, position, Int64(word))
    slab.insertInt(ref, position + 1, entry)
    return try splitIfFull(ref, keys, isInner: false)
  }

  private func splitIfFull(_ ref: Int, _ keys: Int, isInner: Bool) throws(FormatError) -> Int? {
    let count = slab.node(keys).count
    if count <= Self.maximumCount { return nil }
    let middle = count / 2
    var words: [Int32] = [], entries: [Int64] = []
    for i in middle..<count {
      words.append(Int32(truncatingIfNeeded: slab.int(keys, i)))
      entries.append(slab.int(ref, i + 1))
    }
    slab.truncateInts(keys, middle)
    slab.truncateInts(ref, middle + 1)
    return Self.makeNode(editor, words, entries, isInner: isInner)
  }

  /// Adds an object to an entry that exists.
  private func add(
    _ slot: Slot,
    _ data: UnsafeRawBufferPointer?,
    _ offset: Int,
    _ value: ValueView,
    _ key: ObjKey,
    _ valueOf: (ObjKey) throws(FormatError) -> ValueView
  ) throws(FormatError) {
    let entry = slab.int(slot.parent, slot.index)
    if entry & 1 == 0, try arena.node(Int(entry)).hasContext {
      try insert(slot, data, offset + 4, value, key, valueOf)
      return
    }
    let isSingle = entry & 1 != 0
    let present = isSingle ? ObjKey(Int64(bitPattern: UInt64(bitPattern: entry) >> 1)) : try firstKey(Int(entry))
    if isFullWord {
      if let data, offset + 4 < data.count {
        // The present word ends where this one goes on.
        let sub = Self.makeNode(editor, [Self.wordEnd], [entry])
        slab.setInt(slot.parent, slot.index, Int64(sub))
        try insert(slot, data, offset + 4, value, key, valueOf)
        return
      }
      if isSingle && present == key { return }
      let list = listOf(slot, isSingle ? present : nil)
      let (at, isThere) = try position(list, key) { _ throws(FormatError) in 0 }
      if !isThere { try list.insert(at, .int(key.value)) }
      return
    }
    let presentValue = try valueOf(present)
    let isEqual = try Self.isSame(presentValue, value)
    if isEqual || offset + 4 > Self.maximumOffset {
      // Values in their order, within a value ascending keys.
      let list = listOf(slot, isSingle ? present : nil)
      let (at, isThere) = try position(list, key) { (other) throws(FormatError) in
        isEqual && offset + 4 <= Self.maximumOffset ? 0 : ValueOrder.compare(try valueOf(other), value)
      }
      if !isThere { try list.insert(at, .int(key.value)) }
      return
    }
    // Two values that share the word: a level below tells them apart.
    let sub = try IndexBytes.with(presentValue) { (presentData) throws(FormatError) in
      let word = Self.word(presentData, offset + 4)
      return Self.makeNode(editor, [word], [entry])
    }
    slab.setInt(slot.parent, slot.index, Int64(sub))
    try insert(slot, data, offset + 4, value, key, valueOf)
  }

  /// The list of an entry, made from a single object if need be.
  private func listOf(_ slot: Slot, _ single: ObjKey?) -> BPlusTreeEditor {
    if let single {
      slab.setInt(slot.parent, slot.index, Int64(slab.makeInts([], [single.value])))
    }
    return BPlusTreeEditor(editor, slot, Self.keyElement)
  }

  private func firstKey(_ list: Int) throws(FormatError) -> ObjKey {
    guard case .int(let key) = try ElementReader(arena, list, Self.keyElement).value(at: 0) else { return .none }
    return ObjKey(key)
  }

  /// Where `key` belongs in a list, by `order` of the others to the value first and by key then.
  private func position(
    _ list: BPlusTreeEditor,
    _ key: ObjKey,
    order: (ObjKey) throws(FormatError) -> Int
  ) throws(FormatError) -> (Int, isThere: Bool) {
    let reader = try ElementReader(arena, editor.ref(list.root), Self.keyElement)
    var low = 0, high = reader.count
    while low < high {
      let middle = (low + high) / 2
      guard case .int(let other) = try reader.value(at: middle) else { break }
      let valueOrder = try order(ObjKey(other))
      if valueOrder < 0 || valueOrder == 0 && other < key.value { low = middle + 1 } else { high = middle }
    }
    if low < reader.count, case .int(let other) = try reader.value(at: low), other == key.value { return (low, true) }
    return (low, false)
  }

  /// Whether two values count as equal in an index: 7, 7.0 and decimal 7 share an entry only if their bytes are equal.
  private static func isSame(_ a: ValueView, _ b: ValueView) throws(FormatError) -> Bool {
    try IndexBytes.with(a) { (x) throws(FormatError) in
      try IndexBytes.with(b) { (y) throws(FormatError) in
        guard let x, let y else { return x == nil && y == nil }
        return x.elementsEqual(y)
      }
    }
  }

  // MARK: removal

  /// Takes `key` out of the entry for `value`.
  func remove(_ value: ValueView, _ key: ObjKey) throws(FormatError) {
    try IndexBytes.with(value) { (data) throws(FormatError) in _ = try remove(root, data, 0, key) }
    try collapse(root)
  }

  /// Takes `key` out of the entry for a word.
  func remove(word: [UInt8]?, _ key: ObjKey) throws(FormatError) {
    try Self.withBytes(word) { (bytes) throws(FormatError) in _ = try remove(root, bytes, 0, key) }
    try collapse(root)
  }

  /// Removes below `slot`; true if nothing is left in the node.
  private func remove(
    _ slot: Slot,
    _ data: UnsafeRawBufferPointer?,
    _ offset: Int,
    _ key: ObjKey
  ) throws(FormatError) -> Bool {
    let ref = try editor.dirty(slot)
    let keys = try slab.child(ref, 0, arena), word = Self.word(data, offset)
    let position = lowerBound(keys, word)
    if position >= slab.node(keys).count { return false }
    let entrySlot = Slot(parent: ref, index: position + 1)
    if slab.node(ref).isInner {
      if try remove(entrySlot, data, offset, key) {
        try drop(ref, keys, position)
      } else {
        slab.setInt(keys, position, Int64(try lastWord(editor.ref(entrySlot))))
      }
      return slab.node(keys).count == 0
    }
    guard slab.int(keys, position) == Int64(word) else { return false }
    let entry = slab.int(ref, position + 1)
    if entry & 1 != 0 {
      guard ObjKey(Int64(bitPattern: UInt64(bitPattern: entry) >> 1)) == key else { return false }
      slab.setInt(ref, position + 1, 1)
      slab.removeInt(ref, position + 1)
      slab.removeInt(keys, position)
    } else if try arena.node(Int(entry)).hasContext {
      if try remove(entrySlot, data, offset + 4, key) {
        try drop(ref, keys, position)
      } else {
        try collapse(entrySlot)
      }
    } else {
      let list = BPlusTreeEditor(editor, entrySlot, Self.keyElement)
      while let place = try place(of: key, in: list) { try list.remove(place) }
      switch try list.count() {
      case 0: try drop(ref, keys, position)
      case 1:
        let last = try firstKey(editor.ref(entrySlot))
        try editor.clear(entrySlot)
        slab.setInt(ref, position + 1, Int64(bitPattern: UInt64(bitPattern: last.value) << 1 | 1))
      default: break
      }
    }
    return slab.node(keys).count == 0
  }

  /// Where a list has `key`: keys ascend but where a list holds different values. Other writers list a key twice.
  private func place(of key: ObjKey, in list: BPlusTreeEditor) throws(FormatError) -> Int? {
    let reader = try ElementReader(arena, editor.ref(list.root), Self.keyElement)
    func holds(_ index: Int) throws(FormatError) -> Bool {
      guard index < reader.count, case .int(let other) = try reader.value(at: index) else { return false }
      return other == key.value
    }
    var low = 0, high = reader.count
    while low < high {
      let middle = (low + high) / 2
      guard case .int(let other) = try reader.value(at: middle) else { break }
      if other < key.value { low = middle + 1 } else { high = middle }
    }
    if try holds(low) { return low }
    if isFullWord { return nil }
    for i in 0..<reader.count where try holds(i) { return i }
    return nil
  }

  private func drop(_ ref: Int, _ keys: Int, _ position: Int) throws(FormatError) {
    try editor.clear(Slot(parent: ref, index: position + 1))
    slab.removeInt(ref, position + 1)
    slab.removeInt(keys, position)
  }

  /// An inner node with one child gives way to the child.
  private func collapse(_ slot: Slot) throws(FormatError) {
    while true {
      let ref = try editor.ref(slot), node = try arena.node(ref)
      if !node.isInner { return }
      if node.count == 1 {
        // Nothing is left: an empty leaf.
        try editor.clear(slot)
        editor.set(slot, Self.make(editor))
        return
      }
      guard node.count == 2 else { return }
      let child = try node.child(1), keys = try node.child(0)
      try slab.drop(keys, arena)
      try slab.drop(ref, arena)
      editor.set(slot, child)
    }
  }

  // MARK: words

  private func lowerBound(_ keys: Int, _ word: Int32) -> Int {
    let node = slab.node(keys)
    var low = 0, high = node.count
    while low < high {
      let middle = (low + high) / 2
      if PackedBits.signed(node.payload, node.width, middle) < Int64(word) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private static func word(_ data: UnsafeRawBufferPointer?, _ offset: Int) -> Int32 {
    guard let data, offset <= data.count else { return 0 }
    var word: UInt32 = 0
    for i in offset..<offset + 4 {
      word = word << 8 | UInt32(i < data.count ? data[i] : i == data.count ? UInt8(ascii: "X") : 0)
    }
    return Int32(bitPattern: word)
  }
}
