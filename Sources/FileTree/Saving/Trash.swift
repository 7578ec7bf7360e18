// The texts that objects had before this mount changed or deleted them: `.realm/trash/CLASS/NAME.json` is the newest
// one, earlier ones have the time at which they were put there behind their name. With `--trash DIR` the command writes
// each text to a folder, too, before the change is committed.
//
// Invariant: the texts in memory are `mostTexts` and `room` bytes at most. The oldest goes first.

import RealmJSON
import RealmNames
import RealmPages
import Synchronization

/// A text that an object had.
struct FormerText: Sendable {
  let ordinal: TableOrdinal
  let name: [UInt8]
  let text: [UInt8]
}

/// The former texts of objects, over the files of an overlay.
package final class Trash: Sendable {
  /// The bytes that all texts take together.
  static let room = 8 << 20
  static let mostTexts = 10_000

  private struct Entry {
    let inode: InodeNumber
    let cost: Int
  }

  private struct State {
    var entries: [Entry] = []
    /// The first of the entries that is not forgotten.
    var first = 0
    var cost = 0
  }

  private let state = Mutex(State())

  /// Adds a text as the newest one of its place.
  fileprivate func add(_ text: [UInt8], at place: Overlay.Place, _ metadata: MemoryFile.Metadata, to overlay: Overlay) {
    if text.count > Self.room { return }
    if let former = overlay.file(at: place) {
      let time = former.metadata.modified
      let name = Self.earlierName(place.name, seconds: time.seconds, nanoseconds: Int(time.nanoseconds))
      overlay.move(former.inode, to: Overlay.Place(directory: place.directory, name: name))
    }
    // Where memory is short, there is no text.
    guard let file = overlay.makeFile(at: place, text, metadata, role: .formerText, isKnown: false) else { return }
    state.withLock { state in
      state.entries.append(Entry(inode: file.inode, cost: text.count))
      state.cost += text.count
      while state.cost > Self.room || state.entries.count - state.first > Self.mostTexts {
        let oldest = state.entries[state.first]
        state.first += 1
        state.cost -= oldest.cost
        _ = overlay.place(of: oldest.inode).flatMap { overlay.unlink($0) }
      }
      if state.first * 2 > state.entries.count {
        state.entries.removeFirst(state.first)
        state.first = 0
      }
    }
  }
}

extension Trash {
  /// What the text that was kept under `name` at a time is called once there is a newer one.
  package static func earlierName(_ name: [UInt8], seconds: Int64, nanoseconds: Int) -> [UInt8] {
    let stamp = Array(Clock.nameStamp(seconds: seconds, nanoseconds: nanoseconds).utf8)
    let full = name + [UInt8(ascii: ".")] + stamp
    return full.count <= NameEscaping.longestName ? full : stamp + Array(NameEscaping.suffix.utf8)
  }
}

extension TreeContext {
  /// Makes a change as `Saver.save` does, and keeps the texts of the objects that it changes or deletes.
  func saveObjects(_ saver: Saver, _ change: Saver.Change) throws(FileTreeError) {
    // In a transaction nothing is gone yet.
    if staged != nil { return try saver.save(change) }
    var former: [FormerText] = []
    try saver.save { transaction throws(FileTreeError) in
      let effect = try change(transaction)
      if effect.isChange { former = self.texts(of: effect.replaced, try self.views.view(of: transaction)) }
      for text in former { self.keepOutside(text) }
      return effect
    }
    if former.isEmpty { return }
    let rules = try readable { view in view.rules }
    let metadata = MemoryFile.Metadata(
      permissions: rules.filePermissions & 0o444,
      owner: rules.owner,
      group: rules.group,
      modified: Timestamp.now
    )
    for text in former {
      let place = Overlay.Place(directory: KeptTexts.trash.directory(of: text.ordinal, self), name: text.name)
      trash.add(text.text, at: place, metadata, to: overlay)
    }
  }

  /// The names and texts of objects. What cannot be read, or is not there, is left out.
  private func texts(of objects: [ObjectReference], _ view: VersionView) -> [FormerText] {
    view.contexts.lend { context in
      var last: (directory: TableDirectory, cursor: ObjectCursor)?
      return objects.suffix(Trash.mostTexts).compactMap { object in
        if last?.directory.table.key != object.table {
          last = view.directory(of: object.table).map { ($0, ObjectCursor($0.table)) }
        }
        guard let (directory, cursor) = last else { return nil }
        do {
          guard try cursor.seek(object.key) else { return nil }
          try directory.name(of: cursor, into: context.name)
          let known = self.texts.find(number(directory, object.key), directory.stamp.generation)?.text
          let text = try known ?? context.render(cursor)
          return FormerText(ordinal: directory.ordinal, name: context.name.bytes, text: text)
        } catch {
          return nil  // a damaged object has no text that could be kept
        }
      }
    }
  }

  /// Writes a text to the folder of `--trash`. A problem is reported, and the change goes on.
  private func keepOutside(_ text: FormerText) {
    guard let keep = options.keepFormerText else { return }
    let name = String(decoding: text.name, as: UTF8.self)
    guard let problem = keep(shownName(of: text.ordinal), name, text.text) else { return }
    let path = shownName(of: text.ordinal) + "/" + name
    refusals.remark(path, "trash", "its former text was not kept: \(problem)")
    options.log?("\(path): its former text was not kept: \(problem)")
  }
}
