// Files that stay in memory because no object can have their name, and so are gone when the mount ends: `cp notes.txt`
// into a mount succeeds as it would anywhere. People must learn of it while they still can save the file elsewhere: a
// while after it was closed, in the log and in `.realm/errors`; at any time in `.realm/unsaved`, which `realmfs umount`
// prints. Editors and tools that save by renaming make such files all the time and remove them at once: hence the
// while, and the names that never count.

import RealmJSON
import RealmPages
import Synchronization
import Threads

/// Files in memory that were closed and not reported yet.
final class KeptFiles: Sendable {
  /// How long after its closing a file is reported, if it is still there.
  static let delay = Duration.seconds(2)
  /// So many files are reported one by one, more of them in one line.
  static let mostLines = 10

  private let delay: Duration
  private let closed = Mutex<[InodeNumber: MonotonicTime]>([:])
  /// Whether there are any, so that looking costs nothing where there are none.
  private let isUsed = Atomic<Bool>(false)

  init(delay: Duration = KeptFiles.delay) { self.delay = delay }

  /// Notes that a file was closed.
  func note(_ inode: InodeNumber) {
    closed.withLock { $0[inode] = .now.advanced(by: delay) }
    isUsed.store(true, ordering: .releasing)
  }

  /// Takes the files, in the order in which they were made, once no more were closed for a while or the first one has
  /// waited for several whiles: those of one `cp -r` together.
  func takeDue() -> [InodeNumber] {
    if !isUsed.load(ordering: .acquiring) { return [] }
    return closed.withLock { closed in
      let now = MonotonicTime.now
      guard let first = closed.values.min(), let last = closed.values.max(),
        last <= now || first.advanced(by: delay * 4) <= now
      else { return [] }
      defer {
        closed = [:]
        isUsed.store(false, ordering: .releasing)
      }
      return closed.keys.sorted { $0.value < $1.value }
    }
  }

  /// Whether a name is one that editors, file managers and tools give to files of their own.
  static func isToolsName(_ name: [UInt8]) -> Bool {
    let name = String(decoding: name, as: UTF8.self)
    for beginning in ["._", ".#", "#", ".~", ".nfs", ".fuse_hidden", ".goutputstream-", ".Trash", "~$"]
    where name.hasPrefix(beginning) { return true }
    for end in ["~", ".tmp", ".swp", ".swo", ".swx", ".part", ".crdownload"] where name.hasSuffix(end) { return true }
    if name == "4913" || name == ".DS_Store" || name == "Thumbs.db" || name == "desktop.ini" { return true }
    return name.hasPrefix("sed") && name.utf8.count == 9
  }
}

extension TreeContext {
  /// Reports the files that were closed a while ago and are still in memory only, each once.
  func reportKeptFiles() {
    var paths: [String] = []
    for inode in keptFiles.takeDue() {
      guard let place = overlay.place(of: inode), let file = overlay.file(at: place), isKept(file, at: place),
        file.takeReport()
      else { continue }
      paths.append(shownPath(of: place))
    }
    guard let first = paths.first else { return }
    if paths.count <= KeptFiles.mostLines {
      for path in paths { report(path, "no object can have this name") }
    } else {
      report(first, "no object can have this name, nor those of \(paths.count - 1) more files")
    }
  }

  private func report(_ path: String, _ reason: String) {
    let text = "\(reason): it is in memory only, and gone when the mount ends"
    refusals.remark(path, "keep", text)
    options.log?("\(path): \(text)")
  }

  /// The paths of what is gone when the mount ends: files, the refused texts among them, and transactions that are not
  /// committed.
  func unsavedFiles() -> [String] {
    transactions.all.filter(\.isChanged).map(\.shownName) + paths { isKept($0, at: $1) || $0.role == .refusedText }
  }

  /// The paths of the files that people put there, with content, and that are in memory only.
  func keptFilePaths() -> [String] {
    paths(isKept(_:at:))
  }

  private func paths(_ isMeant: (MemoryFile, Overlay.Place) -> Bool) -> [String] {
    let hidden = overlay.filesOfHiddenObjects
    return overlay.allFiles.filter { isMeant($0.file, $0.place) }
      // The objects of these are there again when the mount ends.
      .filter { !hidden.contains($0.file.inode) }
      .map { shownPath(of: $0.place) }
      .sorted()
  }

  /// Whether a file is one that people put there, with content, and that stays in memory.
  private func isKept(_ file: MemoryFile, at place: Overlay.Place) -> Bool {
    if file.role != .file || file.size == 0 || KeptFiles.isToolsName(place.name) { return false }
    // A file that is about to become an object is another matter.
    return (try? target(nil, of: file)) == nil  // a directory that is gone, or takes no files: it is no object there
  }
}
