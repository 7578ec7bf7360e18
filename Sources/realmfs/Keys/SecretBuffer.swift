// Memory for key material: of fixed size, so that growing never copies bytes, and wiped when it is freed.
import CLinux
import Glibc

/// Bytes read from a key source.
///
/// The bytes are wiped at the end of the buffer's lifetime.
@safe struct SecretBuffer: ~Copyable {
  // Safe: owns the memory; `count` never exceeds its size.
  private let memory: UnsafeMutableRawBufferPointer
  private(set) var count = 0
  /// True if there were more bytes than fit.
  private(set) var overflowed = false

  /// The capacity, far more than a key needs in any format.
  static let capacity = 4096

  init() {
    // If the allocation fails, the capacity is 0 and every key is too long.
    let start = unsafe clinux_secret_alloc(Self.capacity)
    unsafe memory = UnsafeMutableRawBufferPointer(start: start, count: start == nil ? 0 : Self.capacity)
  }

  deinit {
    if let start = unsafe memory.baseAddress { unsafe clinux_secret_free(start, memory.count) }
  }

  /// The byte at `index`, which must be below `count`.
  subscript(index: Int) -> UInt8 {
    precondition(index < count)
    return unsafe memory[index]
  }

  /// Reads a descriptor to its end. Returns 0, or the errno.
  mutating func read(from descriptor: Int32) -> Int32 {
    while true {
      if unsafe count == memory.count {
        overflowed = true
        return 0
      }
      let got = unsafe Glibc.read(descriptor, memory.baseAddress?.advanced(by: count), memory.count - count)
      if got < 0 && errno == EINTR { continue }
      if got < 0 { return errno }
      if got == 0 { return 0 }
      count += got
    }
  }

  /// Reads the value of an environment variable and wipes the original, so that /proc/PID/environ no longer shows it.
  /// Returns false if the variable is not set.
  mutating func takeEnvironment(_ name: String) -> Bool {
    guard let value = unsafe getenv(name) else { return false }
    let length = unsafe strlen(value)
    count = unsafe min(length, memory.count)
    overflowed = unsafe length > memory.count
    unsafe memory.baseAddress?.copyMemory(from: value, byteCount: count)
    unsafe clinux_wipe(value, length)
    unsafe unsetenv(name)
    return true
  }
}
