// Makes the texts of the objects that a listing comes to next, while the program is busy with those that it got: their
// sizes are what a listing with attributes takes longest for.

import RealmPages
import Synchronization

extension FileTree {
  /// Prepares the next call of `readDirectory` after one that gave attributes. Costs about what that one did, so call
  /// it when that is answered.
  public func prepareListing(_ stream: DirectoryStream) {
    guard let node = stream.node as? ClassNode else { return }
    let (key, count) = stream.state.withLock { ($0.lastListed, $0.budget > 0 ? $0.ahead : 0) }
    guard count > 0, case .nothing = stream.found else { return }
    // What cannot be read here is met by the listing, which tells what is wrong.
    let found = try? tree.read { view throws(FileTreeError) in
      let directory = try view.existing(node.ordinal)
      // A listing reads much at a time, so the looks of single reads are too few.
      defer { view.snapshot.limitResidentPages() }
      do throws(EngineError) { return try texts(behind: key, count, directory, view) } catch {
        throw .damaged(directory.shownName, error)
      }
    }
    tree.texts.insert(found ?? [])
  }

  /// The texts of up to `count` objects behind `key` that are not remembered.
  private func texts(
    behind key: ObjKey,
    _ count: Int,
    _ directory: TableDirectory,
    _ view: VersionView
  ) throws(EngineError) -> [TextCache.Item] {
    let generation = directory.stamp.generation
    var texts: [TextCache.Item] = []
    try view.contexts.lend { context throws(EngineError) in
      let cursor = ObjectCursor(directory.table)
      var exists = try cursor.seek(after: key), left = count, bytes = 0
      while exists, left > 0, bytes < TextCache.mostAtOnce {
        let inode = tree.number(directory, cursor.key)
        // The listing tells what is wrong with a damaged object.
        if tree.texts.size(of: inode, generation) == nil, let text = try? context.render(cursor) {
          texts.append(TextCache.Item(inode: inode, generation: generation, text: text))
          bytes += text.count
        }
        left -= 1
        exists = try cursor.next()
      }
    }
    return texts
  }
}
