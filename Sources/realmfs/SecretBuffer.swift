// Memory for key material: of fixed size, so that nothing is copied when it grows, and wiped when it goes.
import CLinux
import Glibc

/// Bytes that were read from a key source.
///
/// Wiped at the end of their life.
@safe struct SecretBuffer: ~Copyable {
  // Safe: owns the memory; `count` never exceeds its size.
  private let memory: UnsafeMutableRawBufferPointer
  private(set) var count = 0
  /// Whether there was more than fits.
  private(set) var overflowed = false

  /// Far more than any form of a key needs.
  static let capacity = 4096

  init() {
    // Without memory everything is too long.
    let start = clinux_secret_alloc(Self.capacity)
    memory = UnsafeMutableRawBufferPointer(start: start, count: start == nil ? 0 : Self.capacity)
  }

  deinit {
    if let start = memory.baseAddress { clinux_secret_free(start, memory.count) }
  }

  /// The byte at `index`, which must be below `count`.
  subscript(index: Int) -> UInt8 {
    precondition(index < count)
    return memory[index]
  }

  /// Reads to the end of a descriptor; 0, or the errno.
  mutating func read(from descriptor: Int32) -> Int32 {
    while true {
      if count == memory.count {
        overflowed = true
        return 0
      }
      let got = Glibc.read(descriptor, memory.baseAddress?.advanced(by: count), memory.count - count)
      if got < 0 && errno == EINTR { continue }
      if got < 0 { return errno }
      if got == 0 { return 0 }
      count += got
    }
  }

  /// Takes the value of an environment variable and wipes it there, so that /proc/PID/environ no longer shows it; false
  /// if it is not set.
  mutating func takeEnvironment(_ name: String) -> Bool {
    guard let value = getenv(name) else { return false }
    let length = strlen(value)
    count = min(length, memory.count)
    overflowed = length > memory.count
    memory.baseAddress?.copyMemory(from: value, byteCount: count)
    clinux_wipe(value, length)
    unsetenv(name)
    return true
  }
}
