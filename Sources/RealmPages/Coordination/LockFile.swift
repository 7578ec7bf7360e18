// FILE.lock: opens the lock file by the same protocol as Realm's engine, and maps the memory in it that all
// participants share. The shared flock that this object holds makes the process a participant; the kernel releases it
// however the process ends. Source: docs/format/5-coordination.md 5.2, 5.4.

import CLinux
import Glibc
import Synchronization
import Threads

/// An open lock file, mapped, with a shared flock on it.
@safe final class LockFile: @unchecked Sendable {
  // Unchecked: other processes share the memory anyway; the mutexes in it define who may access what.
  // Safe: the mapping lives as long as the object, and has room for `maxEntries` entries.
  let path: String
  let info: UnsafeMutablePointer<clinux_shared_info>
  private let descriptor: Int32
  let identity: Identity
  /// True once a lock failed because the bytes of the mutex are not a mutex.
  private let hasBrokenMutex = Atomic<Bool>(false)

  /// The layout version that this code supports.
  static let layout: UInt16 = 14
  /// Where the version list starts.
  private static let listStart = unsafe MemoryLayout<clinux_shared_info>.stride
  /// The number of entries of a new list, and of each growth step.
  static let listStep = 32
  /// The upper limit on entries; the address space for them is reserved.
  private static let maxEntries = 1 << 16
  private static let mappedSize = size(entries: maxEntries)

  /// The size of a lock file whose version list has room for `entries`.
  static func size(entries: Int) -> Int { listStart + entries * MemoryLayout<clinux_version_entry>.stride }

  /// Opens the lock file of a realm, and initializes it if it has no participants. Throws `inUse` if it cannot be
  /// opened by `deadline`.
  init(_ configuration: Configuration, deadline: MonotonicTime) throws(EngineError) {
    path = configuration.path + ".lock"
    guard clinux_has_glibc() else {
      throw EngineError(
        .inUse,
        "\(path): this program was not built with glibc, as programs that share a realm must be"
      )
    }
    var mismatches = 0
    while true {
      let opened = try Self.open(path, configuration, deadline)
      let isReady = unsafe !opened.isEmpty && clinux_load_8(clinux_init_complete(opened.info)) == 1
      let problem = isReady ? Self.problem(opened) : nil
      if isReady && problem == nil {
        descriptor = opened.descriptor
        unsafe info = opened.info
        identity = opened.identity
        return
      }
      unsafe clinux_unmap(opened.info, Self.mappedSize)
      close(opened.descriptor)
      if let problem {
        mismatches += 1
        // The session of an incompatible program may be about to end.
        if mismatches > 10 || MonotonicTime.now >= deadline {
          throw EngineError(
            .inUse,
            "\(path): \(problem): a program with another version or architecture of Realm has the realm open; close it"
          )
        }
      } else if MonotonicTime.now >= deadline {
        throw EngineError(.inUse, "\(path): a program that has the realm open did not initialise the lock file")
      }
      usleep(useconds_t.random(in: 0..<useconds_t(10_000 * max(mismatches, 1))))
    }
  }

  deinit {
    unsafe clinux_unmap(info, Self.mappedSize)
    close(descriptor)
  }

  /// Identifies a file while it is open.
  struct Identity: Equatable {
    let device: dev_t
    let inode: ino_t

    init(_ status: stat) { (device, inode) = (status.st_dev, status.st_ino) }
  }

  @safe private struct Opened {
    // Safe: `init` either keeps the mapping or unmaps it and does not use `info` afterwards.
    let descriptor: Int32
    let info: UnsafeMutablePointer<clinux_shared_info>
    let size: Int
    let identity: Identity
    /// True if another process is about to initialize the file.
    var isEmpty: Bool { size == 0 }
  }

  private static func open(
    _ path: String,
    _ configuration: Configuration,
    _ deadline: MonotonicTime
  ) throws(EngineError) -> Opened {
    let fd = try Protection.openLock(path, besideRealm: configuration.path)
    var isReady = false
    defer { if !isReady { close(fd) } }
    var status = stat()
    guard unsafe fstat(fd, &status) == 0 else { throw .failed("fstat", path, errno) }
    try Trust.check(owner: status.st_uid, of: path, configuration)
    guard let memory = unsafe clinux_map_writable(fd, mappedSize) else { throw .failed("mmap", path, errno) }
    let info = unsafe memory.bindMemory(to: clinux_shared_info.self, capacity: 1)
    defer { if !isReady { unsafe clinux_unmap(memory, mappedSize) } }
    if try lock(fd, LOCK_EX, path) {
      let code = unsafe initialise(fd, info)
      if code != 0 { throw .failed("ftruncate", path, code) }
      flock(fd, LOCK_UN)
    }
    while try !lock(fd, LOCK_SH, path) {
      if MonotonicTime.now >= deadline {
        throw EngineError(.inUse, "\(path): another program has the realm open exclusively; close it")
      }
      usleep(1000)
    }
    guard unsafe fstat(fd, &status) == 0 else { throw .failed("fstat", path, errno) }
    isReady = true
    return unsafe Opened(descriptor: fd, info: info, size: Int(status.st_size), identity: Identity(status))
  }

  /// Acquires a flock without waiting; returns false if another process holds a conflicting one.
  private static func lock(_ fd: Int32, _ kind: Int32, _ path: String) throws(EngineError) -> Bool {
    if flock(fd, kind | LOCK_NB) == 0 { return true }
    if errno == EWOULDBLOCK || errno == EINTR { return false }
    throw .failed("flock", path, errno)
  }

  /// Initializes the file for a new session; everything in it is stale. The caller holds the exclusive flock. Returns
  /// 0, or an errno.
  static func initialise(_ fd: Int32, _ info: UnsafeMutablePointer<clinux_shared_info>) -> Int32 {
    // If this function stops here, processes that wait for the shared flock would use the data of the last session.
    var status = stat()
    if unsafe fstat(fd, &status) != 0 { return errno }
    if status.st_size > 0 { unsafe clinux_store_8(clinux_init_complete(info), 0) }
    if ftruncate(fd, 0) != 0 { return errno }
    let code = clinux_reserve_file(fd, Int64(size(entries: listStep)))
    if code != 0 { return code }
    unsafe info.pointee.mutex_size = UInt8(MemoryLayout<pthread_mutex_t>.size)
    unsafe info.pointee.condition_size = UInt8(MemoryLayout<pthread_cond_t>.size)
    unsafe info.pointee.layout = layout
    unsafe info.pointee.history_type = 2
    unsafe info.pointee.history_schema = 1
    let failure = unsafe clinux_shared_init(info)
    if failure != 0 { return failure }
    unsafe info.pointee.entries = UInt32(listStep)
    unsafe info.pointee.allocating = 0
    unsafe info.pointee.newest = .max
    unsafe clinux_store_8(clinux_init_complete(info), 1)
    return 0
  }

  /// The reason why an initialized lock file cannot be used; nil if it can.
  private static func problem(_ opened: Opened) -> String? {
    let info = unsafe opened.info
    // The first eight bytes have the same meaning in every layout.
    if opened.size < 8 { return "\(opened.size) bytes long" }
    let found = unsafe info.pointee
    if unsafe found.layout != layout { return unsafe "layout \(found.layout) instead of \(layout)" }
    let sizes = unsafe (MemoryLayout<pthread_mutex_t>.size, MemoryLayout<pthread_cond_t>.size)
    if unsafe (Int(found.mutex_size), Int(found.condition_size)) != sizes {
      return unsafe "mutexes of \(found.mutex_size) and conditions of \(found.condition_size) bytes instead of \(sizes)"
    }
    if opened.size < size(entries: listStep) { return "\(opened.size) bytes long" }
    let code = unsafe clinux_shared_lock(info, clinux_control_mutex, 0)
    switch code {
    case 0, EOWNERDEAD: unsafe clinux_shared_unlock(info, clinux_control_mutex)
    case ETIMEDOUT: break
    default: return "a mutex of another kind (\(ErrnoText.of(code)))"
    }
    return nil
  }

  /// The entries of the version list; `checkedEntries` returns their number.
  var list: UnsafeMutablePointer<clinux_version_entry> {
    unsafe (UnsafeMutableRawPointer(info) + Self.listStart).bindMemory(
      to: clinux_version_entry.self,
      capacity: Self.maxEntries
    )
  }

  /// Returns the number of entries stored in the file; throws if the file is too small for them.
  func checkedEntries() throws(EngineError) -> Int {
    let entries = unsafe Int(info.pointee.entries)
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw .failed("fstat", path, errno) }
    guard entries > 0, entries <= Self.maxEntries, Int(status.st_size) >= Self.size(entries: entries) else {
      throw EngineError(
        .inUse,
        "\(path): \(entries) versions announced in \(status.st_size) bytes: close all programs that have the realm open"
      )
    }
    return entries
  }

  /// Extends the file to hold `entries` entries.
  func grow(to entries: Int) throws(EngineError) {
    guard entries <= Self.maxEntries else {
      throw EngineError(.inUse, "\(path): more than \(Self.maxEntries) versions are in use")
    }
    let code = clinux_reserve_file(descriptor, Int64(Self.size(entries: entries)))
    if code != 0 { throw .failed("posix_fallocate", path, code) }
  }

  /// True if no file or another file is at the path; false if that cannot be determined.
  var isGone: Bool {
    var named = stat()
    if unsafe stat(path, &named) == 0 { return Identity(named) != identity }
    return errno == ENOENT || errno == ENOTDIR
  }

  /// True if the file was truncated or overwritten, so that no program can use it.
  var isUnusable: Bool { isOverwritten || isCut }

  private var isOverwritten: Bool {
    unsafe hasBrokenMutex.load(ordering: .relaxed) || !Self.hasKnownLayout(info)
  }

  private var isCut: Bool { unsafe clinux_mapping_was_cut(info) }

  /// True for an initialized lock file with the layout that this code supports.
  private static func hasKnownLayout(_ info: UnsafeMutablePointer<clinux_shared_info>) -> Bool {
    unsafe clinux_load_8(clinux_init_complete(info)) == 1 && info.pointee.layout == layout
      && Int(info.pointee.mutex_size) == MemoryLayout<pthread_mutex_t>.size
      && Int(info.pointee.condition_size) == MemoryLayout<pthread_cond_t>.size
  }

  /// Throws if the file is not the one at its path, or was truncated or overwritten: other programs then do not see
  /// this participant.
  func checkIsInPlace() throws(EngineError) {
    var named = stat()
    let isThere = unsafe stat(path, &named) == 0 && Identity(named) == identity
    if !isThere || isUnusable { throw removedOrOverwritten }
  }

  private var removedOrOverwritten: EngineError {
    let remedy = "close all programs that have it open"
    return EngineError(.inUse, "\(path): the lock file was removed or overwritten while the realm is open: \(remedy)")
  }

  /// Throws if the file belongs to a user with whom this process does not share memory.
  func checkOwner(_ configuration: Configuration) throws(EngineError) {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw .failed("fstat", path, errno) }
    try Trust.check(owner: status.st_uid, of: path, configuration)
  }

  /// Releases the shared flock, so that other processes no longer see a participant. The memory stays mapped until the
  /// object is released.
  ///
  /// If the file was overwritten and no other process participates, it is initialized again, because openers refuse to
  /// change a file that does not look like a lock file. A truncated file is no longer mapped, and openers treat it as a
  /// new one. If initializing fails, the next opener handles the file.
  func releaseLock() {
    if isOverwritten, !isCut, flock(descriptor, LOCK_EX | LOCK_NB) == 0 { _ = unsafe Self.initialise(descriptor, info) }
    flock(descriptor, LOCK_UN)
  }

  /// Locks one of the mutexes, also if its holder died. Throws `busy` at `deadline`, and `inUse` if the mutex is
  /// broken.
  func lock(_ mutex: clinux_shared_mutex, until deadline: MonotonicTime) throws(EngineError) {
    // An overwritten mutex can look as if a live process held it.
    if unsafe !Self.hasKnownLayout(info) { throw removedOrOverwritten }
    let code = unsafe clinux_shared_lock(info, mutex, deadline.milliseconds)
    switch code {
    case 0, EOWNERDEAD: return
    case ETIMEDOUT:
      throw EngineError(.busy, "\(path): another program keeps the realm locked; try again later")
    default:
      hasBrokenMutex.store(true, ordering: .relaxed)
      throw removedOrOverwritten
    }
  }

  /// Unlocks a mutex that this thread locked.
  func unlock(_ mutex: clinux_shared_mutex) { unsafe clinux_shared_unlock(info, mutex) }
}
