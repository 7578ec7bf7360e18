// Edits search indexes. Source: docs/format/2-model.md M10.

/// Edits one index.
struct SearchIndexEditor {
  let editor: NodeEditor
  let root: Slot
  /// True if every entry ends with its word: in full-text indexes and indexes of string lists.
  let isFullWord: Bool
  /// True if different values can have the same data, such as 3 and the decimal 3.7 in a Mixed.
  let isMixed: Bool

  static let maximumCount = 1000
  private static let maximumOffset = 200
  /// The maximum size in bytes of a string in an indexed list.
  static let maximumWord = 200

  private var slab: Slab { editor.slab }
  private var arena: Arena { editor.arena }
  private static let keyElement = ElementType(.int, isNullable: false)

  /// Creates an empty index node and returns its ref.
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

  /// The entry being inserted.
  private struct Entry {
    let data: IndexData
    let value: ValueView
    let key: ObjKey
    let isUnique: Bool
    /// The object that already has the value, if the value must be unique. Nothing has changed in that case.
    var conflict: ObjKey?
  }

  /// Adds `key` under `value`. `valueOf` reads the indexed value of an object that is already in the index.
  func insert(
    _ value: ValueView,
    _ key: ObjKey,
    valueOf: (ObjKey) throws(EngineError) -> ValueView
  ) throws(EngineError) {
    var entry = Entry(data: IndexData(value), value: value, key: key, isUnique: false)
    try insert(root, 0, &entry, valueOf)
  }

  /// Adds `key` under `value`, unless another object is listed there: then returns that object and changes nothing.
  func insertUnique(
    _ value: ValueView,
    _ key: ObjKey,
    valueOf: (ObjKey) throws(EngineError) -> ValueView
  ) throws(EngineError) -> ObjKey? {
    var entry = Entry(data: IndexData(value), value: value, key: key, isUnique: true)
    try insert(root, 0, &entry, valueOf)
    return entry.conflict
  }

  /// Adds `key` under a word of a full-text or list index. Null counts as a separate word.
  func insert(word: [UInt8]?, _ key: ObjKey) throws(EngineError) {
    try Self.withData(word) { (data) throws(EngineError) in
      var entry = Entry(data: data, value: .null, key: key, isUnique: false)
      try insert(root, 0, &entry) { _ throws(EngineError) in .null }
    }
  }

  /// Returns true if two words of an object (null counts as an empty word) can share an entry. Keys mark the end of a
  /// word with an X and zero bytes, so "abc" and "abcX" have the same keys. Cost: O(length of the longer word).
  static func canShareEntry(_ text: ByteView, _ word: [UInt8]) -> Bool {
    func isEnd(_ byte: UInt8) -> Bool { byte == 0 || byte == UInt8(ascii: "X") }
    let text = unsafe text.unsafeBytes
    guard unsafe text.count < word.count ? word[text.count...].allSatisfy(isEnd) : text[word.count...].allSatisfy(isEnd)
    else {
      return false
    }
    let shorter = min(text.count, word.count)
    var stem = shorter
    while stem > 0, unsafe isEnd(text[stem - 1]), isEnd(word[stem - 1]) { stem -= 1 }
    return unsafe text[..<stem].elementsEqual(word[..<stem])
  }

  private static func withData(
    _ word: [UInt8]?,
    _ body: (IndexData) throws(EngineError) -> Void
  ) throws(EngineError) {
    guard let word else { return try body(IndexData(word: nil)) }
    try word.withView { (bytes) throws(EngineError) in try body(IndexData(word: bytes)) }
  }

  /// Adds objects under values that begin with distinct words, none of which is in the index. `entries` must be in word
  /// order.
  func insert(_ entries: [NewEntries.Entry]) throws(EngineError) {
    var rest = entries[...]
    while let first = rest.first {
      var taken = 0
      try change(root, first.word) { (ref, last) throws(EngineError) in
        taken = try insert(rest, upTo: last, ref)
        return try splitIfFull(ref)
      }
      rest = rest.dropFirst(taken)
      slab.noteStep(4)
    }
  }

  /// Adds the leading `entries` with words up to `last` to a leaf, which may temporarily grow to twice its maximum
  /// size. Returns their number, at least one.
  private func insert(
    _ entries: ArraySlice<NewEntries.Entry>,
    upTo last: Int32,
    _ ref: Int
  ) throws(EngineError) -> Int {
    let keys = try slab.child(ref, 0, arena), present = slab.node(keys), count = present.count
    let added = entries.prefix(max(1, 2 * Self.maximumCount - count)).prefix { $0.word <= last }
    guard let first = added.first else { throw .damaged("a word beyond those of its node", ref: ref) }
    let start = try present.lowerBound(first.word)
    var words: [Int64] = [], elements: [Int64] = [], next = start
    words.reserveCapacity(count - start + added.count)
    elements.reserveCapacity(count - start + added.count)
    func keep(below word: Int64) {
      while next < count, slab.int(keys, next) < word {
        words.append(slab.int(keys, next))
        elements.append(slab.int(ref, next + 1))
        next += 1
      }
    }
    for entry in added {
      keep(below: Int64(entry.word))
      words.append(Int64(entry.word))
      elements.append(Self.tagged(entry.key))
    }
    keep(below: .max)
    slab.truncateInts(keys, start)
    slab.truncateInts(ref, start + 1)
    slab.appendInts(keys, words[...])
    slab.appendInts(ref, elements[...])
    return added.count
  }

  private func insert(
    _ slot: Slot,
    _ offset: Int,
    _ entry: inout Entry,
    _ valueOf: (ObjKey) throws(EngineError) -> ValueView
  ) throws(EngineError) {
    let word = entry.data.key(offset)
    try change(slot, word) { (ref, _) throws(EngineError) in
      let present = try arena.integers(slab.node(ref).child(0)), position = try present.lowerBound(word)
      if position < present.count, try present.int(position) == Int64(word) {
        try add(Slot(parent: ref, index: position + 1), offset, &entry, valueOf)
        return nil
      }
      let element: Int64
      if isFullWord, entry.data.continues(after: offset) {
        // The word continues: add a level for every four bytes.
        let holder = slab.makeInts(.hasRefs, [Int64(Self.make(editor))])
        try insert(Slot(parent: holder, index: 0), offset + 4, &entry, valueOf)
        element = slab.int(holder, 0)
        try slab.drop(holder, arena)
      } else {
        element = Self.tagged(entry.key)
      }
      slab.insertInt(try slab.child(ref, 0, arena), position, Int64(word))
      slab.insertInt(ref, position + 1, element)
      return try splitIfFull(ref)
    }
  }

  /// Calls `body` with the dirty leaf below `slot` in which `word` belongs, and with the last word that belongs there.
  /// `body` returns the right half if it splits the leaf; the parent nodes are then updated.
  private func change(
    _ slot: Slot,
    _ word: Int32,
    _ body: (Int, Int32) throws(EngineError) -> Int?
  ) throws(EngineError) {
    guard let right = try change(slot, word, .max, body) else { return }
    let left = try editor.ref(slot)
    editor.set(
      slot,
      Self.makeNode(editor, [try lastWord(left), try lastWord(right)], [Int64(left), Int64(right)], isInner: true)
    )
  }

  private func change(
    _ slot: Slot,
    _ word: Int32,
    _ last: Int32,
    _ body: (Int, Int32) throws(EngineError) -> Int?
  ) throws(EngineError) -> Int? {
    let ref = try editor.dirty(slot)
    if !slab.node(ref).isInner { return try body(ref, last) }
    let present = try arena.integers(slab.node(ref).child(0)), end = present.count - 1
    let child = min(try present.lowerBound(word), end), childSlot = Slot(parent: ref, index: child + 1)
    let childWord = try present.int(child)
    let split = try change(childSlot, word, child == end ? last : Int32(truncatingIfNeeded: childWord), body)
    // Only the last child can have received a larger word.
    if split == nil && child < end { return nil }
    let newWord = Int64(try lastWord(editor.ref(childSlot)))
    if split == nil && newWord == childWord { return nil }
    let keys = try slab.child(ref, 0, arena)
    slab.setInt(keys, child, newWord)
    if let split {
      slab.insertInt(keys, child + 1, Int64(try lastWord(split)))
      slab.insertInt(ref, child + 2, Int64(split))
    }
    return try splitIfFull(ref)
  }

  private func lastWord(_ ref: Int) throws(EngineError) -> Int32 {
    let keys = try arena.integers(arena.node(ref).child(0))
    return Int32(truncatingIfNeeded: try keys.int(keys.count - 1))
  }

  private static func tagged(_ key: ObjKey) -> Int64 { Int64(bitPattern: UInt64(bitPattern: key.value) << 1 | 1) }

  private func splitIfFull(_ ref: Int) throws(EngineError) -> Int? {
    let count = slab.node(ref).count - 1
    if count <= Self.maximumCount { return nil }
    let keys = try slab.child(ref, 0, arena)
    let middle = count / 2
    var words: [Int32] = [], entries: [Int64] = []
    for i in middle..<count {
      words.append(Int32(truncatingIfNeeded: slab.int(keys, i)))
      entries.append(slab.int(ref, i + 1))
    }
    slab.truncateInts(keys, middle)
    slab.truncateInts(ref, middle + 1)
    return Self.makeNode(editor, words, entries, isInner: slab.node(ref).isInner)
  }

  /// Adds an object to an existing entry.
  private func add(
    _ slot: Slot,
    _ offset: Int,
    _ entry: inout Entry,
    _ valueOf: (ObjKey) throws(EngineError) -> ValueView
  ) throws(EngineError) {
    let element = slab.int(slot.parent, slot.index)
    if element & 1 == 0, try arena.node(Int(element)).hasContext {
      try insert(slot, offset + 4, &entry, valueOf)
      return
    }
    let isSingle = element & 1 != 0
    let present = isSingle ? ObjKey(tagged: element) : try firstKey(Int(element))
    if isFullWord {
      if entry.data.continues(after: offset) {
        // The existing word ends where this one continues. It is null if this one begins with four zero bytes.
        let end = offset == 0 && entry.data.key(0) == 0 ? 0 : IndexData.end
        slab.setInt(slot.parent, slot.index, Int64(Self.makeNode(editor, [end], [element])))
        try insert(slot, offset + 4, &entry, valueOf)
        return
      }
      if isSingle && present == entry.key { return }
      let list = listOf(slot, isSingle ? present : nil)
      let (at, isThere) = try position(list, entry.key) { _ throws(EngineError) in 0 }
      if !isThere { try list.insert(at, .int(entry.key.value)) }
      return
    }
    let presentData = IndexData(try valueOf(present)), isEqual = presentData.isEqual(entry.data)
    if isEqual && entry.isUnique {
      entry.conflict = present
      return
    }
    if isEqual || offset + 4 > Self.maximumOffset {
      if entry.isUnique, let other = try equal(slot, entry.value, valueOf) {
        entry.conflict = other
        return
      }
      // Sorted by value, then by ascending key.
      let list = listOf(slot, isSingle ? present : nil), value = entry.value
      let (at, isThere) = try position(list, entry.key) { (other) throws(EngineError) in
        isEqual && !isMixed && offset + 4 <= Self.maximumOffset ? 0 : ValueOrder.compare(try valueOf(other), value)
      }
      if !isThere { try list.insert(at, .int(entry.key.value)) }
      return
    }
    // The two values share this word: a level below distinguishes them.
    slab.setInt(slot.parent, slot.index, Int64(Self.makeNode(editor, [presentData.key(offset + 4)], [element])))
    try insert(slot, offset + 4, &entry, valueOf)
  }

  /// Returns an object of an entry whose value equals `value`. Used for entries shared by long values with a common
  /// prefix.
  private func equal(
    _ slot: Slot,
    _ value: ValueView,
    _ valueOf: (ObjKey) throws(EngineError) -> ValueView
  ) throws(EngineError) -> ObjKey? {
    let element = slab.int(slot.parent, slot.index)
    if element & 1 != 0 { return nil }
    let reader = try ElementReader(arena, Int(element), Self.keyElement)
    for i in 0..<reader.count {
      guard case .int(let key) = try reader.value(at: i) else { continue }
      if ValueOrder.compare(try valueOf(ObjKey(key)), value) == 0 { return ObjKey(key) }
    }
    return nil
  }

  /// Returns the list of an entry. A single object is first converted to a list.
  private func listOf(_ slot: Slot, _ single: ObjKey?) -> BPlusTreeEditor {
    if let single {
      slab.setInt(slot.parent, slot.index, Int64(slab.makeInts([], [single.value])))
    }
    return BPlusTreeEditor(editor, slot, Self.keyElement)
  }

  private func firstKey(_ list: Int) throws(EngineError) -> ObjKey {
    guard case .int(let key) = try ElementReader(arena, list, Self.keyElement).value(at: 0) else { return .none }
    return ObjKey(key)
  }

  /// Returns the position of `key` in a list sorted by value, then by key, or the position at which to insert it.
  /// `order` compares a listed object's value with the new one.
  private func position(
    _ list: BPlusTreeEditor,
    _ key: ObjKey,
    order: (ObjKey) throws(EngineError) -> Int
  ) throws(EngineError) -> (Int, isThere: Bool) {
    let reader = try ElementReader(arena, editor.ref(list.root), Self.keyElement)
    let place = try bisect(reader.count) { (index) throws(EngineError) in
      guard case .int(let other) = try reader.value(at: index) else { return false }
      let valueOrder = try order(ObjKey(other))
      return valueOrder < 0 || valueOrder == 0 && other < key.value
    }
    guard place < reader.count, case .int(let other) = try reader.value(at: place) else { return (place, false) }
    return (place, other == key.value)
  }

  // MARK: removal

  /// Removes `key` from the entry for `value`.
  func remove(_ value: ValueView, _ key: ObjKey) throws(EngineError) {
    _ = try remove(root, IndexData(value), 0, key)
    try collapse(root)
  }

  /// Removes `key` from the entry for a word.
  func remove(word: [UInt8]?, _ key: ObjKey) throws(EngineError) {
    try Self.withData(word) { (data) throws(EngineError) in _ = try remove(root, data, 0, key) }
    try collapse(root)
  }

  /// Removes `key` below `slot`. Returns true if the node is empty afterwards.
  private func remove(
    _ slot: Slot,
    _ data: IndexData,
    _ offset: Int,
    _ key: ObjKey
  ) throws(EngineError) -> Bool {
    let ref = try editor.dirty(slot), word = data.key(offset)
    let present = try arena.integers(slab.node(ref).child(0)), position = try present.lowerBound(word)
    if position >= present.count { return false }
    let entrySlot = Slot(parent: ref, index: position + 1)
    if slab.node(ref).isInner {
      if try remove(entrySlot, data, offset, key) {
        try drop(ref, position)
      } else {
        let last = Int64(try lastWord(editor.ref(entrySlot)))
        if try present.int(position) != last { slab.setInt(try slab.child(ref, 0, arena), position, last) }
      }
      return slab.node(ref).count == 1
    }
    guard try present.int(position) == Int64(word) else { return false }
    let entry = slab.int(ref, position + 1)
    if entry & 1 != 0 {
      guard ObjKey(tagged: entry) == key else { return false }
      slab.removeInt(ref, position + 1)
      slab.removeInt(try slab.child(ref, 0, arena), position)
    } else if try arena.node(Int(entry)).hasContext {
      if try remove(entrySlot, data, offset + 4, key) {
        try drop(ref, position)
      } else {
        try collapse(entrySlot)
      }
    } else {
      let list = BPlusTreeEditor(editor, entrySlot, Self.keyElement)
      while let place = try place(of: key, in: list) { try list.remove(place) }
      switch try list.count() {
      case 0: try drop(ref, position)
      case 1:
        let last = try firstKey(editor.ref(entrySlot))
        try editor.clear(entrySlot)
        slab.setInt(ref, position + 1, Self.tagged(last))
      default: break
      }
    }
    return slab.node(ref).count == 1
  }

  /// Returns the position of `key` in a list. Keys ascend unless the list holds different values. Other writers may
  /// list a key twice.
  private func place(of key: ObjKey, in list: BPlusTreeEditor) throws(EngineError) -> Int? {
    let reader = try ElementReader(arena, editor.ref(list.root), Self.keyElement)
    func holds(_ index: Int) throws(EngineError) -> Bool {
      guard index < reader.count, case .int(let other) = try reader.value(at: index) else { return false }
      return other == key.value
    }
    let place = try bisect(reader.count) { (index) throws(EngineError) in
      if case .int(let other) = try reader.value(at: index) { other < key.value } else { false }
    }
    if try holds(place) { return place }
    if isFullWord { return nil }
    for i in 0..<reader.count where try holds(i) { return i }
    return nil
  }

  private func drop(_ ref: Int, _ position: Int) throws(EngineError) {
    try editor.clear(Slot(parent: ref, index: position + 1))
    slab.removeInt(ref, position + 1)
    slab.removeInt(try slab.child(ref, 0, arena), position)
  }

  /// Replaces an inner node that has a single child with the child.
  private func collapse(_ slot: Slot) throws(EngineError) {
    while true {
      let ref = try editor.ref(slot), node = try arena.node(ref)
      if !node.isInner { return }
      if node.count == 1 {
        // Replace an inner node without children with an empty leaf.
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
}
