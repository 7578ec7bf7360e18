// The content of the files in `.realm`.

import RealmJSON
import RealmPages
import Synchronization

/// Renders the control files of a version.
enum ControlTexts {
  static func readme(_ view: VersionView, _ tree: TreeContext) -> [UInt8] {
    let version = tree.options.productVersion
    let sync =
      tree.options.syncReport == nil
      ? "" : "\n  sync.json           the sync server, whether it is connected, and pending changes"
    let deleted =
      tree.views.isFollowing && tree.subtrees.staged == nil
      ? "\n  deleted/            deleted objects that are still in the file, as CLASS/NAME.json" : ""
    let text = """
      These are the control files of the Realm database that is mounted here\(version.isEmpty
      ? "" : " (realmfs \(version))").

        version             the number of the version shown; each commit adds 1
        info.json           the file, its format, and the classes with their numbers of objects\(sync)
        stats.json          bytes per class, and free bytes in the file
        schema.json         the whole schema
        schema/CLASS.json   the schema of one class
        tables/             tables that are not classes, by object key
        changes             the changes of each commit as it is made; cat and head -n 1 wait for the next one
        versions/N/         the tree at a former version that the file still holds in full; ls versions lists
                            them, but a listing of this directory does not have it\(deleted)
      \(tree.drafts.saver != nil
      ? """
        snapshots/          mkdir keeps the newest version under a name, rmdir releases it;
                            snapshots/NAME/.changes lists what has changed since, one JSON object per line;
                            write 1 to snapshots/NAME/.restore to restore everything in one commit
        tx/                 mkdir opens a transaction, a tree whose changes are committed together: touch
                            tx/NAME/.commit; .diff lists what would change, .test checks without committing,
                            .log has the reasons of failures, .abort or rmdir drops the transaction
        errors              the last refused changes, one JSON object per line
        unsaved             the files that are in memory only, not in the realm, one path per line
        rejected/           the refused texts, to correct and save again
        trash/              former texts of the objects that this mount changed or deleted, and the former schema
        compact             write 1 to shrink the file to the size of its content

      Writing schema.json or a file in schema/ changes the schema. Everything else is read-only.

      """
      : """

      Everything here is read-only.

      """)
      Besides its objects, a class directory has these entries, whose names begin with a dot:

        .where/QUERY/       the objects that a query in Realm Query Language finds; write / as %2F, % as %25
        .by/PROPERTY/VALUE/ the objects whose property has this value
        .fields/KEY/        an object as a directory of its properties
        .all.jsonl          all objects, one per line; lines written to it are saved in one commit
        .all.csv            all objects as CSV
        .count              the number of objects

      .where and .by also exist in the directories that they lead to, and narrow these down.
      \(tree.drafts.saver != nil
      ? """

        A file whose links lead to objects that do not exist yet is refused. To restore a whole tree, run cp, tar,
        rsync or git in a transaction, where files can come in any order, or import it without a mount:

          realmfs tx MOUNTPOINT -- tar xf TREE.tar
          realmfs import FILE DIRECTORY

        rmdir removes a class only if it has neither objects nor properties. To remove a class with its properties,
        write schema.json without it, or run 'realmfs class rm'.

        """
      : "")
      """
    return Array(text.utf8)
  }

  static func version(_ view: VersionView, _ tree: TreeContext) -> [UInt8] {
    Array("\(view.snapshot.version)\n".utf8)
  }

  /// Renders `compact`, which always reads as 0: writing 1 compacts the file.
  static func compact(_ view: VersionView, _ tree: TreeContext) -> [UInt8] { Array("0\n".utf8) }

  static func sync(_ view: VersionView, _ tree: TreeContext) -> [UInt8] {
    Array((tree.options.syncReport?() ?? "").utf8)
  }

  static func unsaved(_ view: VersionView, _ tree: TreeContext) -> [UInt8] {
    tree.namespace.unsavedFiles().flatMap { Array(($0.printable + "\n").utf8) }
  }

  static func schema(_ view: VersionView, _ tree: TreeContext) throws(FileTreeError) -> [UInt8] {
    try rendered("schema") { out throws(RenderError) in try SchemaRenderer.render(view.snapshot, into: out) }
  }

  /// Returns the output of `render`. Errors about damage refer to `place`.
  static func rendered(
    _ place: String,
    _ render: (OutputBuffer) throws(RenderError) -> Void
  ) throws(FileTreeError) -> [UInt8] {
    let out = OutputBuffer()
    do { try render(out) } catch { throw .damaged(place: place, problem: error.description) }
    return out.bytes
  }

  static func info(_ view: VersionView, _ tree: TreeContext) throws(FileTreeError) -> [UInt8] {
    let snapshot = view.snapshot, realm = tree.realm
    let path = realm.configuration.path
    let classes = view.directories.compactMap { directory -> (String, JSONValue)? in
      guard let name = directory.table.className else { return nil }
      if directory.table.damage != nil { return (name, .object([("damaged", .bool(true))])) }
      let facts: [(String, JSONValue)] = [
        ("kind", .string(directory.table.kind.name)), ("objects", .number(directory.table.objectCount)),
      ]
      return (name, .object(facts))
    }
    let held = tree.subtrees.snapshots.all
    let released: [Int]
    do { released = try snapshot.bytesReleased(since: held.map(\.tree.version)) } catch {
      throw .damaged("free list", error)
    }
    let snapshots = zip(held, released).map { held, bytes in
      JSONValue.object([
        ("name", .string(String(decoding: held.name, as: UTF8.self))), ("version", .number(Int(held.tree.version))),
        ("heldBytes", .number(bytes)),
      ])
    }
    var facts: [(String, JSONValue)] = [
      ("path", .string(String(path.split(separator: "/").last ?? ""))),
      ("fileFormat", .number(snapshot.fileFormat)),
      ("version", .number(Int(snapshot.version))),
      ("logicalSize", .number(snapshot.logicalSize)),
      ("fileSize", .number(view.fileSize)),
      ("history", .string(history(snapshot.historyType))),
      ("encrypted", .bool(realm.location.isEncrypted)),
      ("snapshots", .array(snapshots)),
      ("classes", .object(classes)),
    ]
    if let report = tree.options.syncReport { facts.append(("sync", JSONValue(report: Array(report().utf8)) ?? .null)) }
    return Array(JSONValue.object(facts).text.utf8)
  }

  static func statistics(_ view: VersionView, _ tree: TreeContext) throws(FileTreeError) -> [UInt8] {
    let free: Int
    do { free = try view.snapshot.freeBytes() } catch { throw .damaged("free list", error) }
    var classes: [(String, JSONValue)] = [], tables: [(String, JSONValue)] = []
    let effort = Effort(view.snapshot)
    for directory in view.directories {
      let facts = try statistics(of: directory, view, tree.views.statistics, effort)
      if let name = directory.table.className {
        classes.append((name, facts))
      } else {
        tables.append((directory.table.name, facts))
      }
    }
    let facts: [(String, JSONValue)] = [
      ("version", .number(Int(view.snapshot.version))),
      ("logicalSize", .number(view.snapshot.logicalSize)),
      ("freeBytes", .number(free)),
      ("classes", .object(classes)),
      ("tables", .object(tables)),
    ]
    return Array(JSONValue.object(facts).text.utf8)
  }

  private static func statistics(
    of directory: TableDirectory,
    _ view: VersionView,
    _ memory: StatisticsMemory,
    _ effort: Effort
  ) throws(FileTreeError) -> JSONValue {
    if directory.table.damage != nil { return .object([("damaged", .bool(true))]) }
    let bytes = try memory.bytes(of: directory, view.snapshot, effort)
    return .object([("objects", .number(directory.table.objectCount)), ("bytes", .number(bytes))])
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
}

/// A cache of table sizes, so that counting continues after a commit interrupted it.
final class StatisticsMemory: Sendable {
  private struct Known {
    let contentVersion: UInt64
    let bytes: Int
  }

  private let known = Mutex<[TableOrdinal: Known]>([:])

  /// Returns the size of all nodes of a table in bytes. O(size of the table), O(1) if it did not change since the last
  /// call.
  func bytes(
    of directory: TableDirectory,
    _ snapshot: Snapshot,
    _ effort: Effort
  ) throws(FileTreeError) -> Int {
    let version = directory.table.contentVersion
    if let known = known.withLock({ $0[directory.ordinal] }), known.contentVersion == version { return known.bytes }
    do {
      let bytes = try snapshot.storedBytes(of: directory.table.key, sweep: effort)
      known.withLock { $0[directory.ordinal] = Known(contentVersion: version, bytes: bytes) }
      return bytes
    } catch {
      throw .damaged(directory.shownName, error)
    }
  }
}
