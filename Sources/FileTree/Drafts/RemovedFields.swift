// Properties that cannot be null and whose files were removed. They have their default values. Their files stay hidden
// until they are created again, because a program that replaces a file removes it first.

import RealmPages
import Synchronization

/// Properties whose files were removed and that have their default values.
final class RemovedFields: Sendable {
  private let texts = Mutex<[FieldPlace: [UInt8]]>([:])
  /// False if no file was ever removed, so that reading properties costs nothing.
  private let isUsed = Atomic<Bool>(false)
  private let limit: Int

  /// Remembers up to `limit` properties. Adding one more drops all others, whose files then appear again.
  init(limit: Int = 10_000) { self.limit = limit }

  /// Records a property whose file was removed. `text` is the text that the file would have.
  func note(_ place: FieldPlace, showing text: [UInt8]) {
    isUsed.store(true, ordering: .releasing)
    texts.withLock { texts in
      if texts.count >= limit { texts.removeAll() }
      texts[place] = text
    }
  }

  /// True if the file of a property was removed, and the value of the property has not changed since.
  func isRemoved(_ place: FieldPlace, _ form: TextForm, _ view: VersionView) throws(FileTreeError) -> Bool {
    if !isUsed.load(ordering: .acquiring) { return false }
    guard let text = texts.withLock({ $0[place] }) else { return false }
    if try place.text(form, view) == text { return true }
    forget(place)
    return false
  }

  /// Records that the file of a property exists again.
  func forget(_ place: FieldPlace) {
    if isUsed.load(ordering: .acquiring) { texts.withLock { $0[place] = nil } }
  }
}
