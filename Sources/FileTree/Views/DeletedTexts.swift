// The texts of `.realm/deleted`: the deleted objects whose last state is certain, as files would show them.

import RealmJSON
import RealmNames
import RealmPages
import Synchronization

/// The deleted objects of one version of the realm.
struct DeletedTexts: Sendable {
  /// A deleted object.
  struct File: Sendable {
    let name: [UInt8]
    let text: [UInt8]
    let attributes: [ExtendedAttribute]
  }

  /// The objects of a class.
  struct Directory: Sendable {
    let name: [UInt8]
    var files: [File] = []
  }

  private(set) var directories: [Directory] = []
  /// The positions of files in their directories, by the names of both.
  private var places: [[UInt8]: [[UInt8]: Int]] = [:]

  /// The maximum number of bytes of names and texts.
  static let maxBytes = 1 << 26

  /// Reads all of them from the file of `newest`, while no writer can commit. Cost: that of `DeletedObjects.forEach`.
  ///
  /// - Throws: `overLimit` if the texts are too large to be kept in memory.
  init(_ newest: Snapshot, _ style: JSONStyle) throws(EngineError) {
    var bytes = 0
    try DeletedObjects(in: newest).forEach { (object) throws(EngineError) in
      guard object.confidence == .certain, let text = DeletedObjectText(object, style: style, layout: .pretty),
        let name = object.fileName
      else { return false }
      bytes += text.value.count + name.count
      if bytes > Self.maxBytes {
        throw EngineError(.overLimit, "more than 64 MiB of deleted objects; use 'realmfs deleted' to list them")
      }
      add(File(name: name, text: text.value, attributes: Self.attributes(text)), to: text.className)
      return true
    }
  }

  private static func attributes(_ text: DeletedObjectText) -> [ExtendedAttribute] {
    let object = text.object
    let freed = object.freed.map { [ExtendedAttribute(name: "user.realm.freed", value: String($0))] } ?? []
    return [
      ExtendedAttribute(name: "user.realm.class", value: text.className),
      ExtendedAttribute(name: "user.realm.key", value: String(object.key.value)),
      ExtendedAttribute(name: "user.realm.version", value: String(object.version)),
    ] + freed
  }

  private mutating func add(_ file: File, to className: String) {
    let directory = Array(NameEscaping.directory(of: className).utf8)
    if places[directory] == nil {
      places[directory] = [:]
      directories.append(Directory(name: directory))
    }
    // Of two objects with the same name, the first one was deleted last.
    guard places[directory]?[file.name] == nil, let index = directories.firstIndex(where: { $0.name == directory })
    else { return }
    places[directory]?[file.name] = directories[index].files.count
    directories[index].files.append(file)
  }

  /// The objects of the class with this directory name.
  func directory(_ name: [UInt8]) -> Directory? { directories.first { $0.name == name } }

  /// The file of this name in the directory of a class.
  func file(_ name: [UInt8], in directory: [UInt8]) -> File? {
    places[directory]?[name].flatMap { index in self.directory(directory)?.files[index] }
  }
}

extension TreeContext {
  /// The deleted objects of the newest version, read on the first call for each version. The error that they are too
  /// large is remembered as well.
  func deletedTexts() throws(FileTreeError) -> DeletedTexts {
    let view = try read { $0 }
    if let known = view.deletedTexts.withLock({ $0 }) { return try known.get() }
    let style = options.json
    return try withWriterLock { (newest, _) throws(FileTreeError) in
      let found: Result<DeletedTexts, FileTreeError>
      do throws(EngineError) { found = .success(try DeletedTexts(newest, style)) } catch {
        // Other failures may be temporary.
        if error.reason != .overLimit { throw FileTreeError(error) }
        found = .failure(FileTreeError(error))
      }
      if newest.version == view.snapshot.version { view.deletedTexts.withLock { $0 = found } }
      return try found.get()
    }
  }
}
