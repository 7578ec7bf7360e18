// The fuzzer's targets for files: treats any bytes as a realm file, an encrypted realm file, or the shared memory in a
// lock file. No input may cause a crash, a hang or a read out of bounds. Half of the realm files are mutated in ways
// that are dangerous for a reader of this format, the other inputs by libFuzzer. The cost of an input is limited
// (Budget.swift). FUZZ_TARGET selects the target.

import Glibc
import Threads

@testable import RealmPages

/// The operations performed on an input.
private enum Target: String {
  /// Open, read and verify.
  case realm
  /// Open, read and verify, then write and verify again.
  case write
  /// Open and read as a file encrypted with the key of the fixtures.
  case encrypted
  /// Use as the memory that programs share beside a realm.
  case lock

  /// The target that the environment selects.
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
      // Formatting the error must not fail either.
      if error.description.isEmpty { abort() }
    }
  }
  return 0
}

/// The verifier keeps up to a million links, plus four for each byte of the input.
private let budget = Budget(
  heap: .init(fixed: 96 << 20, perByte: 2 << 10),
  requests: .init(fixed: 256 << 20, perByte: 64 << 10),
  time: .init(fixed: 2_000_000, perByte: 100)
)

/// The bytes of an input. Counts the accesses to nodes in them.
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

/// Reads everything in a file, and counts the work.
private func readCounted(_ bytes: UnsafeRawBufferPointer) throws(EngineError) {
  let pages = CountedPages(bytes), path = "input"
  let header = try HeaderReader.header(of: pages, path: path, isEncrypted: false)
  let snapshot = try HeaderReader.snapshot(pages, header, path: path)
  let values = walk(snapshot)
  expect(pages.looks, 256 * values + 64 * bytes.count + 65536, "looks at nodes by the walk")
  pages.looks = 0
  _ = verify(snapshot)
  // The verifier accepts this many elements of width 0, and visits each node once.
  expect(pages.looks, 8 * ((1 << 20) + 125 * bytes.count), "looks at nodes by the verifier")
}

/// Reads everything in a version. Returns true if the version is valid.
private func read(_ snapshot: Snapshot) -> Bool {
  _ = walk(snapshot)
  return verify(snapshot)
}

/// Reads every value. Returns the number of values.
private func walk(_ snapshot: Snapshot) -> Int {
  var walk = ObjectWalk()
  walk.run(snapshot)
  // A file holds at most 1000 values in 8 bytes, and a walk may pay for the whole file twice.
  expect(walk.values, 256 * snapshot.logicalSize + 65536, "values")
  return walk.values
}

/// Returns true if a version is valid.
private func verify(_ snapshot: Snapshot) -> Bool {
  var isSound = true
  _ = Verifier(snapshot).run(limit: 20) { problem in
    isSound = false
    // Formatting the problem must not fail either.
    if problem.description.isEmpty { abort() }
  }
  return isSound
}

/// Writes to a file and verifies it: a valid file must still be valid after a commit.
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
      // Damage may prevent the change, but only in a file that was not valid.
      if isSound, error.reason == .damaged { abort() }
      return
    }
  }
  if !read(try writer.realm.latest()), isSound { abort() }
}

/// Deletes some objects of each class, and writes the values of others back.
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
          // An object's own value is valid for it.
          do throws(EngineError) {
            let value = try transaction.value(table.key, key, column.key)
            try transaction.set(table.key, key, column.key, value)
          } catch {
            // Some columns cannot be set, such as lists and backlinks.
            if error.reason == .damaged { throw error }
          }
        }
      }
    }
  }
}

/// Files in memory that an input is written to.
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

  /// Replaces everything except the mutexes with an input, and uses the version list as a participant does.
  func share(_ bytes: UnsafeRawBufferPointer) throws(EngineError) {
    let configuration = Configuration(path: path)
    unlink(path + ".lock")
    // This open lock file keeps the next one from initializing the file again.
    let first = try LockFile(configuration, deadline: .now)
    let (head, tail) = (48, 408), memory = UnsafeMutableRawPointer(first.info)
    let size = LockFile.size(entries: LockFile.listStep)
    for (index, byte) in bytes.enumerated() {
      let place = index < head ? index : tail + index - head
      if place >= size { break }
      memory.storeBytes(of: byte, toByteOffset: place, as: UInt8.self)
    }
    let lock = try LockFile(configuration, deadline: .now), list = VersionList(lock)
    let listed = try list.pinNewest()
    _ = try list.contains(topRef: listed.topRef)
    for version in 1...3 as ClosedRange<UInt64> {
      _ = try list.purge()
      // A commit adds a position inside the file.
      try list.add(version: listed.version &+ version, topRef: 24, logicalSize: 4096)
    }
    list.release(listed.slot)
    list.close()
  }
}

@_silgen_name("LLVMFuzzerMutate")
private func libFuzzerMutate(_ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ maximum: Int) -> Int

/// libFuzzer calls this to derive a new input from an old one.
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
