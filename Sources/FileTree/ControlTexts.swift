// What the files of `.realm` say.

import RealmPages
import Synchronization

/// The texts of control files, as functions of a version.
enum ControlTexts {
  static func readme(_ options: MountOptions, isWritable: Bool) -> String {
    """
    This directory tells about the Realm database that is mounted here\(options.productVersion.isEmpty
      ? "" : " (realmfs \(options.productVersion))").

      version             the number of the version that is shown; each commit adds 1
      info.json           the file, its format, and the classes with the number of their objects
      stats.json          bytes per class, and free bytes in the file
      schema.json         the whole schema
      schema/CLASS.json   the schema of one class
      tables/             tables that are not classes, by object key
    \(isWritable
      ? """
        errors              the last refused changes, one JSON object a line
        rejected/           the refused texts, to be mended and saved again

      schema.json and the files of schema/ can be written, which changes the schema; the rest is read-only.

      """
      : """

      Everything here is read-only.

      """)
    """
  }

  static func info(_ view: VersionView, _ realm: Realm, _ options: MountOptions) -> String {
    let snapshot = view.snapshot
    let path = realm.configuration.path
    var json = JSONLines()
    json.member("path", string: String(path.split(separator: "/").last ?? ""))
    json.member("fileFormat", snapshot.fileFormat)
    json.member("version", snapshot.version)
    json.member("logicalSize", snapshot.logicalSize)
    json.member("fileSize", view.fileSize)
    json.member("history", string: history(snapshot.historyType))
    json.member("encrypted", realm.configuration.encryptionKey != nil)
    json.begin("classes")
    for directory in view.directories {
      guard let name = directory.table.className else { continue }
      json.begin(name)
      if directory.table.damage == nil {
        json.member("kind", string: kind(directory.table.kind))
        json.member("objects", directory.table.objectCount)
      } else {
        json.member("damaged", true)
      }
      json.end()
    }
    json.end()
    return json.finished()
  }

  static func statistics(_ view: VersionView, _ memory: StatisticsMemory) throws(FileTreeError) -> String {
    var json = JSONLines()
    json.member("version", view.snapshot.version)
    json.member("logicalSize", view.snapshot.logicalSize)
    do {
      json.member("freeBytes", try view.snapshot.freeBytes())
    } catch {
      throw .damaged("free list", error)
    }
    json.begin("classes")
    for directory in view.directories where directory.table.className != nil {
      try statistics(of: directory, view, memory, into: &json)
    }
    json.end()
    json.begin("tables")
    for directory in view.directories where directory.table.className == nil {
      try statistics(of: directory, view, memory, into: &json)
    }
    json.end()
    return json.finished()
  }

  private static func statistics(
    of directory: TableDirectory,
    _ view: VersionView,
    _ memory: StatisticsMemory,
    into json: inout JSONLines
  ) throws(FileTreeError) {
    json.begin(directory.table.className ?? directory.table.name)
    if directory.table.damage == nil {
      json.member("objects", directory.table.objectCount)
      json.member("bytes", try memory.bytes(of: directory, view.snapshot))
    } else {
      json.member("damaged", true)
    }
    json.end()
  }

  private static func history(_ type: Int) -> String {
    switch type {
    case 0: "none"
    case 2: "in-realm"
    case 3: "sync-client"
    case 4: "sync-server"
    default: String(type)
    }
  }

  private static func kind(_ kind: TableKind) -> String {
    switch kind {
    case .topLevel: "top-level"
    case .embedded: "embedded"
    case .asymmetric: "asymmetric"
    }
  }
}

/// The bytes of tables that were counted, so that counting goes on where a commit interrupted it.
final class StatisticsMemory: Sendable {
  private struct Known {
    let contentVersion: UInt64
    let bytes: Int
  }

  private let known = Mutex<[TableOrdinal: Known]>([:])

  /// The bytes of all nodes of a table. O(size of the table) unless it did not change since the last call.
  func bytes(of directory: TableDirectory, _ snapshot: Snapshot) throws(FileTreeError) -> Int {
    let version = directory.table.contentVersion
    if let known = known.withLock({ $0[directory.ordinal] }), known.contentVersion == version { return known.bytes }
    do {
      let bytes = try snapshot.storedBytes(of: directory.table.key)
      known.withLock { $0[directory.ordinal] = Known(contentVersion: version, bytes: bytes) }
      return bytes
    } catch {
      throw .damaged(directory.shownName, error)
    }
  }
}
