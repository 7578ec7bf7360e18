// The fuzzer's targets for files: takes any bytes for a realm file, an encrypted one, or what programs share in a lock
// file. Nothing may crash, hang or be read out of bounds. Half of the realm files are changed in the ways that hurt a
// reader of this format, the other inputs as libFuzzer likes. What an input may cost is bounded (Budget.swift).
// FUZZ_TARGET names the target.

import Glibc
import Threads

@testable import RealmPages

/// What is done with an input.
private enum Target: String {
  /// Open, read and verify.
  case realm
  /// The same, then write to it, and verify again.
  case write
  /// A file with the key of the fixtures.
  case encrypted
  /// The memory that programs share beside a realm.
  case lock

  /// The one that the environment names.
  static let chosen = getenv("FUZZ_TARGET").flatMap { Target(rawValue: String(cString: $0)) } ?? .realm
}

/// libFuzzer calls this with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOpen(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let bytes = UnsafeRawBufferPointer(start: data, count: size)
  budget.run(size) {
    do throws(EngineError) {
      switch Target.chosen {
      case .realm: try readCounted(bytes)
      case .write: try write(bytes)
      case .encrypted: _ = read(try Scratch.realm.open(bytes))
      case .lock: try Scratch.realm.share(bytes)
      }
    } catch {
      // Errors are read too.
      if error.description.isEmpty { abort() }
    }
  }
  return 0
}

/// The verifier keeps a million links, and four for each byte.
private let budget = Budget(
  heap: .init(fixed: 96 << 20, perByte: 2 << 10),
  requests: .init(fixed: 256 << 20, perByte: 64 << 10),
  time: .init(fixed: 2_000_000, perByte: 100)
)

/// The bytes of an input, which count how often a node in them is looked at.
private final class CountedPages: PageSpace, @unchecked Sendable {
  // Unchecked: the fuzzer has one thread.
  var looks = 0

  init(_ bytes: UnsafeRawBufferPointer) {
    let copy = UnsafeMutableRawPointer.allocate(byteCount: max(bytes.count, 1), alignment: 16)
    if let start = bytes.baseAddress { copy.copyMemory(from: start, byteCount: bytes.count) }
    super.init(base: UnsafeRawPointer(copy), size: bytes.count, fillsOnDemand: true)
  }

  deinit { base.deallocate() }

  override func require(_ offset: Int, _ count: Int) { looks += 1 }
}

/// Reads all that a file shows, and counts the work.
private func readCounted(_ bytes: UnsafeRawBufferPointer) throws(EngineError) {
  let pages = CountedPages(bytes), path = "input"
  let header = try HeaderReader.header(of: pages, path: path, isEncrypted: false)
  let snapshot = try HeaderReader.snapshot(pages, header, path: path)
  let values = walk(snapshot)
  expect(pages.looks, 256 * values + 64 * bytes.count + 65536, "looks at nodes by the walk")
  pages.looks = 0
  _ = verify(snapshot)
  // It takes so many elements without bits, and each node once.
  expect(pages.looks, 8 * ((1 << 20) + 125 * bytes.count), "looks at nodes by the verifier")
}

/// Reads all that a version shows; whether it is sound.
private func read(_ snapshot: Snapshot) -> Bool {
  _ = walk(snapshot)
  return verify(snapshot)
}

/// Reads every value; returns how many.
private func walk(_ snapshot: Snapshot) -> Int {
  var walk = ObjectWalk()
  walk.run(snapshot)
  // The densest that a file holds are 1000 values in 8 bytes, and a walk may pay twice for the whole file.
  expect(walk.values, 256 * snapshot.logicalSize + 65536, "values")
  return walk.values
}

/// Whether a version is sound.
private func verify(_ snapshot: Snapshot) -> Bool {
  var isSound = true
  _ = Verifier(snapshot).run(limit: 20) { problem in
    isSound = false
    // Problems are read too.
    if problem.description.isEmpty { abort() }
  }
  return isSound
}

/// Writes to a file and verifies it: what was sound is sound after a commit.
private func write(_ bytes: UnsafeRawBufferPointer) throws(EngineError) {
  let memory = try MemoryStorage(name: "input")
  try memory.grow(to: max(4096, (bytes.count + 4095) & ~4095))
  try memory.write(bytes, at: 0)
  let writer = try RealmWriter(memory: memory)
  let isSound = read(try writer.realm.latest())
  for round in 0..<2 {
    let transaction = try writer.begin()
    do throws(EngineError) {
      try change(transaction, round)
      _ = try transaction.commit()
    } catch {
      // What cannot be changed for its damage is left.
      if isSound, error.reason == .damaged { abort() }
      return
    }
  }
  if !read(try writer.realm.latest()), isSound { abort() }
}

/// Makes, copies and deletes some objects of each class.
private func change(_ transaction: borrowing WriteTransaction, _ round: Int) throws(EngineError) {
  for tableKey in try transaction.tableKeys().prefix(8) {
    let table = try transaction.table(tableKey)
    let cursor = ObjectCursor(table)
    var keys: [ObjKey] = []
    while keys.count < 4, try cursor.next() { keys.append(cursor.key) }
    for (index, key) in keys.enumerated() {
      if index % 2 == round {
        try transaction.delete(table.key, key)
      } else {
        for column in table.columns.prefix(20) where column.key != table.primaryKey?.key {
          // A value of its own fits everywhere.
          do throws(EngineError) {
            let value = try transaction.value(table.key, key, column.key)
            try transaction.set(table.key, key, column.key, value)
          } catch {
            // Some are not to be set, as lists and backlinks.
            if error.reason == .damaged { throw error }
          }
        }
      }
    }
  }
}

/// Files that an input is written to, in memory.
private struct Scratch: @unchecked Sendable {
  // Unchecked: the fuzzer has one thread.
  static let realm = Scratch()

  private let path = "/dev/shm/realmfs-fuzz-\(getpid()).realm"
  private let key = EncryptionKey((0..<64).map { UInt8(1 + 3 * $0) })

  private func fill(_ path: String, _ bytes: UnsafeRawBufferPointer) {
    let file = Glibc.open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    if file < 0 || Glibc.write(file, bytes.baseAddress, bytes.count) != bytes.count { abort() }
    close(file)
  }

  func open(_ bytes: UnsafeRawBufferPointer) throws(EngineError) -> Snapshot {
    fill(path, bytes)
    return try Realm(Configuration(path: path, encryptionKey: key, mode: .immutable)).latest()
  }

  /// Puts an input in the place of all but the mutexes, and uses the list as a participant does.
  func share(_ bytes: UnsafeRawBufferPointer) throws(EngineError) {
    let configuration = Configuration(path: path)
    unlink(path + ".lock")
    // This one keeps the file from being made anew.
    let first = try LockFile(configuration, deadline: .now)
    let (head, tail) = (48, 408), memory = UnsafeMutableRawPointer(first.info)
    let size = LockFile.size(entries: LockFile.listStep)
    for (index, byte) in bytes.enumerated() {
      let place = index < head ? index : tail + index - head
      if place >= size { break }
      memory.storeBytes(of: byte, toByteOffset: place, as: UInt8.self)
    }
    let lock = try LockFile(configuration, deadline: .now), list = VersionList(lock)
    let listed = try list.grabNewest()
    _ = try list.contains(topRef: listed.topRef)
    for version in 1...3 as ClosedRange<UInt64> {
      _ = try list.purge()
      // What a commit adds has a place in a file.
      try list.add(version: listed.version &+ version, topRef: 24, logicalSize: 4096)
    }
    list.release(listed.slot)
    list.close()
  }
}

@_silgen_name("LLVMFuzzerMutate")
private func libFuzzerMutate(_ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ maximum: Int) -> Int

/// libFuzzer calls this to make a new input out of an old one.
@_cdecl("LLVMFuzzerCustomMutator")
public func fuzzMutate(_ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ maximum: Int, _ seed: CUnsignedInt) -> Int {
  let isPlain = Target.chosen == .realm || Target.chosen == .write
  if !isPlain || seed & 1 == 0 || size == 0 { return libFuzzerMutate(data, size, maximum) }
  let mutant = Mutator(Array(UnsafeBufferPointer(start: data, count: size))).mutant(seed: UInt64(seed))
  let count = min(mutant.count, maximum)
  mutant.withUnsafeBufferPointer { mutant in
    if let start = mutant.baseAddress { data.update(from: start, count: count) }
  }
  return count
}
