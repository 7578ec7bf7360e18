// The lifecycle of a mount: create the session, mount, serve, unmount.

public import FileTree
import CFuse
import Glibc
import Threads

/// Mounts and serves a tree. Create it after the process has forked; call `mount`, then `run`, from one thread.
@safe public final class FuseSession {
  // Safe: owns the session pointer, which is nil once the session is destroyed.
  /// Called once the kernel and this process have negotiated the protocol: from then on, the tree is live.
  public var onReady: (() -> Void)?
  /// The serving loop. Ending it ends `run`.
  public let loop = ServingLoop()

  private let settings: FuseSettings
  private let bridge: Bridge
  /// libfuse's session; nil after `run`.
  private var session: OpaquePointer?
  private var isMounted = false

  /// Prepares a session; nothing is mounted yet.
  public init(_ tree: FileTree, _ settings: FuseSettings) throws(FuseError) {
    self.settings = settings
    do {
      let threads = settings.singleThread ? 1 : settings.threads ?? Self.defaultThreads
      bridge = try Bridge(tree, loop, threads: threads)
    } catch {
      throw .refused("cannot read the realm: \(error)")
    }
    var arguments = unsafe fuse_args()
    defer { unsafe fuse_opt_free_args(&arguments) }
    unsafe fuse_opt_add_arg(&arguments, "realmfs")
    if settings.debug { unsafe fuse_opt_add_arg(&arguments, "-d") }
    let access = tree.isWritable ? "rw" : "ro"
    for option in [access, "default_permissions"] + settings.kernelOptions {
      unsafe fuse_opt_add_arg(&arguments, "-o" + Self.escaped(option))
    }
    var operations = Callbacks.table(isWritable: tree.isWritable, isFrozen: tree.isFrozen)
    let userData = unsafe Unmanaged.passUnretained(bridge).toOpaque()
    FuseLog.send(to: settings.log)
    FuseLog.collect()
    unsafe session = fuse_session_new(&arguments, &operations, MemoryLayout<fuse_lowlevel_ops>.size, userData)
    let messages = FuseLog.collected()
    unsafe bridge.kernel.attach(session)
    if unsafe session == nil { throw .badOption(Self.joined(messages, or: "libfuse refused the mount options")) }
  }

  deinit { destroy() }

  /// Mounts the tree. When it returns, the mount exists and the kernel queues requests until `run` serves them.
  public func mount() throws(FuseError) {
    let point = settings.mountPoint
    var status = stat()
    if unsafe stat(point, &status) != 0 {
      throw .mountPoint("cannot mount on \(point): \(Self.text(of: errno))")
    }
    if status.st_mode & S_IFMT != S_IFDIR { throw .mountPoint("cannot mount on \(point): not a directory") }
    let device = "/dev/fuse"
    if unsafe access(device, F_OK) != 0 {
      throw .refused(
        "cannot mount: \(device): \(Self.text(of: errno)); load the module (modprobe fuse) or, in a container, "
          + "pass the device in (--device /dev/fuse)"
      )
    }
    FuseLog.collect()
    let result = unsafe fuse_session_mount(session, point)
    let messages = FuseLog.collected()
    if result != 0 { throw .refused("cannot mount on \(point): " + Self.joined(messages, or: "FUSE refused")) }
    isMounted = true
  }

  /// Uses `device`, one end of a socket of type SOCK_SEQPACKET, instead of the kernel's device. The other end sends
  /// requests in the format of `<linux/fuse.h>`; when it is closed, the tree is considered unmounted. Closes `device`.
  func attach(to device: Int32) throws(FuseError) {
    var access = fuse_custom_io()
    unsafe access.writev = { device, parts, count, _ in unsafe Glibc.writev(device, parts, count) }
    unsafe access.read = { device, buffer, size, _ in
      let count = unsafe Glibc.read(device, buffer, size)
      if count != 0 { return count }
      errno = ENODEV
      return -1
    }
    if unsafe fuse_session_custom_io(session, &access, device) != 0 { throw .refused("libfuse refused the device") }
    isMounted = true
  }

  /// Serves until the tree is unmounted or `loop` is ended, then unmounts. Returns 0, or 1 after a failure. The caller
  /// handles signals: a signal that ends the process before this returns leaves a dead mount.
  public func run() -> Int32 {
    guard let session = unsafe session, isMounted else { return 1 }
    defer { destroy() }
    guard unsafe serveOne(session) else { return 1 }
    unsafe loadRoot(session)
    onReady?()
    onReady = nil
    // A frozen tree never requires notifications.
    guard bridge.tree.isFrozen || bridge.notifier.start() else { return 1 }
    let result = unsafe loop.run(session, limits)
    unsafe endNotifier(session)
    bridge.tree.finish()
    // A negative result is -errno.
    return result >= 0 ? 0 : 1
  }

  // MARK: serving

  private var limits: ServingLoop.Limits {
    var limits = ServingLoop.Limits()
    if Self.processors > 1 { limits.pollTime = .microseconds(settings.busyPoll) }
    if settings.singleThread { return limits }
    limits.idle = max(1, settings.threads ?? Self.defaultThreads)
    // A thread that saves waits for the disk; other threads must be able to continue reading.
    limits.most = bridge.tree.isWritable ? max(limits.idle, Self.writableThreads) : limits.idle
    return limits
  }

  private static let writableThreads = 32

  /// Large enough that a thread waiting for the disk does not delay other requests.
  private static var defaultThreads: Int { min(16, max(4, 2 * processors)) }

  private static var processors: Int { sysconf(Int32(_SC_NPROCESSORS_ONLN)) }

  /// Receives and serves one request. The first request is the kernel's INIT.
  private func serveOne(_ session: OpaquePointer) -> Bool {
    var buffer = unsafe fuse_buf()
    defer { unsafe free(buffer.mem) }
    var count: Int32
    repeat {
      count = unsafe fuse_session_receive_buf(session, &buffer)
    } while unsafe count == -EINTR && fuse_session_exited(session) == 0
    guard count > 0 else { return false }
    unsafe fuse_session_process_buf(session, &buffer)
    return true
  }

  /// Makes the kernel request the attributes of the root while no notification can arrive.
  ///
  /// The kernel creates the root without permissions and discards attributes that a notification overtakes, so a first
  /// access concurrent with a commit would be refused to all users but root.
  private func loadRoot(_ session: OpaquePointer) {
    var ends: [Int32] = [0, 0]
    // Without a pipe, the tree is still live, and only that first access can fail.
    guard unsafe pipe(&ends) == 0 else { return }
    defer { for end in ends { close(end) } }
    let (isLoaded, writeEnd, point) = (ends[0], ends[1], settings.mountPoint)
    let thread = Thread {
      var status = stat()
      unsafe _ = stat(point, &status)
      var byte: UInt8 = 1
      unsafe _ = write(writeEnd, &byte, 1)
    }
    guard let thread else { return }
    let events = Int16(POLLIN)
    var places = [unsafe fuse_session_fd(session), isLoaded].map { pollfd(fd: $0, events: events, revents: 0) }
    repeat {
      if unsafe poll(&places, 2, -1) > 0, places[0].revents != 0, unsafe !serveOne(session) { break }
    } while places[1].revents == 0
    thread.join()
  }

  /// Ends the notifier. The kernel may block a notification until a request is answered, so requests are served until
  /// the thread has ended.
  private func endNotifier(_ session: OpaquePointer) {
    bridge.notifier.stop()
    unsafe fuse_session_reset(session)
    var device = unsafe pollfd(fd: fuse_session_fd(session), events: Int16(POLLIN), revents: 0)
    while !bridge.notifier.isStopped {
      if unsafe poll(&device, 1, 10) > 0, unsafe !serveOne(session) { break }
    }
    bridge.notifier.join()
  }

  private func destroy() {
    guard let session = unsafe session else { return }
    if isMounted { unsafe fuse_session_unmount(session) }
    unsafe fuse_session_destroy(session)
    unsafe self.session = nil
  }

  // MARK: texts

  /// libfuse splits options at commas.
  private static func escaped(_ option: String) -> String {
    var result = ""
    for character in option {
      if character == "," || character == "\\" { result.append("\\") }
      result.append(character)
    }
    return result
  }

  private static func joined(_ messages: [String], or fallback: String) -> String {
    messages.isEmpty ? fallback : messages.joined(separator: "; ")
  }

  private static func text(of error: Int32) -> String { unsafe String(cString: strerror(error)) }
}
