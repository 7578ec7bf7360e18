// A model of the write half of the tree in a few lines: one class with an Int primary key, its objects as dictionaries,
// scratch files as bytes, and empty classes beside it. `WriteModelTests` runs the same operations on this and on a real
// tree.
//
// The rules are those of docs/SEMANTICS.md, "Saving": closing saves, a save is a patch, only unlinking an object's own
// name deletes it, a file of its name that the same process saves brings the object back with the links to it.

import Foundation

/// The names and contents of one class directory, and the handles on it.
struct ClassModel {
  typealias Properties = [String: String]

  /// Why an operation is refused, as `FileTreeError.kind` spells it.
  struct Refusal: Error {
    let kind: String

    static let invalid = Refusal(kind: "refused invalid")
    static let exists = Refusal(kind: "refused exists")
    static let forbidden = Refusal(kind: "refused forbidden")
    static let stale = Refusal(kind: "stale")
    static let notFound = Refusal(kind: "notFound")
    static let notEmpty = Refusal(kind: "refused notEmpty")
  }

  /// A file in memory, or the bytes that one handle writes over an object.
  final class File {
    enum State { case clean, dirty, refused(Refusal) }

    var bytes: [UInt8]
    var state = State.clean
    /// The name of the file; nil after it was unlinked, and for the bytes of a handle.
    var name: String?
    /// The object that it is, or that the handle is on.
    var object: Int?
    /// The number of times the object had been created when the handle was opened: a handle does not follow to another
    /// object.
    var incarnation = 0
    /// True if a save or a close failed, and none has succeeded since.
    var hasFailed = false
    /// True if it was cut to nothing, and nothing was written since.
    var isEmptied = false
    /// The bytes written in order from the start; nil if others were written.
    var inOrder: [UInt8]? = []

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// True if the bytes are a beginning that can still be completed.
    var isUnfinished: Bool { inOrder?.count == bytes.count && Self.isDecided(bytes) == nil }

    /// True if the bytes written in order are an object, or can never become one.
    static func isDecided(_ bytes: [UInt8]) -> Bool? {
      var depth = 0, isInString = false, hasObject = false
      for byte in bytes {
        if depth == 0 {
          if [0x20, 0x0A, 0x0D, 0x09].contains(byte) { continue }
          if byte != UInt8(ascii: "{") || hasObject { return false }
          (depth, hasObject) = (1, true)
        } else if byte == UInt8(ascii: "\"") {
          isInString.toggle()
        } else if !isInString {
          if [UInt8(ascii: "{"), UInt8(ascii: "[")].contains(byte) { depth += 1 }
          if [UInt8(ascii: "}"), UInt8(ascii: "]")].contains(byte) { depth -= 1 }
        }
      }
      return depth == 0 && hasObject ? true : nil
    }
  }

  struct Handle {
    let file: File
    let writes: Bool
    let appends: Bool
    /// True if a complete text is checked when it is written.
    let isWatched: Bool
    /// True if the bytes belong to the handle.
    let isEdit: Bool
  }

  private struct Deletion {
    let properties: Properties
    let incarnation: Int
    /// The positions of the links to it.
    let links: [(key: Int, index: Int)]
  }

  private(set) var objects: [Int: Properties]
  /// The classes that were added and have no objects.
  private(set) var emptyClasses: Set<String> = []
  var files: [String: File] = [:]
  private(set) var handles: [Int: Handle] = [:]
  private var aside: [Int: File] = [:]
  private var incarnations: [Int: Int] = [:]
  private var deletions: [Int: Deletion] = [:]
  /// The objects with a refused text, which no save has changed since and whose removal has not failed since.
  private var rejected: Set<Int> = []
  /// The objects that were emptied and closed. The next write to one begins a new text.
  private var emptied: Set<Int> = []
  private let defaults: Properties

  /// Starts with `objects`; a new one has `defaults` and its key.
  init(_ objects: [Int: Properties], defaults: Properties) {
    self.objects = objects
    self.defaults = defaults
  }

  // MARK: what is seen

  /// The names that a listing shows.
  var names: [String] { (objects.keys.filter { aside[$0] == nil }.map(Self.name) + files.keys).sorted() }

  static let className = "Person"

  static func name(_ key: Int) -> String { "\(key).json" }

  /// The key that a name represents; nil for a scratch file.
  static func key(_ name: String) -> Int? {
    name.hasSuffix(".json") ? Int(name.dropLast(5)) : nil
  }

  private func visibleObject(_ name: String) -> Int? {
    guard let key = Self.key(name), objects[key] != nil, aside[key] == nil else { return nil }
    return key
  }

  func exists(_ name: String) -> Bool { files[name] != nil || visibleObject(name) != nil }

  // MARK: texts

  /// The properties of a JSON object, each as canonical text.
  static func parse(_ bytes: [UInt8]) -> Properties? {
    if bytes.contains(0) { return nil }
    guard let object = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any] else { return nil }
    // A duplicate property is refused; the parser here accepts it.
    let text = String(decoding: bytes, as: UTF8.self)
    if object.keys.contains(where: { text.components(separatedBy: "\"\($0)\":").count > 2 }) { return nil }
    return object.mapValues { value in
      let data = try? JSONSerialization.data(withJSONObject: [value], options: [.sortedKeys])
      return String(decoding: data ?? Data(), as: UTF8.self)
    }
  }

  static func keys(_ list: String) -> [Int]? {
    (try? JSONSerialization.jsonObject(with: Data(list.utf8)) as? [[Int]])?.first
  }

  private static func list(_ keys: [Int]) -> String { "[[" + keys.map(String.init).joined(separator: ",") + "]]" }

  /// The properties that saving `bytes` as the object `key` sets.
  func judge(_ bytes: [UInt8], _ key: Int) throws(Refusal) -> Properties {
    guard let properties = Self.parse(bytes) else { throw .invalid }
    for (name, value) in properties {
      switch name {
      case "_id": if value != "[\(key)]" { throw .invalid }
      case "age": if value != "[null]" && Int(value.dropFirst().dropLast()) == nil { throw .invalid }
      case "friends":
        guard let friends = Self.keys(value), friends.allSatisfy({ objects[$0] != nil || $0 == key }) else {
          throw .invalid
        }
      default: if defaults[name] == nil { throw .invalid }
      }
    }
    return properties
  }

  // MARK: saving

  private mutating func save(_ bytes: [UInt8], object key: Int, incarnation: Int) throws(Refusal) {
    do throws(Refusal) {
      if Self.parse(bytes) == nil { throw .invalid }
      guard let former = objects[key], incarnations[key, default: 0] == incarnation else { throw .stale }
      let new = former.merging(try judge(bytes, key)) { _, new in new }
      objects[key] = new
      if new != former { rejected.remove(key) }
    } catch {
      rejected.insert(key)
      throw error
    }
  }

  /// Saves under a name: the object that has it, or a new one, with the links to one that was deleted a moment ago.
  private mutating func save(_ bytes: [UInt8], key: Int) throws(Refusal) {
    if objects[key] != nil { return try save(bytes, object: key, incarnation: incarnations[key, default: 0]) }
    let properties: Properties
    do throws(Refusal) { properties = try judge(bytes, key) } catch {
      rejected.insert(key)
      restoreRemoved(key)
      throw error
    }
    rejected.remove(key)
    var new = defaults
    new["_id"] = "[\(key)]"
    new.merge(properties) { _, new in new }
    comeBack(key, new)
  }

  /// Restores a deleted object, because its replacement is refused.
  private mutating func restoreRemoved(_ key: Int) {
    guard let deletion = deletions[key] else { return }
    var properties = deletion.properties
    // Omits links to objects that no longer exist.
    if let friends = properties["friends"].flatMap(Self.keys) {
      properties["friends"] = Self.list(friends.filter { objects[$0] != nil || $0 == key })
    }
    comeBack(key, properties)
    // The next write to the file changes the object.
    if let file = files[Self.name(key)] { became(file, key) }
  }

  private mutating func comeBack(_ key: Int, _ properties: Properties) {
    let deletion = deletions.removeValue(forKey: key)
    objects[key] = properties
    // A restored object is the same one for handles that have it open.
    incarnations[key] = deletion?.incarnation ?? incarnations[key, default: 0] + 1
    for link in deletion?.links ?? [] {
      guard var friends = objects[link.key]?["friends"].flatMap(Self.keys) else { continue }
      friends.insert(key, at: min(link.index, friends.count))
      objects[link.key]?["friends"] = Self.list(friends)
    }
  }

  private mutating func save(_ file: File) throws(Refusal) {
    do throws(Refusal) {
      if let key = file.object {
        try save(file.bytes, object: key, incarnation: file.incarnation)
      } else if let name = file.name, let key = Self.key(name) {
        try save(file.bytes, key: key)
        became(file, key)
      }
      file.state = .clean
      file.hasFailed = false
    } catch {
      file.state = .refused(error)
      file.hasFailed = true
      restoreRemoved(file)
      throw error
    }
  }

  /// The refusal of saving the file; nil if it can be saved.
  private func rehearse(_ file: File) throws(Refusal) {
    if let key = file.object {
      if Self.parse(file.bytes) == nil { throw .invalid }
      guard objects[key] != nil, incarnations[key, default: 0] == file.incarnation else { throw .stale }
      _ = try judge(file.bytes, key)
    } else if let key = file.name.flatMap(Self.key) {
      _ = try judge(file.bytes, key)
    }
  }

  private mutating func restoreRemoved(_ file: File) {
    if let key = file.name.flatMap(Self.key) { restoreRemoved(key) }
  }

  /// The file is the object from now on, and its name is the object's own.
  private mutating func became(_ file: File, _ key: Int) {
    if let name = file.name { files[name] = nil }
    releaseAside(file)
    file.name = nil
    file.object = key
    file.incarnation = incarnations[key, default: 0]
    aside[key] = nil
  }

  private mutating func releaseAside(_ file: File) { aside = aside.filter { $0.value !== file } }

  private mutating func unlinkFile(_ name: String) {
    guard let file = files.removeValue(forKey: name) else { return }
    file.name = nil
    releaseAside(file)
  }

  // MARK: operations

  /// `text` is the text of the object's file, for a handle that does not truncate.
  mutating func open(
    _ id: Int,
    _ name: String,
    writes: Bool,
    truncates: Bool,
    appends: Bool,
    text: [UInt8]
  ) throws(Refusal) {
    let file: File
    var isEdit = false, isWatched = true, beginsAnew = truncates
    if let present = files[name] {
      file = present
      isWatched = Self.key(name) != nil
    } else if let key = visibleObject(name) {
      file = File(text)
      file.object = key
      file.incarnation = incarnations[key, default: 0]
      file.inOrder = appends ? text : []
      isEdit = true
      if writes || truncates, emptied.remove(key) != nil { beginsAnew = true }
    } else {
      throw .notFound
    }
    if beginsAnew { truncate(file, 0) }
    handles[id] = Handle(file: file, writes: writes, appends: appends, isWatched: isWatched, isEdit: isEdit)
  }

  mutating func create(_ id: Int, _ name: String, isExclusive: Bool, text: [UInt8]) throws(Refusal) {
    if exists(name) {
      if isExclusive { throw .exists }
      return try open(id, name, writes: true, truncates: false, appends: false, text: text)
    }
    let file = File([])
    file.name = name
    files[name] = file
    handles[id] = Handle(file: file, writes: true, appends: false, isWatched: Self.key(name) != nil, isEdit: false)
  }

  mutating func write(_ id: Int, _ bytes: [UInt8], at offset: Int) throws(Refusal) {
    guard let handle = handles[id], handle.writes else { throw .forbidden }
    if bytes.isEmpty { return }
    let file = handle.file
    if case .refused(let refusal) = file.state { throw refusal }
    let start = handle.appends ? file.bytes.count : offset
    if file.bytes.count < start + bytes.count {
      file.bytes += repeatElement(0, count: start + bytes.count - file.bytes.count)
    }
    file.bytes.replaceSubrange(start..<start + bytes.count, with: bytes)
    file.state = .dirty
    file.isEmptied = false
    guard handle.isWatched else {
      file.inOrder = nil
      return
    }
    if start == 0 { file.inOrder = [] }
    guard let before = file.inOrder, before.count == start else {
      file.inOrder = nil
      return
    }
    file.inOrder = before + bytes
    let isDecided = File.isDecided(before + bytes)
    guard start + bytes.count == file.bytes.count else { return }
    guard let isDecided, isDecided != File.isDecided(before) else { return }
    do throws(Refusal) { try rehearse(file) } catch {
      file.state = .refused(error)
      file.hasFailed = true
      if let key = file.object ?? file.name.flatMap(Self.key) { rejected.insert(key) }
      throw error
    }
  }

  func truncate(_ file: File, _ size: Int) {
    if size < file.bytes.count {
      file.bytes.removeLast(file.bytes.count - size)
    } else {
      file.bytes += repeatElement(0, count: size - file.bytes.count)
    }
    file.isEmptied = size == 0
    if size == 0 { file.state = .clean } else if case .refused = file.state {} else { file.state = .dirty }
    if size == 0 { file.inOrder = [] } else if let inOrder = file.inOrder, size < inOrder.count { file.inOrder = nil }
  }

  mutating func flush(_ id: Int) throws(Refusal) {
    guard let handle = handles[id], handle.writes else { return }
    try save(handle)
    if handle.file.isEmptied, handle.isEdit, let key = handle.file.object { emptied.insert(key) }
  }

  private mutating func save(_ handle: Handle) throws(Refusal) {
    switch handle.file.state {
    case .clean: return
    case .refused(let refusal):
      restoreRemoved(handle.file)
      throw refusal
    case .dirty:
      if handle.file.isUnfinished, handle.file.object != nil || handle.file.name.flatMap(Self.key) != nil {
        handle.file.hasFailed = true
        if let key = handle.file.object ?? handle.file.name.flatMap(Self.key) { rejected.insert(key) }
        throw .invalid
      }
      try save(handle.file)
      if handle.isEdit, let key = handle.file.object { emptied.remove(key) }
    }
  }

  mutating func synchronize(_ id: Int) throws(Refusal) {
    if let handle = handles[id], handle.writes { try save(handle) }
  }

  mutating func release(_ id: Int) {
    guard let handle = handles[id] else { return }
    handles[id] = nil
    let isLast = handle.isEdit || !handles.values.contains { $0.file === handle.file }
    if handle.writes, case .dirty = handle.file.state, isLast || !handle.file.isUnfinished {
      do throws(Refusal) {
        try save(handle.file)
        if handle.isEdit, let key = handle.file.object { emptied.remove(key) }
      } catch { /* noted in `state` */  }
    }
    // A file that replaces a removed object and was never written to.
    if !handle.isEdit, isLast, case .clean = handle.file.state, handle.file.bytes.isEmpty,
      let key = handle.file.name.flatMap(Self.key), deletions[key] != nil
    {
      do throws(Refusal) { try save(handle.file) } catch { /* noted in `state` */  }
    }
    // The text of a refused object is kept with the refused ones; its name is free again.
    if !handle.isEdit, isLast, handle.file.hasFailed, let name = handle.file.name {
      unlinkFile(name)
      if let key = Self.key(name) { restoreRemoved(key) }
    }
  }

  mutating func unlink(_ name: String) throws(Refusal) {
    if let file = files[name] {
      unlinkFile(name)
      if file.hasFailed, let key = Self.key(name) { restoreRemoved(key) }
      return
    }
    guard let key = visibleObject(name) else { throw .notFound }
    // The first removal after a refusal fails.
    if rejected.remove(key) != nil { throw .forbidden }
    guard let properties = objects.removeValue(forKey: key) else { throw .notFound }
    emptied.remove(key)
    var links: [(key: Int, index: Int)] = []
    for (other, before) in objects {
      guard let friends = before["friends"].flatMap(Self.keys), friends.contains(key) else { continue }
      links += friends.indices.filter { friends[$0] == key }.map { (other, $0) }
      objects[other]?["friends"] = Self.list(friends.filter { $0 != key })
    }
    deletions[key] = Deletion(
      properties: properties,
      incarnation: incarnations[key, default: 0],
      links: links
    )
    // Until it is restored, handles on it have no object.
  }

  /// Exchanges two names; `text` is that of a file, or of an object.
  mutating func exchange(_ name: String, _ newName: String, _ text: (String) -> [UInt8]) throws(Refusal) {
    if name == newName { return }
    if !exists(newName) { throw .notFound }
    switch (files[name], files[newName]) {
    case (let first?, let second?):
      if Self.key(name) != nil || Self.key(newName) != nil { throw .forbidden }
      (files[name], files[newName], first.name, second.name) = (second, first, newName, name)
    case (let file?, nil): try exchange(file, newName, text(newName))
    case (nil, let file?): try exchange(file, name, text(name))
    case (nil, nil): throw .forbidden
    }
  }

  /// The object gets the text of the file, and the file that of the object.
  private mutating func exchange(_ file: File, _ name: String, _ text: [UInt8]) throws(Refusal) {
    guard let key = visibleObject(name) else { throw .notFound }
    try save(file.bytes, object: key, incarnation: incarnations[key, default: 0])
    file.bytes = text
    file.state = .dirty
    file.inOrder = nil
  }

  func makeDirectory(_ name: String) throws(Refusal) { throw exists(name) ? .exists : .forbidden }

  func removeDirectory(_ name: String) throws(Refusal) { throw exists(name) ? .forbidden : .notFound }

  mutating func makeClass(_ name: String) throws(Refusal) {
    if name == Self.className || !emptyClasses.insert(name).inserted { throw .exists }
  }

  mutating func removeClass(_ name: String) throws(Refusal) {
    if name == Self.className { throw .notEmpty }
    if emptyClasses.remove(name) == nil { throw .notFound }
  }

  mutating func rename(_ name: String, _ newName: String, keep: Bool) throws(Refusal) {
    if name == newName { return }
    if keep && exists(newName) { throw .exists }
    if let file = files[name] {
      guard let key = Self.key(newName) else {
        unlinkFile(newName)
        files[name] = nil
        files[newName] = file
        file.name = newName
        // As a scratch file it is no longer refused.
        (file.state, file.hasFailed) = (.clean, false)
        return
      }
      if file.bytes.isEmpty && !exists(newName) {
        files[name] = nil
        files[newName] = file
        file.name = newName
        return
      }
      try save(file.bytes, key: key)
      emptied.remove(key)
      unlinkFile(newName)
      became(file, key)
      file.state = .clean
      file.hasFailed = false
      return
    }
    guard let key = visibleObject(name) else { throw .notFound }
    if Self.key(newName) != nil { throw .forbidden }
    unlinkFile(newName)
    let file = File([])  // its bytes are the object's text, which the test knows
    file.name = newName
    files[newName] = file
    aside[key] = file
  }
}
