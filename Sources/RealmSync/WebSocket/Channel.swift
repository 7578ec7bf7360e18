// The byte stream of a connection, plain or encrypted. The server's certificate is checked against the host name and
// against trusted certificates, either the system's or those of a file. Source: SSL_connect(3), SSL_set1_host(3).

import CTLS
import Glibc
import Threads

/// A connection to the server. Not thread-safe: one thread at a time.
final class Channel {
  private let socket: Socket
  private let tls: TLS?
  /// The server, for messages.
  var peer: String { socket.peer }
  private let wakeup: Wakeup

  /// The TLS state of an encrypted connection.
  @safe private final class TLS {
    // Safe: it owns both and is the only one to free them.
    let context: OpaquePointer
    let connection: OpaquePointer

    init(_ context: OpaquePointer, _ connection: OpaquePointer) {
      unsafe (self.context, self.connection) = (context, connection)
    }

    deinit {
      unsafe SSL_free(connection)
      unsafe SSL_CTX_free(context)
    }
  }

  /// Connects to the server of `url`. `authorities` is a file of trusted certificates in PEM form, used instead of the
  /// system's.
  init(
    to url: SyncURL,
    authorities: String?,
    until deadline: MonotonicTime,
    _ wakeup: Wakeup
  ) throws(SyncError) {
    self.wakeup = wakeup
    socket = try Socket.connect(host: url.host, port: url.port, until: deadline, wakeup)
    guard url.isSecure else {
      tls = nil
      return
    }
    tls = try Self.secure(socket, url, authorities)
    try handshake(url, until: deadline)
  }

  private static func secure(
    _ socket: Socket,
    _ url: SyncURL,
    _ authorities: String?
  ) throws(SyncError) -> TLS {
    guard let context = unsafe SSL_CTX_new(TLS_client_method()) else {
      throw SyncError(.certificate, "TLS cannot be used: \(reasons())")
    }
    unsafe realmfs_tls_require(context)
    var isTrusting = false
    if let authorities {
      isTrusting = unsafe SSL_CTX_load_verify_locations(context, authorities, nil) == 1
    } else {
      isTrusting = unsafe SSL_CTX_set_default_verify_paths(context) == 1
    }
    guard isTrusting, let connection = unsafe SSL_new(context) else {
      let problem = reasons()
      unsafe SSL_CTX_free(context)
      throw SyncError(.certificate, "\(authorities ?? "trusted certificates"): cannot be read: \(problem)")
    }
    let tls = unsafe TLS(context, connection)
    var address = in6_addr(), address4 = in_addr()
    let isAddress = unsafe inet_pton(AF_INET6, url.host, &address) == 1 || inet_pton(AF_INET, url.host, &address4) == 1
    guard unsafe realmfs_tls_expect(connection, url.host, isAddress ? 1 : 0) == 1,
      unsafe SSL_set_fd(connection, socket.descriptor) == 1
    else { throw SyncError(.certificate, "TLS cannot be used: \(reasons())") }
    return tls
  }

  private func handshake(_ url: SyncURL, until deadline: MonotonicTime) throws(SyncError) {
    guard let tls else { return }
    while true {
      ERR_clear_error()
      let status = unsafe SSL_connect(tls.connection)
      if status == 1 { return }
      let code = unsafe SSL_get_error(tls.connection, status)
      if code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE {
        if deadline <= .now { throw SyncError(.offline, "\(socket.peer): no answer during the TLS handshake") }
        switch socket.wait(for: code == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, until: deadline, wakeup) {
        case .ready: continue
        case .woken: throw SyncError(.cancelled, "\(socket.peer): interrupted")
        case .timeout: throw SyncError(.offline, "\(socket.peer): no answer during the TLS handshake")
        }
      }
      let verdict = unsafe SSL_get_verify_result(tls.connection)
      if verdict != X509_V_OK {
        let text = unsafe X509_verify_cert_error_string(verdict).map { unsafe String(cString: $0) } ?? "unknown"
        throw SyncError(
          .certificate,
          "\(socket.peer): the certificate is not trusted for \(url.host): \(text)"
            + (Self.isAboutAuthority(verdict)
              ? "; --ca-file names a file with the certificate of the authority that signed it" : "")
        )
      }
      let problem = Self.reasons()
      throw SyncError(
        .offline,
        "\(socket.peer): TLS: \(problem.isEmpty ? "the server closed the connection" : problem); the address of a "
          + "server without TLS begins with realm://"
      )
    }
  }

  /// True if the certificate could be trusted with a different authority.
  private static func isAboutAuthority(_ verdict: Int) -> Bool {
    ![
      Int(X509_V_ERR_HOSTNAME_MISMATCH), Int(X509_V_ERR_IP_ADDRESS_MISMATCH), Int(X509_V_ERR_CERT_HAS_EXPIRED),
      Int(X509_V_ERR_CERT_NOT_YET_VALID),
    ].contains(verdict)
  }

  /// Returns the error text of libssl.
  private static func reasons() -> String {
    let code = ERR_get_error()
    if code == 0 { return "" }
    // ERR_SYSTEM_FLAG: an errno, for which libssl has no text. Source: err.h of OpenSSL 3.
    if code & 0x8000_0000 != 0 {
      return unsafe String(cString: strerror(Int32(truncatingIfNeeded: code & 0x7fff_ffff)))
    }
    return unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) } ?? "error \(code)"
  }

  // MARK: bytes

  /// The result of a read.
  enum Outcome: Equatable { case bytes(Int), ended, woken, timeout }

  /// Appends at least one received byte to `buffer`.
  func read(into buffer: inout [UInt8], until deadline: MonotonicTime) throws(SyncError) -> Outcome {
    let room = 1 << 16, filled = buffer.count
    while true {
      // Checked first, so that a server that sends continuously cannot delay the end.
      if wakeup.isEnded { return .woken }
      buffer.append(contentsOf: repeatElement(0, count: room))
      var outcome: Result<Step, SyncError> = .success(.wait(POLLIN))
      unsafe buffer.withUnsafeMutableBytes { bytes in
        let space = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[filled...])
        outcome = Result { () throws(SyncError) in try unsafe self.step(reading: space) }
      }
      let step: Step
      do { step = try outcome.get() } catch {
        buffer.removeLast(room)
        throw error
      }
      switch step {
      case .done(let count):
        buffer.removeLast(room - count)
        return count == 0 ? .ended : .bytes(count)
      case .wait(let events):
        buffer.removeLast(room)
        switch socket.wait(for: events, until: deadline, wakeup) {
        case .ready: continue
        case .woken: return .woken
        case .timeout: return .timeout
        }
      }
    }
  }

  /// Writes all of `bytes`.
  func write(_ bytes: [UInt8], until deadline: MonotonicTime) throws(SyncError) {
    var done = 0, wasWoken = false
    // Pass the wakeup on to the next read.
    defer { if wasWoken { wakeup.wake() } }
    while done < bytes.count {
      var outcome: Result<Step, SyncError> = .success(.wait(POLLOUT))
      unsafe bytes.withUnsafeBytes { all in
        let rest = unsafe UnsafeRawBufferPointer(rebasing: all[done...])
        outcome = Result { () throws(SyncError) in try unsafe self.step(writing: rest) }
      }
      switch try outcome.get() {
      case .done(let count): done += count
      case .wait(let events):
        if wakeup.isEnded { throw SyncError(.cancelled, "\(socket.peer): interrupted") }
        switch socket.wait(for: events, until: deadline, wakeup) {
        case .ready: break
        case .woken: wasWoken = true
        case .timeout: throw SyncError(.offline, "\(socket.peer): accepts no more data")
        }
      }
    }
  }

  private enum Step {
    /// The number of bytes transferred; 0 at the end of input.
    case done(Int)
    case wait(Int32)
  }

  private func step(reading space: UnsafeMutableRawBufferPointer) throws(SyncError) -> Step {
    guard let tls else { return try unsafe socket.read(into: space).map { .done($0) } ?? .wait(POLLIN) }
    ERR_clear_error()
    return try unsafe step(tls, SSL_read(tls.connection, space.baseAddress, Int32(clamping: space.count)))
  }

  private func step(writing bytes: UnsafeRawBufferPointer) throws(SyncError) -> Step {
    guard let tls else { return try unsafe socket.write(bytes).map { .done($0) } ?? .wait(POLLOUT) }
    ERR_clear_error()
    return try unsafe step(tls, SSL_write(tls.connection, bytes.baseAddress, Int32(clamping: bytes.count)))
  }

  private func step(_ tls: TLS, _ count: Int32) throws(SyncError) -> Step {
    if count > 0 { return .done(Int(count)) }
    switch unsafe SSL_get_error(tls.connection, count) {
    case SSL_ERROR_WANT_READ: return .wait(POLLIN)
    case SSL_ERROR_WANT_WRITE: return .wait(POLLOUT)
    case SSL_ERROR_ZERO_RETURN: return .done(0)
    default:
      let problem = Self.reasons()
      throw SyncError(.offline, "\(socket.peer): \(problem.isEmpty ? "the connection broke" : problem)")
    }
  }
}
