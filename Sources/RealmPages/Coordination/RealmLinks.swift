// The names by which a realm can be opened if some of them are symbolic links. Realm's engine creates the lock file
// next to the name that it receives and resolves no links, so each name is a separate session. This package uses the
// lock file that is in use or, if none is, the one next to the name it was called with, as the engine would.

import Glibc

/// The chain of symbolic links that leads to a realm file.
package enum RealmLinks {
  /// The kernel's limit.
  private static let longestChain = 40

  /// `path` and, if it is a symbolic link, each further name in the chain, down to the file itself.
  package static func names(of path: String) -> [String] {
    var names = [path]
    while names.count <= longestChain, let target = target(of: names[names.count - 1]) { names.append(target) }
    return names
  }

  /// The target of a symbolic link; nil if `path` is not one.
  private static func target(of path: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe buffer.withUnsafeMutableBufferPointer { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) {
        unsafe $0.baseAddress.map { unsafe readlink(path, $0, Int(PATH_MAX)) } ?? 0
      }
    }
    if count <= 0 { return nil }
    let target = String(decoding: buffer.prefix(count), as: UTF8.self)
    if target.hasPrefix("/") { return target }
    let folder = FileHandle.folder(of: path)
    return folder == "/" ? "/" + target : folder + "/" + target
  }

  /// The real path, with every symbolic link resolved; nil if it does not exist or cannot be reached.
  package static func real(_ path: String) -> String? {
    guard let name = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(name) }
    return unsafe String(cString: name)
  }

  /// The path of the file to replace, links resolved; `path` if the file does not exist yet.
  static func file(_ path: String) -> String {
    let names = names(of: path)
    return names.count == 1 ? path : real(path) ?? path
  }

  /// The name whose lock file coordinates the realm at `path`. Throws if programs use two lock files.
  static func lockedName(of path: String) throws(EngineError) -> String {
    let names = names(of: path)
    if names.count == 1 { return path }
    let inUse = distinct(names).filter { !LockHolders.ofLock($0 + ".lock").isEmpty }
    if inUse.count > 1 { throw inTwoSessions(path, inUse[0], inUse[1]) }
    return inUse.first ?? path
  }

  /// Throws if programs have the realm at `path` open under a name whose lock file is not that of `name`.
  static func checkNoOther(of path: String, than name: String) throws(EngineError) {
    if let other = otherName(path, than: name) { throw inTwoSessions(path, name, other) }
  }

  /// True if `checkNoOther` throws.
  static func isOpenByOtherName(_ path: String, than name: String) -> Bool { otherName(path, than: name) != nil }

  private static func otherName(_ path: String, than name: String) -> String? {
    let names = names(of: path)
    if names.count == 1 { return nil }
    let own = identity(name + ".lock")
    return names.first { other in
      guard let lock = identity(other + ".lock"), lock != own else { return false }
      return !LockHolders.ofLock(other + ".lock").isEmpty
    }
  }

  /// Those of `names` that have a lock file, one name per lock file.
  private static func distinct(_ names: [String]) -> [String] {
    var known: [LockFile.Identity] = []
    return names.filter { name in
      guard let lock = identity(name + ".lock"), !known.contains(lock) else { return false }
      known.append(lock)
      return true
    }
  }

  private static func identity(_ path: String) -> LockFile.Identity? {
    var status = stat()
    return unsafe lstat(path, &status) == 0 ? LockFile.Identity(status) : nil
  }

  private static func inTwoSessions(_ path: String, _ first: String, _ second: String) -> EngineError {
    EngineError(
      .inUse,
      "\(path): open under two names, \(first) and \(second), with separate lock files: close the programs that use one"
    )
  }
}
