// Records the writes and syncs of a commit, and replays them without an engine.

import Glibc
import RealmPages

/// A write, or a sync if it has no bytes.
struct Step {
  let offset: Int
  let bytes: [UInt8]
}

/// Collects steps. Used by one thread.
final class WriteRecorder: @unchecked Sendable {
  var steps: [Step] = []
}

/// Forwards all calls, and records writes and syncs.
final class RecordedStorage: Storage, @unchecked Sendable {
  // Unchecked: used by one thread.
  private let base: any Storage
  private let recorder: WriteRecorder

  init(_ base: any Storage, _ recorder: WriteRecorder) {
    self.base = base
    self.recorder = recorder
  }

  var name: String { base.name }
  func size() throws(EngineError) -> Int { try base.size() }
  func grow(to size: Int) throws(EngineError) { try base.grow(to: size) }
  func shrink(to size: Int) throws(EngineError) { try base.shrink(to: size) }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(EngineError) -> Int {
    try base.read(into: buffer, at: offset)
  }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(EngineError) {
    recorder.steps.append(Step(offset: offset, bytes: [UInt8](bytes)))
    try base.write(bytes, at: offset)
  }
  func flush() throws(EngineError) { try base.flush() }
  func sync() throws(EngineError) {
    recorder.steps.append(Step(offset: 0, bytes: []))
    try base.sync()
  }
  func begin(reusable: () -> [Range<Int>]) { base.begin(reusable: reusable) }
}

/// Replays steps on a file.
struct FileReplay {
  private let descriptor: Int32

  /// Works on a copy of a file, which disappears when the process ends.
  init(ofCopy path: String) throws {
    let copy = path + ".bare", original = open(path, O_RDONLY)
    descriptor = open(copy, O_RDWR | O_CREAT | O_TRUNC, 0o600)
    if original < 0 || descriptor < 0 { throw Usage() }
    unlink(copy)
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = read(original, &bytes, bytes.count)
      if count == 0 { break }
      if count < 0 || write(descriptor, bytes, count) != count { throw Usage() }
    }
    close(original)
    if fsync(descriptor) != 0 { throw Usage() }
  }

  func run(_ steps: [Step]) throws {
    for step in steps {
      if step.bytes.isEmpty {
        if fdatasync(descriptor) != 0 { throw Usage() }
      } else {
        let done = step.bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(step.offset)) }
        if done != step.bytes.count { throw Usage() }
      }
    }
  }
}
