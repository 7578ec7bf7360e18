// Files and directories that exist for the duration of a test. The directory is removed with all its contents: opening
// a realm creates files next to it.

public import Foundation

/// A new empty directory, which is removed with its contents when the last reference to it is released.
public final class TemporaryFolder: Sendable {
  /// The location of the directory.
  public let url: URL

  /// Creates the directory.
  public init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "realmfs-test-\(UUID())")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { remove() }

  /// Removes the directory. A local variable may be released after its last use, so a call at the end of its scope
  /// keeps it alive.
  public func remove() { try? FileManager.default.removeItem(at: url) }  // left-overs do no harm

  /// The path of a file in it.
  public func path(_ name: String) -> String { url.appending(path: name).path }
}

/// Calls `body` with a new empty directory, and then removes the directory with its contents.
public func withTemporaryFolder<R>(_ body: (URL) throws -> R) throws -> R {
  let folder = try TemporaryFolder()
  defer { folder.remove() }
  return try body(folder.url)
}

/// Calls `body` with a path where no file exists, and then removes the files created at and next to it.
public func withTemporaryPath<R>(_ body: (String) throws -> R) throws -> R {
  try withTemporaryFolder { try body($0.appending(path: "a.realm").path) }
}

/// Writes `bytes` to a new file, calls `body` with its path, and then removes it and the files created next to it.
public func withTemporaryFile<R>(_ bytes: [UInt8], _ body: (String) throws -> R) throws -> R {
  try withTemporaryPath { path in
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    return try body(path)
  }
}
