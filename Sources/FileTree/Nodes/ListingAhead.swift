// Renders the texts of the objects that a listing reaches next, while the program processes the entries it received:
// rendering texts for their sizes is the slowest part of a listing with attributes.

import RealmPages
import Synchronization

extension FileTree {
  /// Prepares the next call of `readDirectory` after one that returned attributes. Costs about as much as that call, so
  /// run it after replying to that call.
  public func prepareListing(_ stream: DirectoryStream) {
    guard let node = stream.node as? ClassNode else { return }
    let (key, count) = stream.state.withLock { ($0.lastListed, $0.budget > 0 ? $0.ahead : 0) }
    guard count > 0, case .nothing = stream.found else { return }
    // Ignore errors here: the listing encounters and reports them.
    let found = try? tree.read { view throws(FileTreeError) in
      let directory = try view.existing(node.ordinal)
      // A listing reads many pages at once, so the checks of single reads are not enough.
      defer { view.snapshot.limitResidentPages() }
      do throws(EngineError) { return try texts(behind: key, count, directory, view) } catch {
        throw .damaged(directory.shownName, error)
      }
    }
    tree.views.texts.insert(found ?? [])
  }

  /// Renders the texts that are not cached among the `count` objects after `key`.
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
      while exists, left > 0, bytes < TextCache.maxAtOnce {
        let inode = tree.views.number(directory, cursor.key)
        // The listing reports damaged objects.
        if tree.views.texts.size(of: inode, generation) == nil, let text = try? context.render(cursor) {
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
