// The HTTP server: libmicrohttpd reads requests and sends responses on one thread; a few workers compute the responses.
//
// Invariant: the polling thread never waits, neither for a client nor for a worker. A connection whose request is
// complete is suspended, so that the library does not touch it, until a worker has the response and resumes it.

import CMicroHTTPD
import CWebResources
import Glibc
import Synchronization
import Threads

/// A complete request.
struct WebRequest: Sendable {
  let method: String
  let target: RequestTarget
  let body: [UInt8]
  /// The connection's socket.
  let socket: Int32

  /// True if the client has closed the connection, so that no response is needed.
  var isAbandoned: Bool { Self.isClosed(socket) }

  /// True if the other end of a socket is closed.
  static func isClosed(_ socket: Int32) -> Bool {
    var state = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    guard unsafe poll(&state, 1, 0) > 0 else { return false }
    if state.revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0 { return true }
    var byte: UInt8 = 0
    return unsafe recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0
  }
}

/// A server that passes each request accepted by the gate to `respond`, on one of its workers.
@safe final class HTTPServer: @unchecked Sendable {
  // Unchecked: the variables are accessed only under the monitor's lock.
  // Safe: the daemon is used from `start` to `stop`.
  private let gate: Gate
  private let respond: @Sendable (WebRequest) -> WebResponse
  private let monitor = Monitor()
  private var daemon: OpaquePointer?
  private var waiting: [Exchange] = []
  private var workers: [Thread] = []
  private var isEnding = false
  fileprivate let strangers = Strangers()

  /// More than the number of requests of a page that wait for the same result.
  private static let workerCount = 12
  private static let connectionLimit: UInt32 = 256
  private static let timeout: UInt32 = 30
  private static let headLimit = 32 << 10

  init(_ gate: Gate, respond: @escaping @Sendable (WebRequest) -> WebResponse) {
    (self.gate, self.respond) = (gate, respond)
  }

  /// Starts serving connections accepted by `listener`. Returns false if the daemon cannot be started.
  func start(_ listener: Int32) -> Bool {
    var callbacks = unsafe cmicrohttpd_callbacks(
      context: Unmanaged.passUnretained(self).toOpaque(),
      begin: HTTPCallbacks.begin,
      handle: HTTPCallbacks.handle,
      complete: HTTPCallbacks.complete,
      connection: HTTPCallbacks.connection
    )
    var limits = cmicrohttpd_limits(
      connections: Self.connectionLimit,
      timeout: Self.timeout,
      head: Self.headLimit
    )
    guard let daemon = unsafe cmicrohttpd_start(listener, &callbacks, &limits) else {
      close(listener)
      return false
    }
    monitor.locked {
      unsafe self.daemon = daemon
      for _ in 0..<Self.workerCount {
        if let worker = Thread({ [self] in work() }) { workers.append(worker) }
      }
    }
    if monitor.locked({ workers.isEmpty }) {
      stop()
      return false
    }
    return true
  }

  /// Stops the server. Requests that a worker is processing are completed first. All event streams must have ended.
  func stop() {
    let (daemon, workers) = unsafe monitor.locked {
      isEnding = true
      monitor.wakeAll()
      defer { (unsafe self.daemon, self.workers) = (nil, []) }
      return unsafe (self.daemon, self.workers)
    }
    guard let daemon = unsafe daemon else { return }
    for worker in workers { worker.join() }
    unsafe MHD_stop_daemon(daemon)
  }

  /// Queues a complete request for a worker and suspends its connection. Returns false if the server is stopping.
  fileprivate func submit(_ exchange: Exchange) -> Bool {
    monitor.locked {
      if isEnding { return false }
      exchange.suspend()
      waiting.append(exchange)
      monitor.wakeOne()
      return true
    }
  }

  private func work() {
    while true {
      let next: Exchange? = monitor.locked {
        while waiting.isEmpty, !isEnding { monitor.wait() }
        return waiting.isEmpty ? nil : waiting.removeFirst()
      }
      guard let exchange = next else { return }
      exchange.resume(with: answer(exchange.request))
    }
  }

  private func answer(_ request: WebRequest?) -> WebResponse {
    guard let request else { return WebError(400, "malformed request").response }
    // A page abandons requests when it is scrolled further. A change is made anyway, as if only its response had been
    // lost.
    let isRead = request.method == "GET" || request.method == "HEAD"
    if isRead, request.isAbandoned { return WebError(503, "the request was cancelled").response }
    return respond(request)
  }

  fileprivate func check(_ head: RequestHead, _ socket: Int32) -> Gate.Verdict {
    gate.check(head) {
      var address: [CChar] = Array(repeating: 0, count: 64)
      guard unsafe cmicrohttpd_local_address(socket, &address, address.count) != 0 else { return nil }
      return String(decoding: address.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }
}

/// The connections on which no request has been accepted. When there are too many, the oldest is closed, so that
/// unauthorized clients cannot lock the page out by holding connections.
private final class Strangers: Sendable {
  /// Their sockets, oldest first. A socket is removed before it is closed.
  private let sockets = Mutex<[Int32]>([])

  /// Leaves half of the connections to clients whose requests have been accepted.
  private static let most = 128

  func add(_ socket: Int32) {
    sockets.withLock { sockets in
      sockets.append(socket)
      // The library notices this and closes the socket.
      if sockets.count > Self.most { shutdown(sockets.removeFirst(), Int32(SHUT_RDWR)) }
    }
  }

  func remove(_ socket: Int32) { sockets.withLock { $0.removeAll { $0 == socket } } }
}

/// One request and its response. Used by the polling thread and, while its connection is suspended, by one worker.
@safe private final class Exchange: @unchecked Sendable {
  // Unchecked: suspending and resuming transfers the ownership of the object.
  // Safe: the library keeps the connection until it has called `complete`, which releases this object.
  let connection: OpaquePointer
  let target: [UInt8]
  private(set) var request: WebRequest?
  private var passed: (method: String, target: RequestTarget)?
  private var body: [UInt8] = []
  private var response: WebResponse?

  init(_ connection: OpaquePointer, target: [UInt8]) {
    unsafe self.connection = connection
    self.target = target
  }

  /// Called at the end of the request, whether or not it was answered.
  func complete() { response?.onSent?() }

  func suspend() { unsafe MHD_suspend_connection(connection) }

  func resume(with response: WebResponse) {
    self.response = response
    unsafe MHD_resume_connection(connection)
  }

  /// Continues the request after `count` more bytes of the body have arrived. Returns the number of bytes consumed; nil
  /// closes the connection.
  func advance(_ server: HTTPServer, method: String, _ bytes: UnsafePointer<CChar>?, _ count: Int) -> Int? {
    if let response {
      return send(response) ? 0 : nil
    }
    guard let passed else {
      switch server.check(head(method), unsafe cmicrohttpd_socket(connection)) {
      case .answer(let response): return send(response) ? 0 : nil
      case .pass(let target):
        self.passed = (method, target)
        server.strangers.remove(unsafe cmicrohttpd_socket(connection))
      }
      return 0
    }
    if count > 0 {
      // A body without a length can be rejected only by closing the connection.
      guard body.count + count <= Gate.bodyLimit, let bytes = unsafe bytes else { return nil }
      unsafe body.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: count))
      return count
    }
    request = WebRequest(
      method: passed.method,
      target: passed.target,
      body: body,
      socket: unsafe cmicrohttpd_socket(connection)
    )
    body = []
    return server.submit(self) ? 0 : nil
  }

  private func head(_ method: String) -> RequestHead {
    func value(_ name: String) -> String? {
      guard let text = unsafe MHD_lookup_connection_value(connection, .HEADER_KIND, name) else { return nil }
      return unsafe String(cString: text)
    }
    return RequestHead(
      method: method,
      target: target,
      host: value("Host"),
      origin: value("Origin"),
      cookie: value("Cookie"),
      key: value("X-Realmfs-Key"),
      contentType: value("Content-Type"),
      contentLength: value("Content-Length"),
      fetchSite: value("Sec-Fetch-Site")
    )
  }

  /// The headers of every response.
  private static let headers = [
    (
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
  ]

  private func send(_ response: WebResponse) -> Bool {
    guard let answer = unsafe answer(response.body) else { return false }
    defer { unsafe MHD_destroy_response(answer) }
    for (name, value) in [("Content-Type", response.contentType)] + Self.headers + response.headers {
      _ = unsafe MHD_add_response_header(answer, name, value)
    }
    return unsafe MHD_queue_response(connection, response.status, answer) == .YES
  }

  private func answer(_ body: WebResponse.Body) -> OpaquePointer? {
    switch body {
    case .bytes(var bytes):
      let count = bytes.count
      return unsafe bytes.withUnsafeMutableBytes {
        unsafe MHD_create_response_from_buffer(count, $0.baseAddress, .RESPMEM_MUST_COPY)
      }
    case .resource(let index):
      guard let file = unsafe cwebresources_file(index) else { return nil }
      return unsafe MHD_create_response_from_buffer(
        file.pointee.count,
        UnsafeMutableRawPointer(mutating: file.pointee.bytes),
        .RESPMEM_PERSISTENT
      )
    case .file(let file):
      // The library closes the descriptor.
      let descriptor = file.take()
      guard let answer = unsafe MHD_create_response_from_fd64(file.size, descriptor) else {
        close(descriptor)
        return nil
      }
      return unsafe answer
    case .events(let stream):
      unsafe stream.begin(connection)
      let context = unsafe Unmanaged.passRetained(stream).toOpaque()
      guard
        let answer = unsafe MHD_create_response_from_callback(
          .max,
          16 << 10,
          HTTPCallbacks.read,
          context,
          HTTPCallbacks.free
        )
      else {
        stream.close()
        unsafe Unmanaged<EventStream>.fromOpaque(context).release()
        return nil
      }
      return unsafe answer
    }
  }
}

/// The functions that the library calls, on its thread.
private enum HTTPCallbacks {
  static let begin:
    @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?) -> UnsafeMutableRawPointer? = {
      (_, target, connection) in
      guard let target = unsafe target, let connection = unsafe connection else { return nil }
      let bytes = unsafe Array(UnsafeRawBufferPointer(start: target, count: strlen(target)))
      return unsafe Unmanaged.passRetained(Exchange(connection, target: bytes)).toOpaque()
    }

  static let handle: MHD_AccessHandlerCallback = { (context, _, _, method, _, bytes, count, object) in
    guard let context = unsafe context, let method = unsafe method, let count = unsafe count,
      let object = unsafe object?.pointee
    else { return .NO }
    let server = unsafe Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(object).takeUnretainedValue()
    let used = unsafe exchange.advance(server, method: String(cString: method), bytes, count.pointee)
    guard let used else { return .NO }
    unsafe count.pointee -= used
    return .YES
  }

  static let complete: MHD_RequestCompletedCallback = { (_, _, object, _) in
    guard let pointer = unsafe object?.pointee else { return }
    unsafe object?.pointee = nil
    unsafe Unmanaged<Exchange>.fromOpaque(pointer).takeRetainedValue().complete()
  }

  static let connection: MHD_NotifyConnectionCallback = { (context, connection, _, event) in
    guard let context = unsafe context, let connection = unsafe connection else { return }
    let server = unsafe Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
    let socket = unsafe cmicrohttpd_socket(connection)
    if event == .CONNECTION_NOTIFY_STARTED { server.strangers.add(socket) } else { server.strangers.remove(socket) }
  }

  static let read: MHD_ContentReaderCallback = { (context, _, bytes, count) in
    guard let context = unsafe context, let bytes = unsafe bytes else { return -2 }
    let stream = unsafe Unmanaged<EventStream>.fromOpaque(context).takeUnretainedValue()
    return unsafe stream.read(UnsafeMutableRawBufferPointer(start: bytes, count: count))
  }

  static let free: MHD_ContentReaderFreeCallback = { context in
    guard let context = unsafe context else { return }
    let stream = unsafe Unmanaged<EventStream>.fromOpaque(context).takeRetainedValue()
    stream.close()
  }
}
