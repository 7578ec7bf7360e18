// Files and folders that exist for the time of one call.

public import Foundation

/// Writes `bytes` to a new file, calls `body` with its path, and removes it.
public func withTemporaryFile<R>(_ bytes: [UInt8], _ body: (String) throws -> R) throws -> R {
  let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString + ".realm")
  try Data(bytes).write(to: file)
  defer { try? FileManager.default.removeItem(at: file) }  // a leftover in the temporary folder harms nobody
  return try body(file.path)
}

/// Calls `body` with a new empty folder, and removes it.
public func withTemporaryFolder<R>(_ body: (URL) throws -> R) throws -> R {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }  // left-overs in the temporary folder harm nobody
  return try body(folder)
}
