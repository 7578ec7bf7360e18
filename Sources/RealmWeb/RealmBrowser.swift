// The server of `realmfs browse`, from opening the socket to shutdown.

import CMicroHTTPD
import Glibc
public import RealmPages
import RealmTransfer
import Threads

/// Serves one realm to browsers.
///
/// It ends when `end` is called or when the page requests it. All methods can be called from any thread.
public final class RealmBrowser: @unchecked Sendable {
  // Unchecked: the variables are accessed only under the monitor's lock.
  private let browsed: BrowsedRealm
  private let monitor = Monitor()
  private var server: HTTPServer?
  private var api: WebAPI?
  private var isEnding = false
  private var activity = Activity()

  private struct Activity {
    var requests = 0
    var last = ContinuousClock.now
  }

  /// Creates a server for `realm`, whose changes `writer` commits; without a writer, it rejects changes. The page shows
  /// `path`.
  public init(_ realm: Realm, path: String, writer: RealmWriter? = nil) {
    browsed = BrowsedRealm(realm: realm, writer: writer, path: path)
  }

  /// Returns the fragment of the page's URL, after `#`, that shows the objects of a class that match a query.
  public static func fragment(className: String, query: String?) -> String {
    "/" + URLText.encoded(className) + (query.map { "?query=" + URLText.encoded($0) } ?? "")
  }

  /// Returns a name that others cannot guess.
  public static func randomName() -> String { String(decoding: Gate.randomSecret(), as: UTF8.self) }

  /// Starts to listen and returns the URL to open, which works once. Port 0 selects any free port. `onOpened` is called
  /// on a thread of the server when the URL has been opened.
  public func start(
    host: String = "127.0.0.1",
    port: UInt16 = 0,
    onOpened: @escaping @Sendable () -> Void = {}
  ) throws -> String {
    if let failure = unsafe cmicrohttpd_load() {
      throw TransferError.unsuitable(
        "cannot load libmicrohttpd: \(unsafe String(cString: failure)); install the package libmicrohttpd12"
      )
    }
    var bound: UInt16 = 0, reason: UnsafePointer<CChar>?
    let listener = unsafe cmicrohttpd_listen(host, port, &bound, &reason)
    if listener < 0 {
      let problem = unsafe reason.map { unsafe String(cString: $0) } ?? "unknown reason"
      throw TransferError.unsuitable("cannot listen at \(Self.address(host, port)): \(problem)")
    }
    let token = Gate.randomSecret()
    let gate = Gate(
      host: host,
      port: bound,
      token: token,
      secret: Gate.randomSecret(),
      key: Gate.randomSecret(),
      onOpened: onOpened
    )
    let api = WebAPI(browsed) { [weak self] in self?.end() }
    let server = HTTPServer(gate) { [weak self] request in
      self?.noteRequest(1)
      defer { self?.noteRequest(-1) }
      return api.respond(request)
    }
    guard server.start(listener) else {
      throw TransferError.unsuitable("cannot start the HTTP server: out of resources")
    }
    monitor.locked { (self.server, self.api) = (server, api) }
    let shown = ["0.0.0.0", "::"].contains(host) ? "127.0.0.1" : host
    return "http://\(Self.address(shown, bound))/?token=\(String(decoding: token, as: UTF8.self))"
  }

  private static func address(_ host: String, _ port: UInt16) -> String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }

  private func noteRequest(_ change: Int) {
    monitor.locked {
      activity.requests += change
      activity.last = .now
    }
  }

  /// The longest time between two checks for idleness and for unused former versions.
  private static let checkInterval = Duration.seconds(5)

  /// Waits until the server is asked to end, or until there has been no request and no visible page for `idleTimeout`.
  public func wait(idleTimeout: Duration? = nil) {
    let interval = min(Self.checkInterval, (idleTimeout ?? Self.checkInterval) / 4)
    while true {
      let (isEnding, api) = monitor.locked {
        if !self.isEnding { monitor.wait(until: .now.advanced(by: interval)) }
        return (self.isEnding, self.api)
      }
      if isEnding { return }
      api?.former.releaseUnused()
      guard let idleTimeout else { continue }
      let isOpen = api?.broadcaster.hasStreams ?? false
      let isIdle = monitor.locked {
        if isOpen || activity.requests > 0 { activity.last = .now }
        return ContinuousClock.now - activity.last >= idleTimeout
      }
      if isIdle { return }
    }
  }

  /// Makes `wait` return.
  public func end() {
    monitor.locked {
      isEnding = true
      monitor.wakeAll()
    }
  }

  /// Stops the server: waits for a change that is being committed, and removes temporary files. Waits for other
  /// requests only if `waits` is true.
  public func stop(waits: Bool = true) {
    let (server, api) = monitor.locked { (self.server.take(), self.api.take()) }
    api?.edits.finish()
    api?.broadcaster.stop()
    if waits { server?.stop() }
    api?.exports.removeAll()
    api?.former.release()
  }
}
