// Files that stay in memory because no object can have their name: `cp notes.txt` into a class succeeds as it would
// anywhere. `.realm/unsaved` has their paths, and `realmfs umount` refuses while there are any.

import RealmJSON
import RealmPages

/// Names that editors and tools give to files of theirs. They decide about messages only.
enum ScratchNames {
  /// True if editors, file managers and tools give such names to files of their own.
  static func contains(_ name: [UInt8]) -> Bool {
    let name = String(decoding: name, as: UTF8.self)
    for beginning in ["._", ".#", "#", ".~", ".nfs", ".fuse_hidden", ".goutputstream-", ".Trash", "~$"]
    where name.hasPrefix(beginning) { return true }
    for end in ["~", ".tmp", ".swp", ".swo", ".swx", ".part", ".crdownload"] where name.hasSuffix(end) { return true }
    if name == "4913" || name == ".DS_Store" || name == "Thumbs.db" || name == "desktop.ini" { return true }
    return name.hasPrefix("sed") && name.utf8.count == 9
  }
}

extension TreeContext {
  /// The paths of what is gone when the mount ends: files, the refused texts among them, and transactions that are not
  /// committed.
  func unsavedFiles() -> [String] {
    transactions.all.filter(\.isChanged).map(\.shownName) + unsavedEntries().map(\.path)
  }

  /// The files in memory that are gone when the mount ends, the refused texts among them, by path.
  func unsavedEntries() -> [(path: String, file: MemoryFile)] {
    entries { isKept($0, at: $1) || $0.role == .refusedText }
  }

  /// The paths of the files that people put there, with content, and that are in memory only.
  func keptFilePaths() -> [String] {
    entries(isKept(_:at:)).map(\.path)
  }

  private func entries(_ isMeant: (MemoryFile, Overlay.Place) -> Bool) -> [(path: String, file: MemoryFile)] {
    let hidden = overlay.filesOfHiddenObjects
    return overlay.allFiles.filter { isMeant($0.file, $0.place) }
      // The objects of these are there again when the mount ends.
      .filter { !hidden.contains($0.file.inode) }
      .map { (shownPath(of: $0.place), $0.file) }
      .sorted { $0.0 < $1.0 }
  }

  /// Whether a file is one that people put there, with content, and that stays in memory.
  private func isKept(_ file: MemoryFile, at place: Overlay.Place) -> Bool {
    if file.role != .file || file.size == 0 || ScratchNames.contains(place.name) { return false }
    // A file that is about to become an object is another matter.
    return (try? target(of: Draft(file))) == nil  // a directory that is gone, or takes no files: it is no object there
  }
}
