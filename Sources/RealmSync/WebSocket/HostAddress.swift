// Resolves host names. A lookup can take minutes to fail, so it runs on a separate thread, which lets the waiting
// thread be woken. Source: getaddrinfo(3).

import Glibc
import Synchronization
import Threads

/// An address that a socket can connect to.
struct HostAddress: Sendable {
  let family: Int32
  /// A `sockaddr` of that family.
  private let bytes: [UInt8]

  /// Resolves a host name, or parses `host` if it is an address. A wakeup ends the wait with `cancelled`.
  static func find(
    _ host: String,
    _ port: UInt16,
    until deadline: MonotonicTime,
    _ wakeup: Wakeup
  ) throws(SyncError) -> [HostAddress] {
    // Literal addresses need no resolver.
    if case .success(let known) = ask(host, port, AI_NUMERICHOST) { return known }
    let answer = try Answer()
    guard
      let thread = Thread({
        let found = ask(host, port, 0)
        answer.result.withLock { $0 = found }
        answer.isHere.wake()
      })
    else { throw SyncError(.file(EAGAIN), "\(host): cannot create a thread to resolve the name") }
    thread.detach()
    switch answer.isHere.wait(until: deadline, or: wakeup) {
    case .ready: break
    case .woken: throw SyncError(.cancelled, "\(host): interrupted")
    case .timeout: throw SyncError(.offline, "\(host): no address: no name server answers")
    }
    guard let result = answer.result.withLock({ $0 }) else { return [] }
    return try result.get()
  }

  /// The result of the lookup thread.
  private final class Answer: Sendable {
    let result = Mutex<Result<[HostAddress], SyncError>?>(nil)
    let isHere: Wakeup

    init() throws(SyncError) { isHere = try Wakeup() }
  }

  private static func ask(_ host: String, _ port: UInt16, _ flags: Int32) -> Result<[HostAddress], SyncError> {
    var hints = unsafe addrinfo(), list: UnsafeMutablePointer<addrinfo>?
    unsafe (hints.ai_family, hints.ai_socktype) = (AF_UNSPEC, Int32(SOCK_STREAM.rawValue))
    unsafe hints.ai_flags = flags
    let status = unsafe getaddrinfo(host, String(port), &hints, &list)
    guard status == 0 else {
      return .failure(SyncError(.offline, unsafe "\(host): no address: \(String(cString: gai_strerror(status)))"))
    }
    defer { unsafe freeaddrinfo(list) }
    var found: [HostAddress] = [], next = unsafe list
    while let entry = unsafe next?.pointee {
      unsafe next = unsafe entry.ai_next
      guard let address = unsafe entry.ai_addr else { continue }
      // In bounds: the list contains the length of each address.
      let bytes = unsafe UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen))
      unsafe found.append(HostAddress(family: entry.ai_family, bytes: Array(bytes)))
    }
    return .success(found)
  }

  /// Starts to connect a socket of the family; returns 0, or -1 with errno.
  func connect(_ descriptor: Int32) -> Int32 {
    unsafe bytes.withUnsafeBytes { bytes in
      guard let address = unsafe bytes.assumingMemoryBound(to: sockaddr.self).baseAddress else { return -1 }
      return unsafe Glibc.connect(descriptor, address, socklen_t(bytes.count))
    }
  }
}
