// Files that remain in memory because no object can have their name: `cp notes.txt` into a class succeeds as in any
// other directory. `.realm/unsaved` lists their paths, and `realmfs umount` fails while any exist.

import RealmJSON
import RealmPages

/// Names of the files that editors and tools leave behind. Used for messages only.
enum ScratchNames {
  /// True if editors, file managers or tools use such names for their own files.
  static func contains(_ name: [UInt8]) -> Bool {
    let name = String(decoding: name, as: UTF8.self)
    for beginning in ["._", ".#", "#", ".~", ".nfs", ".fuse_hidden", ".goutputstream-", ".Trash", "~$"]
    where name.hasPrefix(beginning) { return true }
    for end in ["~", ".tmp", ".swp", ".swo", ".swx", ".part", ".crdownload"] where name.hasSuffix(end) { return true }
    if name == "4913" || name == ".DS_Store" || name == "Thumbs.db" || name == "desktop.ini" { return true }
    return name.hasPrefix("sed") && name.utf8.count == 9
  }
}

extension Namespace {
  /// Returns the paths of everything that is lost when the mount ends: files, including refused texts, and uncommitted
  /// transactions.
  func unsavedFiles() -> [String] {
    tree.subtrees.transactions.all.filter(\.isChanged).map(\.shownName) + unsavedEntries().map(\.path)
  }

  /// Returns the files in memory that are lost when the mount ends, including refused texts, sorted by path.
  func unsavedEntries() -> [(path: String, file: MemoryFile)] {
    entries { isKept($0, at: $1) || $0.role == .refusedText }
  }

  /// Returns the paths of the files with content that users created and that are in memory only.
  func keptFilePaths() -> [String] {
    entries(isKept(_:at:)).map(\.path)
  }

  private func entries(_ isMeant: (MemoryFile, Overlay.Place) -> Bool) -> [(path: String, file: MemoryFile)] {
    let hidden = overlay.filesOfHiddenObjects
    return overlay.allFiles.filter { isMeant($0.file, $0.place) }
      // The objects of these files have their own names again after the mount ends.
      .filter { !hidden.contains($0.file.inode) }
      .map { (shownPath(of: $0.place), $0.file) }
      .sorted { $0.0 < $1.0 }
  }

  /// True if a user created the file, it has content, and it remains in memory.
  private func isKept(_ file: MemoryFile, at place: Overlay.Place) -> Bool {
    if file.role != .file || file.size == 0 || ScratchNames.contains(place.name) { return false }
    // A file that will become an object does not count.
    return (try? tree.drafts.target(of: Draft(file))) == nil  // no target if the directory is gone or accepts no files
  }
}
