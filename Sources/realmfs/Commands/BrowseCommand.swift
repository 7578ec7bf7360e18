// `realmfs browse`: shows a realm in a web browser until ended by a signal or by the page.
import CLinux
import Glibc
import RealmJSON
import RealmPages
import RealmQuery
import RealmWeb

/// The command `browse`.
enum BrowseCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    if let out = arguments.value(.staticFile) { return try write(out, arguments) }
    let (host, port) = try address(arguments), idleTimeout = try idleTimeout(arguments)
    let source: RealmSource, writer: RealmWriter?
    if arguments.has(.writable) {
      let edited = try EditedRealm(arguments)
      writer = edited.writer
      source = RealmSource(path: edited.path, realm: edited.writer.realm)
    } else {
      writer = nil
      source = try RealmSource.live(arguments)
    }
    try checkSelection(arguments, source)
    // Data that SQLite sorts for a download must not reach the disk either.
    if source.realm.configuration.encryptionKey != nil { unsafe _ = setenv("SQLITE_TMPDIR", "/dev/shm", 1) }
    // The memory of one thread's arena is not reused by the others.
    clinux_limit_heaps(2)
    let browser = RealmBrowser(source.realm, path: source.path, writer: writer)
    let redirect = arguments.has(.open) ? RedirectFile() : nil
    defer { redirect?.remove() }
    let url = try browser.start(host: host, port: port) { redirect?.remove() }
    // A signal is the usual way to end the command. Without a thread for it, the signal ends the process.
    _ = Interruption.onFirstSignal { browser.end() }
    let shown = url + fragment(arguments)
    let output = StandardOutput()
    output.print(shown + "\n")
    try output.flush()
    if unsafe getenv("SSH_CONNECTION") != nil { explainForwarding(url) }
    if let redirect { try open(shown, redirect) }
    browser.wait(idleTimeout: idleTimeout)
    browser.stop(waits: false)
    Realm.leaveSessions()
    return .done
  }

  /// Rejects a CLASS or QUERY that the page could not show.
  private static func checkSelection(_ arguments: Arguments, _ source: RealmSource) throws {
    guard arguments.operands.count > 1 else { return }
    try source.onNewest { snapshot in
      let table = try snapshot.table(ofClass: arguments.operands[1], in: source.path)
      guard arguments.operands.count > 2 else { return }
      do throws(InputError) { _ = try ObjectQuery(arguments.operands[2], of: table, in: snapshot) } catch {
        throw CommandFailure(error, in: arguments.operands[2])
      }
    }
  }

  /// Returns the part of the URL that selects the class and query to show first. It is not sent to the server.
  private static func fragment(_ arguments: Arguments) -> String {
    guard arguments.operands.count > 1 else { return "" }
    let query = arguments.operands.count > 2 ? arguments.operands[2] : nil
    return "#" + RealmBrowser.fragment(className: arguments.operands[1], query: query)
  }

  /// Returns the address to listen at.
  private static func address(_ arguments: Arguments) throws -> (host: String, port: UInt16) {
    guard let text = arguments.value(.listen) else { return ("127.0.0.1", 0) }
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")),
      let port = UInt16(text[text.utf8.index(after: colon)...])
    else { throw arguments.usage("--listen \(text): expected HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080") }
    var host = String(text[..<colon])
    if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
    if host.isEmpty { throw arguments.usage("--listen \(text): a host is missing; 127.0.0.1 is this machine only") }
    return (host, port)
  }

  /// Returns the time without requests after which the server ends; nil without --idle-timeout.
  private static func idleTimeout(_ arguments: Arguments) throws -> Duration? {
    guard let text = arguments.value(.idleTimeout) else { return nil }
    guard let seconds = Int64(text), seconds >= 1, seconds <= 86_400 else {
      throw arguments.usage("--idle-timeout \(text): expected a number of seconds from 1 to 86400")
    }
    return .seconds(seconds)
  }

  private static func explainForwarding(_ url: String) {
    guard let port = url.split(separator: "/").dropFirst().first?.split(separator: ":").last else { return }
    Log.notice(
      "this is an SSH session: on the machine with the browser, run "
        + "'ssh -N -L \(port):127.0.0.1:\(port) HOST', then open the URL there"
    )
  }

  private static func open(_ url: String, _ redirect: RedirectFile) throws {
    try redirect.write(url)
    // The program that opens pages must not receive Ctrl-C of this terminal, and its messages are not relevant here.
    let status = System.run([
      "/bin/sh", "-c",
      "command -v xdg-open >/dev/null || exit 127; setsid xdg-open \"$0\" "
        + ">/dev/null 2>&1 &", redirect.path,
    ])
    if status != 0 { Log.notice("xdg-open is missing; open the URL by hand") }
  }

  /// A file that only this user can read and that redirects a browser to a URL. Other users can read the arguments of
  /// programs, so the URL, which contains the token, is not passed to xdg-open.
  private struct RedirectFile: Sendable {
    let path: String

    init() { path = "\(UserFolders.runtime)/realmfs-browse-\(RealmBrowser.randomName()).html" }

    func write(_ url: String) throws {
      let descriptor = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
      if descriptor < 0 { throw CommandFailure(.failure, "\(path): \(System.message(errno))") }
      defer { close(descriptor) }
      // The URL contains no characters that are special in HTML: in its fragment, they are percent-encoded.
      let text =
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">"
        + "<meta http-equiv=\"refresh\" content=\"0; url=\(url)\"><title>realmfs</title>\n"
      let code = StandardOutput.write(Array(text.utf8), to: descriptor)
      if code != 0 { throw CommandFailure(.failure, "\(path): \(System.message(code))") }
    }

    /// Removes the file, if it exists.
    func remove() { unsafe _ = unlink(path) }
  }

  // MARK: a file

  private static func write(_ out: String, _ arguments: Arguments) throws -> ExitCode {
    let source = try RealmSource.pinned(arguments)
    let staging = try Staging(for: out)
    let descriptor = unsafe Glibc.open(staging.anchoredPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    if descriptor < 0 { throw CommandFailure(.failure, "\(out): \(System.message(errno))") }
    defer { close(descriptor) }
    let hold = try source.realm.hold()
    let parts = try parts(arguments, hold.snapshot, source)
    let name = source.path.split(separator: "/").last.map(String.init) ?? source.path
    var page = StaticPage(hold.snapshot, title: name) { (buffer) throws(EngineError) in
      let code = StandardOutput.write(buffer.bytes, to: descriptor)
      if code != 0 { throw EngineError(.file(code), "\(out): \(System.message(code))") }
    }
    try located(source.path) { try page.run(parts) }
    guard source.realm.isCurrent(hold.snapshot) else { throw source.tooBusy }
    try staging.publishFile()
    return .done
  }

  /// Returns the classes to show: all but those of embedded objects, which are shown within their owners, or only the
  /// chosen one.
  private static func parts(
    _ arguments: Arguments,
    _ snapshot: Snapshot,
    _ source: RealmSource
  ) throws -> [StaticPage.Part] {
    guard arguments.operands.count > 1 else {
      return try located(source.path) {
        try snapshot.classes().filter { $0.kind != .embedded }.map { StaticPage.Part($0) }
      }
    }
    let table = try snapshot.table(ofClass: arguments.operands[1], in: source.path)
    guard arguments.operands.count > 2 else { return [StaticPage.Part(table)] }
    let text = arguments.operands[2], query: ObjectQuery
    do { query = try ObjectQuery(text, of: table, in: snapshot) } catch {
      throw CommandFailure(error, in: text)
    }
    do { return [StaticPage.Part(table, text, keys: try query.keys())] } catch {
      throw CommandFailure(error, of: text, in: source.path)
    }
  }
}
