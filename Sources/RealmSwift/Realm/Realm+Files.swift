// Operations on realm files: copy, existence check, deletion.

public import Foundation
import Glibc
import RealmPages

extension Realm {
  /// Writes a compacted copy of the realm's newest version to a new file, encrypted with `encryptionKey` unless that is
  /// nil. The copy gets the owner and permissions of the realm, and is writable by its owner. Throws if the file
  /// exists, and in a write transaction.
  public func writeCopy(toFile fileURL: URL, encryptionKey: Data? = nil) throws {
    context.checkThread()
    if context.isInTransaction { throw Error(.fail, "A copy cannot be written in a write transaction") }
    var key: EncryptionKey?
    if let encryptionKey {
      guard let made = EncryptionKey([UInt8](encryptionKey)) else {
        throw Error(.invalidInput, "an encryption key has 64 bytes, not \(encryptionKey.count)")
      }
      key = made
    }
    _ = try Realm.Error.translating {
      try RealmCopy.write(context.file.reader.configuration, to: fileURL.path, key: key, isForWriting: true)
    }
  }

  /// Writes a compacted copy of the realm's newest version to the file of a configuration, with its encryption key.
  public func writeCopy(configuration: Configuration) throws {
    guard let fileURL = configuration.fileURL else { throw Error(.invalidInput, "a copy needs a fileURL") }
    try writeCopy(toFile: fileURL, encryptionKey: configuration.encryptionKey)
  }

  /// Returns true if the realm file of a configuration exists.
  public static func fileExists(for configuration: Configuration) -> Bool {
    guard let path = try? configuration.engine().path else { return false }  // no path, no file
    return unsafe access(path, F_OK) == 0
  }

  /// Deletes the realm file of a configuration and its auxiliary files. Returns false if the file did not exist. Throws
  /// `alreadyOpen` if this process has the realm open.
  @discardableResult
  public static func deleteFiles(for configuration: Configuration) throws -> Bool {
    let path = try configuration.engine().path
    if RealmFile.isOpen(path) { throw Error(.alreadyOpen, "\(path) is open in this process and cannot be deleted") }
    let existed = unsafe access(path, F_OK) == 0
    for suffix in ["", ".lock", ".note", ".management"] where unsafe access(path + suffix, F_OK) == 0 {
      do { try FileManager.default.removeItem(atPath: path + suffix) } catch {
        throw Error(.fileAccess, "\(path + suffix): \(error.localizedDescription)")
      }
    }
    return existed
  }
}
