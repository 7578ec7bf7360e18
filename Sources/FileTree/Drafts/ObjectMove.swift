// Files whose names differ from those of their objects. In a class without a primary key, a program can give a new file
// any name; the object gets the next free key. Many programs write such a file only to rename it onto another one, as
// in `jq . 0.json >tmp.json && mv tmp.json 0.json`. The text is then saved as that object, and the new object is
// removed, in one commit.

import RealmJSON
import RealmNames
import RealmPages
import Synchronization

/// An object whose file is renamed onto that of another object.
struct ObjectMove: Sendable {
  let home: ClassNode
  let key: ObjKey
}

/// The latest texts saved under names other than those of their objects, up to `room` bytes. The file of an object also
/// contains properties that the text omitted, which the program that renames the file did not write.
final class AliasTexts: Sendable {
  private struct Entry {
    let written: [UInt8]
    /// The text of the object after the save.
    let shown: [UInt8]
  }

  private struct State {
    var entries: [ObjectPlace: Entry] = [:]
    var cost = 0
  }

  private struct ObjectPlace: Hashable {
    let ordinal: TableOrdinal
    let key: ObjKey
  }

  /// The maximum total size of the texts in bytes.
  private static let room = 1 << 20

  private let state = Mutex(State())

  /// Records the text that an object was saved with, and the text `shown` that it had after the save.
  func note(_ written: [UInt8], shown: [UInt8], _ ordinal: TableOrdinal, _ key: ObjKey) {
    forget(ordinal, key)
    let cost = written.count + shown.count
    if cost > Self.room { return }
    state.withLock { state in
      if state.cost + cost > Self.room { state = State() }
      state.entries[ObjectPlace(ordinal: ordinal, key: key)] = Entry(written: written, shown: shown)
      state.cost += cost
    }
  }

  /// Returns the text that the object was saved with, if the object's text has not changed since.
  func written(_ ordinal: TableOrdinal, _ key: ObjKey, ifShowing shown: [UInt8]) -> [UInt8]? {
    state.withLock { state in
      guard let entry = state.entries[ObjectPlace(ordinal: ordinal, key: key)], entry.shown == shown else { return nil }
      return entry.written
    }
  }

  /// Forgets the text of an object.
  func forget(_ ordinal: TableOrdinal, _ key: ObjKey) {
    state.withLock { state in
      guard let entry = state.entries.removeValue(forKey: ObjectPlace(ordinal: ordinal, key: key)) else { return }
      state.cost -= entry.written.count + entry.shown.count
    }
  }
}

extension Saves {
  /// Records the text that an object was saved with, if its file has a name other than the object's.
  func noteAliasText(_ text: DraftText, of key: ObjKey, in ordinal: TableOrdinal) {
    guard tree.namespace.overlay.hasAlias(of: key, in: views.registry.inode(ordinal)) else { return }
    do {
      let shown = try read { view throws(FileTreeError) in try view.text(of: key, try view.existing(ordinal)) }
      tree.namespace.aliasTexts.note(try text.bytes, shown: shown, ordinal, key)
    } catch {
      // Without a record, a rename uses the complete text of the object.
      tree.namespace.aliasTexts.forget(ordinal, key)
    }
  }

  /// Restores the links to a removed object that was recreated as `object`. Returns all objects that link to it.
  func restoreLinks(
    _ removal: Removal,
    to object: ObjectReference,
    _ transaction: borrowing WriteTransaction
  ) throws(FileTreeError) -> [ObjectReference] {
    guard let links = removal.content?.links, !links.isEmpty else { return [] }
    do {
      for link in links { _ = try transaction.restore(link, to: object) }
      return try transaction.origins(of: object.table, object.key)
    } catch {
      throw FileTreeError(error)
    }
  }

  /// Removes an object whose file was renamed onto that of `object`. Returns the effect of the removal.
  func remove(
    _ moved: ObjectMove,
    for object: ObjectReference,
    _ transaction: borrowing WriteTransaction
  ) throws(FileTreeError) -> Effect {
    let table = try read { view throws(FileTreeError) in try view.existing(moved.home.ordinal).table.key }
    let former = ObjectReference(table: table, key: moved.key)
    // Both names refer to the same object.
    if former == object { return .none }
    let isLinked: Bool
    do {
      isLinked = try !transaction.origins(of: table, moved.key).isEmpty
      if !isLinked { try transaction.delete(table, moved.key) }
    } catch {
      if error.reason == .notFound { throw .stale }
      throw FileTreeError(error)
    }
    if isLinked {
      throw .refused(
        .forbidden,
        "other objects link to the object of this file, \(moved.key.value).json, so it cannot replace "
          + "another object; copy the text and remove the file"
      )
    }
    return Effect(touched: [former])
  }
}
