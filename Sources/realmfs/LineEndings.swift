// A realm that a program took for a text: git with core.autocrlf, FTP in ASCII mode and the like put a carriage return
// before every line feed. Every offset behind the first is wrong then, and nothing is lost: they are taken out again.
import Glibc
import RealmPages

enum LineEndings {
  /// Line feeds that must be there before their form tells anything: by chance one in 256 has a carriage return before
  /// it.
  private static let significantCount = 8

  /// Whether a carriage return stands before every line feed of a file. Reads until it knows.
  static func areConverted(_ path: String) -> Bool {
    var count = 0, last: UInt8 = 0, isConverted = true
    // What cannot be read tells nothing.
    try? System.eachBlock(ofFile: path) { bytes in
      for byte in bytes {
        if byte == UInt8(ascii: "\n") {
          count += 1
          isConverted = last == UInt8(ascii: "\r")
          if !isConverted { return false }
        }
        last = byte
      }
      return true
    }
    return isConverted && count >= significantCount
  }

  /// Calls `body` with the realm, or, where that makes a converted realm sound, with a copy beside `target` whose line
  /// feeds are as they were, which goes away afterwards.
  static func restoring<R>(
    _ configuration: Configuration,
    for target: String,
    _ body: (_ source: Configuration, _ isRestored: Bool) throws(CommandFailure) -> R
  ) throws(CommandFailure) -> R {
    if !areConverted(configuration.path) || isSound(configuration) { return try body(configuration, false) }
    let staging = try Staging(for: target)
    defer { _ = staging.folder }
    var restored = configuration
    restored.path = staging.path
    try restore(configuration.path, to: restored.path, for: target)
    return try isSound(restored) ? body(restored, true) : body(configuration, false)
  }

  private static func isSound(_ configuration: Configuration) -> Bool {
    var file = configuration
    file.mode = .immutable
    // What does not open is not sound.
    guard let snapshot = try? Realm(file).latest() else { return false }
    return Verifier(snapshot).run { _ in }.isSound
  }

  private static func restore(_ path: String, to copy: String, for target: String) throws(CommandFailure) {
    let output = unsafe open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if output < 0 { throw CommandFailure(.failure, "\(target): cannot be made: \(System.message(errno))") }
    defer { close(output) }
    var last: UInt8 = 0, code: Int32 = 0
    do throws(Errno) {
      try System.eachBlock(ofFile: path) { bytes in
        // The carriage return that ends a block may belong to the line feed that begins the next one.
        var kept: [UInt8] = []
        kept.reserveCapacity(bytes.count + 1)
        for byte in bytes {
          if last == UInt8(ascii: "\r"), byte != UInt8(ascii: "\n") { kept.append(last) }
          if byte != UInt8(ascii: "\r") { kept.append(byte) }
          last = byte
        }
        code = StandardOutput.write(kept, to: output)
        return code == 0
      }
    } catch { throw CommandFailure(.unreadable, "\(path): \(System.message(error.code))") }
    if code == 0, last == UInt8(ascii: "\r") { code = StandardOutput.write([last], to: output) }
    if code != 0 { throw CommandFailure(.failure, "\(target): cannot be made: \(System.message(code))") }
  }
}
