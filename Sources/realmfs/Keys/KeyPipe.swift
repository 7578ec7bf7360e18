// Passes a key to a child process through a pipe, which no other process can read.
import Glibc
import RealmPages

/// The read end of a pipe that contains a key, for a child process to inherit.
final class KeyPipe {
  /// The descriptor that the child reads from.
  let descriptor: Int32

  /// Creates a pipe that contains `key`.
  init(_ key: EncryptionKey) throws {
    var ends: [Int32] = [0, 0]
    guard unsafe pipe(&ends) == 0 else { throw CommandFailure(.failure, "pipe: \(System.message(errno))") }
    descriptor = ends[0]
    let code = key.write(to: ends[1])
    close(ends[1])
    if code != 0 { throw CommandFailure(.failure, "cannot pass on the key: \(System.message(code))") }
  }

  deinit { close(descriptor) }
}
