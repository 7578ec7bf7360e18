// The texts that objects had before this mount changed or deleted them. `.realm/trash/CLASS/NAME.json` is the newest;
// earlier ones have the time when they were added appended to their names. `.realm/trash/schema.json` is the schema
// before a file of this mount changed it. With `--trash DIR`, each text is also written to a directory before the
// change is committed.
//
// A save only records the text. It becomes a file when a program next accesses a directory of the trash, which is rare
// in a mount that saves often.
//
// Invariant: there are at most `maxTexts` recorded texts with `room` bytes in total, and as many that are files. The
// oldest are dropped first.

import RealmJSON
import RealmNames
import RealmPages
import Synchronization

/// A previous text of an object or of the schema.
struct FormerText: Sendable {
  /// The class of the object; nil for the schema.
  let ordinal: TableOrdinal?
  let name: [UInt8]
  let text: [UInt8]
}

/// The previous texts of objects and of the schema, as files of an overlay.
package final class Trash: Sendable {
  /// The maximum total size of the texts in bytes.
  static let room = 8 << 20
  static let maxTexts = 10_000

  /// A text that is not a file yet.
  private struct Note {
    let text: FormerText
    let time: Timestamp
  }

  /// Texts in the order of their arrival. Holds at most `room` bytes and `maxTexts` texts; the oldest are dropped.
  private struct Kept<Element> {
    private var elements: [(element: Element, cost: Int)] = []
    /// The index of the first element that was not dropped.
    private var first = 0
    private var cost = 0

    /// Adds an element, and returns those that were dropped.
    mutating func add(_ element: Element, cost: Int) -> [Element] {
      var gone: [Element] = []
      elements.append((element, cost))
      self.cost += cost
      while self.cost > Trash.room || elements.count - first > Trash.maxTexts {
        gone.append(elements[first].element)
        self.cost -= elements[first].cost
        first += 1
      }
      if first * 2 > elements.count {
        elements.removeFirst(first)
        first = 0
      }
      return gone
    }

    var isEmpty: Bool { elements.isEmpty }

    /// Removes and returns all elements.
    mutating func takeAll() -> [Element] {
      defer { self = Kept() }
      return elements[first...].map(\.element)
    }
  }

  private let notes = Mutex(Kept<Note>())
  /// True if there are notes, or notes are being turned into files.
  private let hasNotes = Atomic<Bool>(false)
  private let files = Mutex(Kept<InodeNumber>())
  /// Held while notes become files, to keep their order.
  private let unpacking = Mutex<Void>(())

  /// Records a text as the newest of its place.
  fileprivate func note(_ text: FormerText) {
    if text.text.count > Self.room { return }
    notes.withLock { notes in
      _ = notes.add(Note(text: text, time: .now), cost: text.text.count)
      hasNotes.store(true, ordering: .releasing)
    }
  }

  /// True if there are texts that are not files yet.
  var isWaiting: Bool { hasNotes.load(ordering: .acquiring) }

  /// Creates the files of all recorded texts.
  func unpack(_ tree: TreeContext) throws(FileTreeError) {
    if !isWaiting { return }
    let rules = try tree.readable { view in view.rules }
    unpacking.withLock { _ in
      for note in notes.withLock({ $0.takeAll() }) {
        let directory = KeptTexts.trash.directory(of: note.text.ordinal, tree)
        let metadata = MemoryFile.Metadata(
          permissions: rules.filePermissions & 0o444,
          owner: rules.owner,
          group: rules.group,
          modified: note.time
        )
        makeFile(
          note.text.text,
          at: Overlay.Place(directory: directory, name: note.text.name),
          metadata,
          tree.namespace.overlay
        )
      }
      // Cleared last, so that no other thread lists the files before all exist.
      notes.withLock { if $0.isEmpty { hasNotes.store(false, ordering: .releasing) } }
    }
  }

  private func makeFile(
    _ text: [UInt8],
    at place: Overlay.Place,
    _ metadata: MemoryFile.Metadata,
    _ overlay: Overlay
  ) {
    if let former = overlay.file(at: place) {
      let time = former.metadata.modified
      let name = Self.earlierName(place.name, seconds: time.seconds, nanoseconds: Int(time.nanoseconds))
      overlay.move(former.inode, to: Overlay.Place(directory: place.directory, name: name))
    }
    // If memory is short, the text is lost.
    guard let file = overlay.makeFile(at: place, text, metadata, role: .formerText, isKnown: false) else { return }
    for oldest in files.withLock({ $0.add(file.inode, cost: text.count) }) {
      _ = overlay.place(of: oldest).flatMap { overlay.unlink($0) }
    }
  }
}

extension Trash {
  /// Returns the new name of a text kept under `name` when a newer one is added. The time is when the text was added.
  package static func earlierName(_ name: [UInt8], seconds: Int64, nanoseconds: Int) -> [UInt8] {
    let stamp = Array(Clock.nameStamp(seconds: seconds, nanoseconds: nanoseconds).utf8)
    let full = name + [UInt8(ascii: ".")] + stamp
    return full.count <= NameEscaping.longestName ? full : stamp + Array(NameEscaping.suffix.utf8)
  }
}

extension Saves {
  /// Commits a change like `Saver.save`, and keeps the previous texts of the objects that it changes or deletes, and of
  /// the schema if it changes.
  @discardableResult
  func saveKeepingTexts(
    _ saver: Saver,
    mayWait: Bool = true,
    _ change: Saver.Change
  ) throws(FileTreeError) -> Bool {
    // In a transaction, no text is lost before the commit.
    if tree.subtrees.staged != nil { return try saver.save(mayWait: mayWait, change) }
    let checksPath = request?.takePathCheck() ?? true
    var former: [FormerText] = [], namesStay = false
    let hasChanged = try saver.save(mayWait: mayWait, checksPath: checksPath) { transaction throws(FileTreeError) in
      let effect = try change(transaction)
      namesStay = effect.namesStay || !effect.isChange
      if effect.isChange {
        let view = try views.view(of: transaction)
        former = texts(of: effect.replaced, view)
        if effect.replacesSchema, let schema = schemaText(view) { former.append(schema) }
      }
      for text in former { saveToTrashFolder(text) }
      return effect
    }
    for text in former { tree.drafts.trash.note(text) }
    views.observer.notify(namesStay: namesStay)
    return hasChanged
  }

  /// Returns the text of an object, cached or rendered; nil if it was deleted or is damaged.
  func knownText(of object: ObjectReference, _ view: VersionView) -> [UInt8]? {
    guard let directory = view.directory(of: object.table) else { return nil }
    return tree.views.texts.find(tree.views.number(directory, object.key), directory.stamp.generation)?.text
      ?? (try? view.text(of: object.key, directory))  // a text that cannot be read cannot be restored
  }

  /// Returns the names and texts of objects, without those that are missing or cannot be read.
  private func texts(of objects: [ObjectReference], _ view: VersionView) -> [FormerText] {
    view.contexts.lend { context in
      var last: (directory: TableDirectory, cursor: ObjectCursor)?
      return objects.suffix(Trash.maxTexts).compactMap { object in
        if last?.directory.table.key != object.table {
          last = view.directory(of: object.table).map { ($0, ObjectCursor($0.table)) }
        }
        guard let (directory, cursor) = last else { return nil }
        do {
          guard try cursor.seek(object.key) else { return nil }
          try directory.name(of: cursor, into: context.name)
          let known = views.texts.find(tree.views.number(directory, object.key), directory.stamp.generation)?.text
          let text = try known ?? context.render(cursor)
          return FormerText(ordinal: directory.ordinal, name: context.name.bytes, text: text)
        } catch {
          return nil  // a damaged object has no text that could be kept
        }
      }
    }
  }

  /// Returns the complete schema of a version; nil if it is damaged.
  private func schemaText(_ view: VersionView) -> FormerText? {
    let out = OutputBuffer()
    do { try SchemaRenderer.render(view.snapshot, into: out) } catch { return nil }
    return FormerText(ordinal: nil, name: Array("schema.json".utf8), text: out.bytes)
  }

  /// Writes a text to the directory of `--trash`. A failure is reported, but the change is made.
  private func saveToTrashFolder(_ text: FormerText) {
    guard let keep = options.keepFormerText else { return }
    let name = String(decoding: text.name, as: UTF8.self)
    let className = text.ordinal.map { tree.namespace.shownName(of: $0) }
    guard let problem = keep(className, name, text.text) else { return }
    let path = className.map { "\($0)/\(name)" } ?? ".realm/\(name)"
    tree.drafts.refusals.remark(path, "trash", "its former text was not kept: \(problem)")
    options.log?("\(path): its former text was not kept: \(problem)")
  }
}
