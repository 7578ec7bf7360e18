// The server of `realmfs browse`, from opening the socket to shutdown.

import CMicroHTTPD
import Glibc
public import RealmPages
import Threads

/// The reason that a server cannot be started.
public struct BrowserError: Error, Sendable {
  /// The problem and its remedy.
  public let message: String
}

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

  /// Creates a server for `realm`, whose changes `writer` commits; without a writer, it rejects changes. The page shows
  /// `path`.
  public init(_ realm: Realm, path: String, writer: RealmWriter? = nil) {
    browsed = BrowsedRealm(realm: realm, writer: writer, path: path)
  }

  /// Returns the fragment of the page's URL, after `#`, that shows the objects of a class that match a query.
  public static func fragment(className: String, query: String?) -> String {
    "/" + URLText.encoded(className) + (query.map { "?query=" + URLText.encoded($0) } ?? "")
  }

  /// Starts to listen and returns the URL to open, which works once. Port 0 selects any free port.
  public func start(host: String = "127.0.0.1", port: UInt16 = 0) throws(BrowserError) -> String {
    if let failure = unsafe cmicrohttpd_load() {
      throw BrowserError(
        message: "cannot load libmicrohttpd: \(unsafe String(cString: failure)); install the package libmicrohttpd12"
      )
    }
    var bound: UInt16 = 0, reason: UnsafePointer<CChar>?
    let listener = unsafe cmicrohttpd_listen(host, port, &bound, &reason)
    if listener < 0 {
      let problem = unsafe reason.map { unsafe String(cString: $0) } ?? "unknown reason"
      throw BrowserError(message: "cannot listen at \(Self.address(host, port)): \(problem)")
    }
    let token = Gate.randomSecret()
    let gate = Gate(host: host, port: bound, token: token, secret: Gate.randomSecret())
    let api = WebAPI(browsed) { [weak self] in self?.end() }
    let server = HTTPServer(gate) { api.respond($0) }
    guard server.start(listener) else { throw BrowserError(message: "cannot start the HTTP server: out of resources") }
    monitor.locked { (self.server, self.api) = (server, api) }
    let shown = ["0.0.0.0", "::"].contains(host) ? "127.0.0.1" : host
    return "http://\(Self.address(shown, bound))/?token=\(String(decoding: token, as: UTF8.self))"
  }

  private static func address(_ host: String, _ port: UInt16) -> String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }

  /// Waits until the server is asked to end.
  public func wait() {
    monitor.locked { while !isEnding { monitor.wait() } }
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
  }
}
