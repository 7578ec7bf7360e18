// Properties that cannot be null and whose files were removed. They have their defaults; their files are not there
// until they are made again, because a program that replaces a file removes it first and then makes a new one.

import RealmPages
import Synchronization

/// Properties whose files were removed and that have their defaults.
final class RemovedFields: Sendable {
  private let texts = Mutex<[FieldPlace: [UInt8]]>([:])
  /// True if there are any, so that reading properties costs nothing where there are none.
  private let isUsed = Atomic<Bool>(false)
  private let limit: Int

  /// Remembers up to `limit` properties. With one more, the files of all others are there again.
  init(limit: Int = 10_000) { self.limit = limit }

  /// Notes a property whose file was removed and would have the text `text`.
  func note(_ place: FieldPlace, showing text: [UInt8]) {
    isUsed.store(true, ordering: .releasing)
    texts.withLock { texts in
      if texts.count >= limit { texts.removeAll() }
      texts[place] = text
    }
  }

  /// True if the file of a property was removed, and the property has had no other value since.
  func isRemoved(_ place: FieldPlace, _ form: TextForm, _ view: VersionView) throws(FileTreeError) -> Bool {
    if !isUsed.load(ordering: .acquiring) { return false }
    guard let text = texts.withLock({ $0[place] }) else { return false }
    if try place.text(form, view) == text { return true }
    forget(place)
    return false
  }

  /// Notes that the file of a property is there again.
  func forget(_ place: FieldPlace) {
    if isUsed.load(ordering: .acquiring) { texts.withLock { $0[place] = nil } }
  }
}
