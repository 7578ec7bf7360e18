// The files in a snapshot's directory in addition to the tree of its version. Their names begin with a dot, which no
// class name does. `.changes` lists the differences between that version and the newest; writing `.restore` restores
// that version.

import RealmJSON
import RealmPages

/// The dot files of a snapshot.
enum SnapshotFiles {
  /// The attributes of the file called `name`; nil if there is none. Counts as a kernel lookup.
  static func lookUp(
    _ name: [UInt8],
    _ held: HeldTree,
    _ tree: TreeContext
  ) throws(FileTreeError) -> FileAttributes? {
    switch String(decoding: name, as: UTF8.self) {
    case ".changes":
      return try tree.namespace.enter(NodeIdentity(ChangesSinceNode.self, held.number, [])) {
        ChangesSinceNode(inode: $0, held: held)
      }
    case ".restore":
      return try tree.namespace.enter(NodeIdentity(ControlFileNode.self, held.number, Array(".restore".utf8))) {
        ControlFileNode($0, ".restore", ControlTexts.compact, target: RestoreTarget(held: held))
      }
    default: return nil
    }
  }
}

/// The file `.changes`: one line for each object that differs in the newest version. It is generated while it is read,
/// so `stat` shows size 0, as for files in /proc.
struct ChangesSinceNode: FileNode {
  let inode: InodeNumber
  let held: HeldTree

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    _ = try held.content()
    return try tree.read { view in view.rules.file(inode, size: 0, view.modified).readOnly.uncached }
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    if access.writes || access.truncates { throw .refused(.forbidden, ".changes is computed") }
    return try openDifference(".changes", since: held.content().hold, of: "the realm", tree)
  }
}

/// Command target: restore all classes to the state of a snapshot.
struct RestoreTarget: CommandTarget {
  let held: HeldTree

  var operation: String { "restore" }

  func perform(_ text: DraftText, _ saver: Saver, _ tree: TreeContext) throws(FileTreeError) {
    switch String(decoding: try text.bytes, as: UTF8.self).filter({ !$0.isWhitespace }) {
    case "1": break
    case "0": return
    default: throw .refused(.invalid, "write 1 to restore all classes from this snapshot")
    }
    let wanted = try held.content().hold
    try saver.save(mayWait: false) { transaction throws(FileTreeError) in
      do throws(EngineError) {
        let touched: [ObjectReference]?
        do throws(EngineError) { touched = try transaction.restore(wanted.snapshot) } catch {
          guard [.badSchema, .forbidden].contains(error.reason) else { throw error }
          throw EngineError(error.reason, "\(error); copy single objects out of the snapshot instead")
        }
        // Data read from reused space must not be committed.
        guard tree.realm.isCurrent(wanted.snapshot) else {
          throw EngineError(.moved, "the version of the snapshot was overwritten; nothing was changed")
        }
        return transaction.hasChanges ? Effect(touched: touched) : .none
      } catch { throw FileTreeError(error) }
    }
  }

  func shownPlace(_ tree: TreeContext) -> ShownPlace? {
    guard let name = tree.subtrees.snapshots.name(of: held) else { return nil }
    return ShownPlace(path: ".realm/snapshots/\(String(decoding: name, as: UTF8.self))/.restore", rejected: nil)
  }
}
