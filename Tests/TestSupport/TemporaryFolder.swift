// Files and folders that exist for the time of a test. Whatever lies in the folder goes with it: opening a realm makes
// files beside it.

public import Foundation

/// A new empty folder, which is removed with all that it holds when nobody refers to it any more.
public final class TemporaryFolder: Sendable {
  /// Where it is.
  public let url: URL

  /// Makes the folder.
  public init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "realmfs-test-\(UUID())")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { remove() }

  /// Removes the folder. A local variable may be gone as soon as it is not used any more, so its scope ends with this.
  public func remove() { try? FileManager.default.removeItem(at: url) }  // left-overs do no harm

  /// The path of a file in it.
  public func path(_ name: String) -> String { url.appending(path: name).path }
}

/// Calls `body` with a new empty folder, and removes it with all that is in it then.
public func withTemporaryFolder<R>(_ body: (URL) throws -> R) throws -> R {
  let folder = try TemporaryFolder()
  defer { folder.remove() }
  return try body(folder.url)
}

/// Calls `body` with a path where there is no file, and removes what it makes there and beside it.
public func withTemporaryPath<R>(_ body: (String) throws -> R) throws -> R {
  try withTemporaryFolder { try body($0.appending(path: "a.realm").path) }
}

/// Writes `bytes` to a new file, calls `body` with its path, and removes it and what came beside it.
public func withTemporaryFile<R>(_ bytes: [UInt8], _ body: (String) throws -> R) throws -> R {
  try withTemporaryPath { path in
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    return try body(path)
  }
}
