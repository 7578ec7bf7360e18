// Small text files, such as those of /proc.

import Glibc

/// Reads whole text files.
package enum KernelText {
  /// The content of a small text file; nil if it cannot be read.
  package static func of(_ path: String) -> String? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var content: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16384)
    while true {
      let count = unsafe read(descriptor, &chunk, chunk.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 { return nil }
      if count == 0 { return String(decoding: content, as: UTF8.self) }
      content += chunk[..<count]
    }
  }
}
