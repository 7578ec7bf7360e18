// Classes that `mkdir` made. `cp -r folder` into a mount begins with mkdir, too, and copying a folder does not mean a
// change of the schema. So the first thing that goes into a class tells: if it is nothing that a class can hold, it is
// refused, and the class goes as it came. mkdir itself cannot know, and must do what it says: a class is there for all
// programs when mkdir returns, so it is no file in memory.

import RealmNames
import RealmPages
import Synchronization

/// The directories that `mkdir` made in this mount and that nothing went into yet, with their names.
final class NewClasses: Sendable {
  private let names = Mutex<[InodeNumber: [UInt8]]>([:])

  /// Notes a class.
  func add(_ inode: InodeNumber, _ name: [UInt8]) { names.withLock { $0[inode] = name } }

  /// Whether a name is one under which programs write what they then rename to an object's name.
  static func mayBecomeObject(_ name: [UInt8]) -> Bool {
    if KeptFiles.isToolsName(name) { return true }
    let name = String(decoding: name, as: UTF8.self)
    return name.hasPrefix(".") || name.hasPrefix("sed") || name.hasPrefix("tmp") || name.contains(NameEscaping.suffix)
  }

  /// The name of a class, which is not a new one any more; nil if it is none.
  func take(_ inode: InodeNumber) -> [UInt8]? { names.withLock { $0.removeValue(forKey: inode) } }
}

extension TreeContext {
  /// Refuses what no class holds as the first thing in a class that `mkdir` just made, and removes the class.
  func checkBelongs(_ place: Overlay.Place) throws(FileTreeError) {
    if NewClasses.mayBecomeObject(place.name) { return }
    guard let name = newClasses.take(place.directory) else { return }
    let isBare = try read { view in
      view.rootDirectory(name).map { directory in
        directory.inode == place.directory && directory.table.columns.isEmpty && directory.table.objectCount == 0
      } ?? false
    }
    if !isBare || !overlay.isEmpty(place.directory) { return }
    try RootNode().removeDirectory(name, by: Caller(user: 0, group: 0), self)
    let file = String(decoding: place.name, as: UTF8.self), directory = String(decoding: name, as: UTF8.self)
    let reason =
      "a directory here is a class and holds objects, so the class \(directory) is removed again; "
      + "make one with mkdir and save its properties or an object in it first"
    refusals.note("\(directory)/\(file)", "create", Reason(reason))
    options.log?("\(directory)/\(file): \(reason)")
    throw .refused(.forbidden, reason)
  }
}
