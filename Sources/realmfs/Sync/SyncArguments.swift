// The arguments about a synced realm: its address, the user, and the token.
import Glibc
import RealmPages
import RealmSync

/// The source of the token. The token itself is never on the command line, which all users can read.
enum TokenSource: Sendable {
  case none
  case file(String)
  case command(String)

  /// The length of the longest token that a server accepts.
  private static let limit = 2048

  init(_ arguments: Arguments) {
    if let path = arguments.value(.tokenFile) {
      self = .file(System.absolute(path))
    } else if let command = arguments.value(.tokenCommand) {
      self = .command(command)
    } else {
      self = .none
    }
  }

  /// Reads the token again at each call, because it may have been renewed.
  func read() throws(SyncError) -> String {
    let bytes: [UInt8]
    switch self {
    case .none: return ""
    case .file(let path):
      do { bytes = try System.bytes(ofFile: path, limit: Self.limit + 2) } catch {
        throw SyncError(.token, "token file \(path): \(System.message(error.code))")
      }
    case .command(let command): bytes = try Self.output(of: command)
    }
    let text = String(decoding: bytes.reversed().drop { $0 == 10 || $0 == 13 || $0 == 32 }.reversed(), as: UTF8.self)
    if text.isEmpty { throw SyncError(.token, "the token is empty") }
    if text.utf8.count > Self.limit { throw SyncError(.token, "the token is longer than \(Self.limit) bytes") }
    return text
  }

  private static func output(of command: String) throws(SyncError) -> [UInt8] {
    guard let pipe = unsafe popen(command, "r") else {
      throw SyncError(.token, "the token command: \(System.message(errno))")
    }
    var bytes: [UInt8] = []
    while bytes.count < limit + 2 {
      let byte = unsafe getc(pipe)
      if byte == EOF { break }
      bytes.append(UInt8(truncatingIfNeeded: byte))
    }
    let status = unsafe pclose(pipe)
    if status != 0, bytes.count < limit + 2 {
      throw SyncError(.token, "the token command ended with status \(status >> 8 & 0xff)")
    }
    return bytes
  }
}

extension Arguments {
  /// Returns the address of a synced realm in an operand or option.
  func syncURL(_ text: String) throws -> SyncURL {
    try SyncURL(text, user: value(.user))
  }

  /// Returns the path of the local copy of a synced realm.
  func mirrorPath(of url: SyncURL) throws -> String {
    if let path = value(.mirror) { return System.absolute(path) }
    return Mirror.standardPath(of: url)
  }

  /// Returns the sync options.
  func syncOptions() throws -> SyncOptions {
    let source = TokenSource(self)
    var options = SyncOptions { () throws(SyncError) in try source.read() }
    options.authorities = value(.authorities).map(System.absolute)
    options.connectTimeout = min(try syncTimeout(), .seconds(120))
    return options
  }

  /// Returns the time to wait for the server.
  func syncTimeout() throws -> Duration {
    guard let text = value(.timeout) else { return .seconds(30) }
    guard let seconds = Int64(text), seconds >= 1, seconds <= 86_400 else {
      throw usage("option --timeout: '\(text)' is not a number of seconds from 1 to 86400")
    }
    return .seconds(seconds)
  }
}

extension CommandFailure {
  /// Converts a sync error.
  init(sync error: SyncError) {
    if let cause = error.cause {
      self.init(cause)
      return
    }
    let code: ExitCode =
      switch error.reason {
      case .configuration: .usage
      case .offline, .certificate, .token, .timeout, .unsupported, .reset, .protocolBroken, .refused: .server
      case .mirror: .inUse
      case .file(let code): code.map(ExitCode.init(errno:)) ?? .failure
      case .cancelled: .failure
      }
    self.init(code, error.description)
  }
}
