// A TCP connection with deadlines; another thread can wake a thread that waits for it. Source: socket(7), poll(2).

import Glibc
import Synchronization
import Threads

/// Wakes a thread that waits for a connection.
final class Wakeup: Sendable {
  private let ends: (read: Int32, write: Int32)
  private let isOver = Atomic(false)

  init() throws(SyncError) {
    var pair: [Int32] = [-1, -1]
    guard unsafe pipe(&pair) == 0 else {
      throw SyncError(.file(errno), unsafe "pipe: \(String(cString: strerror(errno)))")
    }
    for end in pair {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    ends = (pair[0], pair[1])
  }

  deinit {
    close(ends.read)
    close(ends.write)
  }

  /// Ends the current wait of the thread, or its next one.
  func wake() {
    var byte: UInt8 = 1
    // If the pipe is full, the thread is woken anyway.
    _ = unsafe write(ends.write, &byte, 1)
  }

  /// Ends all waits of the thread, now and in the future, and its reads and writes.
  func end() {
    isOver.store(true, ordering: .releasing)
    wake()
  }

  /// True if no more reads, writes or waits should happen.
  var isEnded: Bool { isOver.load(ordering: .acquiring) }

  /// The descriptor to poll.
  fileprivate var descriptor: Int32 { ends.read }

  fileprivate func drain() {
    var bytes: (UInt64, UInt64) = (0, 0)
    while unsafe read(ends.read, &bytes, 16) > 0 {}
  }

  /// Waits at most until `deadline`. Returns `ready` if this wakeup is signaled, `woken` if `other` is.
  func wait(until deadline: MonotonicTime, or other: Wakeup) -> Socket.Event {
    var entries = [ends.read, other.ends.read].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    while true {
      let count = unsafe poll(&entries, nfds_t(entries.count), Int32(clamping: deadline.milliseconds))
      if count < 0 && errno == EINTR { continue }
      if entries[0].revents != 0 { return .ready }
      if entries[1].revents == 0 { return .timeout }
      other.drain()
      return .woken
    }
  }

  /// Waits until it is signaled, at most until `deadline`.
  func wait(until deadline: MonotonicTime) {
    var entry = pollfd(fd: ends.read, events: Int16(POLLIN), revents: 0)
    _ = unsafe poll(&entry, 1, Int32(clamping: deadline.milliseconds))
    drain()
  }
}

/// An open TCP connection. Not thread-safe: one thread at a time.
final class Socket {
  let descriptor: Int32
  let peer: String

  /// The result of a wait.
  enum Event { case ready, woken, timeout }

  private init(_ descriptor: Int32, _ peer: String) { (self.descriptor, self.peer) = (descriptor, peer) }

  deinit { close(descriptor) }

  /// Connects to the first address of `host` that answers. A wakeup ends the attempt with `cancelled`.
  static func connect(
    host: String,
    port: UInt16,
    until deadline: MonotonicTime,
    _ wakeup: Wakeup
  ) throws(SyncError) -> Socket {
    let peer = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    var problem = "no address"
    for address in try HostAddress.find(host, port, until: deadline, wakeup) {
      let flags = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
      let descriptor = socket(address.family, flags, 0)
      if descriptor < 0 {
        problem = unsafe String(cString: strerror(errno))
        continue
      }
      let connection = Socket(descriptor, peer)
      if address.connect(descriptor) != 0 {
        if errno != EINPROGRESS {
          problem = unsafe String(cString: strerror(errno))
          continue
        }
        switch connection.wait(for: POLLOUT, until: deadline, wakeup) {
        case .woken: throw SyncError(.cancelled, "\(peer): interrupted")
        case .timeout:
          problem = "no answer"
          continue
        case .ready: break
        }
        var code: Int32 = 0, size = socklen_t(MemoryLayout<Int32>.size)
        unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size)
        if code != 0 {
          problem = unsafe String(cString: strerror(code))
          continue
        }
      }
      var on: Int32 = 1
      let size = socklen_t(MemoryLayout<Int32>.size)
      unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, size)
      unsafe setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, size)
      return connection
    }
    throw SyncError(.offline, "cannot connect to \(peer): \(problem)")
  }

  /// Waits until the connection is readable (`POLLIN`) or writable (`POLLOUT`).
  func wait(for events: Int32, until deadline: MonotonicTime, _ wakeup: Wakeup?) -> Event {
    var entries = [pollfd(fd: descriptor, events: Int16(events), revents: 0)]
    if let wakeup { entries.append(pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0)) }
    while true {
      let count = unsafe poll(&entries, nfds_t(entries.count), Int32(clamping: deadline.milliseconds))
      if count < 0 && errno == EINTR { continue }
      if let wakeup, entries.count > 1, entries[1].revents != 0 {
        wakeup.drain()
        return .woken
      }
      if count == 0 { return .timeout }
      return .ready
    }
  }

  /// Reads available bytes; returns nil if there are none yet, 0 at the end.
  func read(into bytes: UnsafeMutableRawBufferPointer) throws(SyncError) -> Int? {
    while true {
      let count = unsafe recv(descriptor, bytes.baseAddress, bytes.count, 0)
      if count >= 0 { return count }
      if errno == EINTR { continue }
      if errno == EAGAIN { return nil }
      throw SyncError(.offline, unsafe "\(peer): \(String(cString: strerror(errno)))")
    }
  }

  /// Writes as many bytes as fit; returns nil if there is no room.
  func write(_ bytes: UnsafeRawBufferPointer) throws(SyncError) -> Int? {
    while true {
      let count = unsafe send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
      if count >= 0 { return count }
      if errno == EINTR { continue }
      if errno == EAGAIN { return nil }
      throw SyncError(.offline, unsafe "\(peer): \(String(cString: strerror(errno)))")
    }
  }
}
