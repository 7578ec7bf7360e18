// What the files of `.realm` say.

import RealmJSON
import RealmPages
import Synchronization

/// The texts of control files, as functions of a version.
enum ControlTexts {
  static func readme(_ view: VersionView, _ tree: TreeContext) -> [UInt8] {
    let version = tree.options.productVersion
    let sync =
      tree.options.syncReport == nil
      ? "" : "\n  sync.json           the sync server, whether it is there, and what is on the way"
    let text = """
      This directory tells about the Realm database that is mounted here\(version.isEmpty
      ? "" : " (realmfs \(version))").

        version             the number of the version that is shown; each commit adds 1
        info.json           the file, its format, and the classes with the number of their objects\(sync)
        stats.json          bytes per class, and free bytes in the file
        schema.json         the whole schema
        schema/CLASS.json   the schema of one class
        tables/             tables that are not classes, by object key
        changes             what commits change, as they come: cat and head -n 1 wait for the next one
      \(tree.saver != nil
      ? """
        snapshots/          mkdir holds the newest version under a name, rmdir lets go of it;
                            snapshots/NAME/.changes has what changed since, one JSON object a line;
                            write 1 to snapshots/NAME/.restore to bring everything back in one commit
        tx/                 mkdir opens a transaction, a tree whose changes are made in one commit: touch
                            tx/NAME/.commit; .diff tells what would change, .test finds out what would keep it from
                            that, .log says so, .abort or rmdir drops it
        errors              the last refused changes, one JSON object a line
        unsaved             the files that are in memory only, not in the realm, one path a line
        rejected/           the refused texts, to be mended and saved again
        trash/              former texts of the objects that this mount changed or deleted, and the former schema
        compact             write 1 to make the file as small as its content

      schema.json and the files of schema/ can be written, which changes the schema; the rest is read-only.

      """
      : """

      Everything here is read-only.

      """)
      The directory of a class has more than its objects, by names that begin with a dot:

        .where/QUERY/       the objects that a query in Realm Query Language finds; / is written as %2F, % as %25
        .by/PROPERTY/VALUE/ the objects whose property has this value
        .fields/KEY/        an object as a directory of its properties
        .all.jsonl          all objects, one a line; lines that are written are saved in one commit
        .all.csv            all objects as CSV
        .count              their number

      .where and .by are in the directories that they lead to, too, and narrow these down.
      \(tree.saver != nil
      ? """

        A file whose links lead to objects that do not exist yet is refused. To bring back a whole tree, run cp, tar,
        rsync or git in a transaction, where files may come in any order, or import it without a mount:

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

  /// What the file says that is there to be written to.
  static func compact(_ view: VersionView, _ tree: TreeContext) -> [UInt8] { Array("0\n".utf8) }

  static func sync(_ view: VersionView, _ tree: TreeContext) -> [UInt8] {
    Array((tree.options.syncReport?() ?? "").utf8)
  }

  static func unsaved(_ view: VersionView, _ tree: TreeContext) -> [UInt8] {
    tree.unsavedFiles().flatMap { Array(($0.printable + "\n").utf8) }
  }

  static func schema(_ view: VersionView, _ tree: TreeContext) throws(FileTreeError) -> [UInt8] {
    try rendered("schema") { out throws(RenderError) in try SchemaRenderer.render(view.snapshot, into: out) }
  }

  /// What `render` writes; `place` names it where it is damaged.
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
    let held = tree.snapshots.all
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
      ("encrypted", .bool(realm.standing.isEncrypted)),
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
      let facts = try statistics(of: directory, view, tree.statistics, effort)
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

/// The bytes of tables that were counted, so that counting goes on where a commit interrupted it.
final class StatisticsMemory: Sendable {
  private struct Known {
    let contentVersion: UInt64
    let bytes: Int
  }

  private let known = Mutex<[TableOrdinal: Known]>([:])

  /// The bytes of all nodes of a table. O(size of the table) unless it did not change since the last call.
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
