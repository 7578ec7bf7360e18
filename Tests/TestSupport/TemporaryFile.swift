// Files that exist for the time of one call.

import Foundation

/// Writes `bytes` to a new file, calls `body` with its path, and removes it.
public func withTemporaryFile<R>(_ bytes: [UInt8], _ body: (String) throws -> R) throws -> R {
  let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString + ".realm")
  try Data(bytes).write(to: file)
  defer { try? FileManager.default.removeItem(at: file) }  // a leftover in the temporary folder harms nobody
  return try body(file.path)
}
