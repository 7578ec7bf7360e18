// `.all.jsonl`: the objects of a directory in one file, an object a line, as `realmfs cat` prints them. It is made
// while it is read, so its size is not known: stat shows 0, as for the files of /proc, and programs read to the end.

import RealmPages
import RealmQuery

/// The file `.all.jsonl`.
struct AllObjectsNode: FileNode {
  let inode: InodeNumber
  let selection: ObjectSelection

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view throws(FileTreeError) in
      view.rules.file(inode, size: 0, try view.existing(selection.ordinal).stamp.touched).readOnly.uncached
    }
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    if access.writes || access.truncates {
      guard tree.saver != nil else { throw .readOnly }
      throw .refused(.forbidden, "all objects are read from here; they are written one by one, or by 'realmfs import'")
    }
    // The objects are found in the version that is then read.
    let (hold, table, name) = try tree.held(selection.ordinal)
    var keys: [ObjKey]?
    if !selection.conditions.isEmpty {
      let query = try selection.query(table, hold.snapshot, name)
      do throws(QueryFailure) {
        keys = try query.keys(until: ContinuousClock.now.advanced(by: tree.options.queryTimeout))
      } catch { throw FileTreeError(error, place: name, tree.options) }
    }
    let lines = ObjectLines(hold, table, keys, tree.options.json)
    let stream = StreamedText(lines, place: name, tree.realm, log: tree.damageLog)
    return OpenFile(inode, tree.openFiles.openStream(inode), stream: stream)
  }
}
