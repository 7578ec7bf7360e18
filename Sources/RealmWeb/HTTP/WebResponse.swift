// Responses to requests, and the errors that become responses.

import Glibc
import RealmJSON
import RealmPages
import RealmQuery
import RealmTransfer
import Synchronization

/// A response. `HTTPServer` adds the headers that every response has.
struct WebResponse: Sendable {
  enum Body: Sendable {
    case bytes([UInt8])
    /// An embedded file, by its index.
    case resource(Int)
    case file(OpenedFile)
    case events(EventStream)
  }

  var status: UInt32 = 200
  var contentType: String
  var headers: [(String, String)] = []
  var body: Body
  /// Called when the response has been sent or cannot be sent.
  var onSent: (@Sendable () -> Void)?

  static func json(_ text: [UInt8], status: UInt32 = 200) -> WebResponse {
    WebResponse(status: status, contentType: "application/json", body: .bytes(text))
  }

  static func json(_ out: OutputBuffer) -> WebResponse { json(out.bytes) }

  static func json(_ value: JSONValue) -> WebResponse { json(Array(value.line.utf8)) }
}

/// A file that is closed with this object, unless its descriptor has been taken.
final class OpenedFile: Sendable {
  private let descriptor: Mutex<Int32>
  let size: UInt64

  init(descriptor: Int32, size: UInt64) {
    self.descriptor = Mutex(descriptor)
    self.size = size
  }

  deinit {
    let descriptor = take()
    if descriptor >= 0 { close(descriptor) }
  }

  /// Returns the descriptor, which the caller must close; -1 if it has already been taken.
  func take() -> Int32 {
    descriptor.withLock { descriptor in
      defer { descriptor = -1 }
      return descriptor
    }
  }
}

/// The reason that a request is rejected or fails.
struct WebError: Error, Sendable {
  let status: UInt32
  let message: String
  /// The position in the query of the request, from 1.
  var column: Int?

  init(_ status: UInt32, _ message: String, column: Int? = nil) {
    (self.status, self.message, self.column) = (status, message, column)
  }

  /// Converts the error of a request. This is the only place where errors get a status.
  init(_ error: any Error) {
    switch error {
    case let error as WebError: self = error
    case let error as EngineError: self.init(Self.status(error.reason), error.description)
    case let error as InputError:
      switch error.kind {
      case .query: self.init(400, error.problem, column: error.condition == 0 ? error.column : nil)
      case .engine(let cause): self.init(cause)
      case .missingObject: self.init(404, error.description)
      case .duplicate: self.init(409, error.description)
      default: self.init(400, error.description)
      }
    case QueryFailure.damaged(let cause): self.init(cause)
    case QueryFailure.refused(let cause): self.init(cause)
    case QueryFailure.timedOut: self.init(503, "the query took too long")
    case let error as TransferError:
      let status: UInt32 =
        switch error {
        case .damaged, .file: 500
        case .missingClass, .missingObject: 404
        case .unsuitable: 400
        case .busy: 503
        }
      self.init(status, error.description)
    default: self.init(500, "\(error)")
    }
  }

  private static func status(_ reason: EngineError.Reason) -> UInt32 {
    switch reason {
    case .notFound: 404
    case .wrongType, .duplicateKey, .forbidden, .overLimit, .badSchema: 400
    case .readOnly, .busy, .inUse, .moved, .tooManyVersions, .untrusted: 409
    default: 500
    }
  }

  /// The response that reports the error.
  var response: WebResponse {
    let out = OutputBuffer()
    out.append("{\"error\":")
    out.append(quoted: message)
    if let column {
      out.append(",\"column\":")
      out.append(decimal: Int64(column))
    }
    out.append("}\n")
    return .json(out.bytes, status: status)
  }
}
