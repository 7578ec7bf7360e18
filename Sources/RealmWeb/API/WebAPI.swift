// The HTTP endpoints: routes each request by its path and method. docs/BROWSER.md describes them.

import CWebResources
import Glibc
import RealmJSON
import RealmPages

/// Responds to the requests of the page and of scripts.
struct WebAPI: Sendable {
  private(set) var browsed: BrowsedRealm
  let former = FormerRealm()
  let results = ResultCache()
  let edits: Edits
  let exports = Exports()
  let broadcaster: ChangeBroadcaster
  private let quit: @Sendable () -> Void

  init(_ browsed: BrowsedRealm, quit: @escaping @Sendable () -> Void) {
    (self.browsed, self.quit) = (browsed, quit)
    edits = Edits(browsed)
    broadcaster = ChangeBroadcaster(browsed.realm)
  }

  func respond(_ request: WebRequest) -> WebResponse {
    do { return try view(request).route(request) } catch { return WebError(error).response }
  }

  /// Returns the endpoints for the version that a request names, or for the newest version if it names none.
  private func view(_ request: WebRequest) throws -> WebAPI {
    let path = request.target.path
    guard path.first == "api", let text = request.target["version"] else { return self }
    if ["versions", "changes"].contains(path.dropFirst().first ?? "") || path.count == 4 && path[3] == "deleted" {
      throw WebError(400, "this request does not accept a version")
    }
    guard let version = UInt64(text) else {
      throw WebError(400, "version=\(text.prefix(40)): expected a version number")
    }
    guard request.isRead else { throw WebError(400, "former versions cannot be changed") }
    var view = self
    view.browsed = BrowsedRealm(realm: try former.realm(version, of: browsed), writer: nil, path: browsed.path)
    return view
  }

  private func route(_ request: WebRequest) throws -> WebResponse {
    let path = request.target.path
    if path.first != "api" {
      if request.isRead, path.count <= 1, let file = Self.resource(path.first ?? "index.html") { return file }
      throw WebError(404, "no such page")
    }
    if path.count >= 5, path[1] == "classes", path[3] == "objects" {
      return try object(request, path[2], path[4], Array(path.dropFirst(5)))
    }
    switch (request.isRead ? "GET" : request.method, path.dropFirst().first ?? "", path.count) {
    case ("GET", "info", 2): return try info()
    case ("GET", "classes", 2): return try classes()
    case ("GET", "schema", 2): return try schema()
    case ("GET", "versions", 2): return try versions()
    case ("GET", "search", 2): return try search(request)
    case ("GET", "changes", 2): return try changes(request)
    case ("GET", "export", 2): return try export(request)
    case ("GET", "classes", 4) where path[3] == "rows": return try rows(path[2], request)
    case ("GET", "classes", 4) where path[3] == "facets": return try facets(path[2], request)
    case ("GET", "classes", 4) where path[3] == "deleted": return try deleted(path[2], request)
    case ("POST", "classes", 4) where path[3] == "objects": return try edits.create(path[2], request)
    case ("POST", "undo", 2): return try edits.undo(request)
    case ("POST", "quit", 2):
      var response = WebResponse.json(.object([("ended", .bool(true))]))
      response.onSent = quit
      return response
    default: throw WebError(404, "no such endpoint, or it does not support \(request.method)")
    }
  }

  private func object(
    _ request: WebRequest,
    _ className: String,
    _ key: String,
    _ rest: [String]
  ) throws -> WebResponse {
    switch (request.isRead ? "GET" : request.method, rest.first ?? "", rest.count) {
    case ("GET", "", 0): return try object(className, key)
    case ("GET", "backlinks", 1): return try backlinks(className, key, request.target)
    case ("GET", "blob", 2): return try blob(className, key, rest[1])
    case ("PATCH", "", 0): return try edits.change(className, key, request)
    case ("DELETE", "", 0): return try edits.delete(className, key, request)
    default: throw WebError(404, "no such endpoint, or it does not support \(request.method)")
    }
  }

  private func changes(_ request: WebRequest) throws -> WebResponse {
    guard request.method == "GET" else { return WebResponse(contentType: "text/event-stream", body: .bytes([])) }
    return WebResponse(contentType: "text/event-stream", body: .events(try broadcaster.subscribe(request.socket)))
  }

  /// Returns an embedded file; nil if there is none with this name. No other files are served.
  private static func resource(_ name: String) -> WebResponse? {
    var index = 0
    while let file = unsafe cwebresources_file(index) {
      if unsafe strcmp(file.pointee.name, name) == 0 {
        return WebResponse(contentType: contentType(of: name), body: .resource(index))
      }
      index += 1
    }
    return nil
  }

  private static func contentType(of name: String) -> String {
    switch name.split(separator: ".").last {
    case "html": "text/html; charset=utf-8"
    case "css": "text/css; charset=utf-8"
    case "js": "text/javascript; charset=utf-8"
    case "svg": "image/svg+xml"
    default: "application/octet-stream"
    }
  }
}

extension WebRequest {
  var isRead: Bool { method == "GET" || method == "HEAD" }
}
