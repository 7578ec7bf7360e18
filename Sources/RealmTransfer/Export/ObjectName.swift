// Parses `CLASS/NAME`: an object by the name of its file in a mounted tree, with or without `.json`.

import RealmJSON
import RealmNames
public import RealmPages

/// The name of an object.
public struct ObjectName: Sendable, CustomStringConvertible {
  /// The name of the class's directory.
  public let directory: String
  /// The name of the file in the directory.
  public let file: String

  /// Parses `CLASS/NAME`; nil unless it consists of two names separated by a slash.
  public init?(_ text: String) {
    // Compare scalars: a combining mark at the start of the name forms one character with the slash.
    let scalars = text.unicodeScalars
    guard let slash = scalars.firstIndex(of: "/"), slash != text.startIndex,
      case let start = scalars.index(after: slash), start != text.endIndex
    else { return nil }
    directory = String(scalars[..<slash])
    file = String(scalars[start...])
  }

  /// The name as typed.
  public var description: String { "\(directory)/\(file)" }

  /// Returns the class for the name of a directory of the tree, escaped or not; nil if there is none.
  public static func table(_ directory: String, in snapshot: Snapshot) throws -> Table? {
    let decoded = NameEscaping.className(ofDirectory: Array(directory.utf8))
    for name in [directory, decoded ?? directory] {
      if let table = try snapshot.table(named: Table.classPrefix + name) { return table }
    }
    return nil
  }

  /// Returns the class of the object.
  public func table(in snapshot: Snapshot) throws -> Table {
    if let table = try Self.table(directory, in: snapshot) { return table }
    var names: [String] = []
    for key in try snapshot.tableKeys() {
      if let name = try snapshot.table(key)?.className { names.append(name) }
    }
    let known = names.isEmpty ? "it has none" : "it has \(names.joined(separator: ", "))"
    throw TransferError.missingClass("no class \(directory); \(known)")
  }

  /// Returns the object.
  ///
  /// Cost: O(log n); O(n) for a shortened name.
  public func object(in snapshot: Snapshot) throws -> ObjectReference {
    let table = try table(in: snapshot)
    do throws(EngineError) {
      if let damage = table.damage { throw damage }
      for name in [file, file + NameEscaping.suffix] {
        if let key = try Self.find(Array(name.utf8), table) { return ObjectReference(table: table.key, key: key) }
      }
    } catch { throw TransferError.damaged("\(self): \(error)") }
    throw TransferError.missingObject("no object \(self); NAME is the file name in a mount, without .json")
  }

  private static func find(_ name: [UInt8], _ table: Table) throws(EngineError) -> ObjKey? {
    switch NameEscaping.parse(file: name, primaryKey: table.primaryKey?.type) {
    case nil: return nil
    case .objectKey(let key): return try table.contains(key) ? key : nil
    case .key(let primaryKey): return try table.objectKey(primaryKey: primaryKey)
    case .hashed:
      let cursor = ObjectCursor(table), actual = OutputBuffer()
      while try cursor.next() {
        actual.reset()
        try NameEscaping.append(fileOf: cursor, column: table.primaryKeyIndex, to: actual)
        if actual.equals(name) { return cursor.key }
      }
      return nil
    }
  }

  /// Returns the name of an object, as `CLASS/NAME` without `.json`.
  public static func text(of object: ObjectReference, in snapshot: Snapshot) throws -> String {
    guard let table = try snapshot.table(object.table) else { return object.key.description }
    let cursor = ObjectCursor(table), out = OutputBuffer()
    guard try cursor.seek(object.key) else { return object.key.description }
    NameEscaping.append(directoryOf: table.className ?? table.name, to: out)
    out.append("/")
    try NameEscaping.append(fileOf: cursor, column: table.primaryKeyIndex, to: out)
    return String(out.string.dropLast(NameEscaping.suffix.count))
  }
}
