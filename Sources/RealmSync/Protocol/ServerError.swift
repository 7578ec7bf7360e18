// The errors that a server reports, and the client's reaction to each. Source: docs/format/7-sync.md 7.5.

/// An error that the server reported.
struct ServerError: Hashable, Sendable {
  let code: Int64
  let text: String
  /// The session concerned; 0 for the whole connection.
  let session: Int64
  let triesAgain: Bool
  /// The action that a server with JSON errors requests.
  let action: String?

  /// The reaction of the client.
  enum Consequence: Hashable {
    /// Connect again later.
    case retry
    /// Connect again; if the error repeats, stop.
    case retryOnce
    /// Request a new identity and download everything again.
    case reset
    /// Report the upload as rejected.
    case refuse
    /// Stop with an error.
    case stop(SyncError.Reason)
  }

  init(code: Int64, text: String, session: Int64, triesAgain: Bool, action: String?) {
    (self.code, self.text, self.session) = (code, text, session)
    (self.triesAgain, self.action) = (triesAgain, action)
  }

  init(json head: inout MessageWords, _ body: ArraySlice<UInt8>) throws(SyncError) {
    let code = try head.number(), size = try head.number(), session = try head.number()
    guard size == body.count else { throw ServerMessage.broken("an error whose text does not have the declared size") }
    func field(_ name: String) -> String? {
      // A flat object of strings and numbers. Only the name of the action is interpreted; the rest is only displayed.
      let marker = Array("\"\(name)\":".utf8)
      guard body.count > marker.count else { return nil }
      for start in body.startIndex..<body.endIndex - marker.count
      where body[start..<start + marker.count].elementsEqual(marker) {
        let rest = body[(start + marker.count)...].drop { $0 == UInt8(ascii: " ") }
        guard rest.first == UInt8(ascii: "\"") else {
          return String(decoding: rest.prefix { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "}") }, as: UTF8.self)
        }
        return String(decoding: rest.dropFirst().prefix { $0 != UInt8(ascii: "\"") }.prefix(1000), as: UTF8.self)
      }
      return nil
    }
    self.init(
      code: code,
      text: field("message") ?? "",
      session: session,
      triesAgain: field("tryAgain") == "true",
      action: field("action")
    )
  }

  /// Returns the reaction; `duringUpload` is true if the error followed an upload of this session.
  func consequence(duringUpload: Bool) -> Consequence {
    switch action {
    case "Transient", "Warning": return .retry
    case "ClientReset", "ClientResetNoRecovery", "DeleteRealm": return .reset
    case "ApplicationBug", "ProtocolViolation", "MigrateToFLX", "RevertToPBS", "RefreshUser", "RefreshLocation",
      "LogOutUser":
      return .stop(.unsupported)
    default: break
    }
    switch code {
    case 100, 200, 201, 218: return .retry
    case 101, 103, 104, 106, 107, 108, 109, 216: return .retryOnce
    case 113, 214, 215, 225...227, 229...232, 234...236: return .stop(.unsupported)
    case 202, 203, 206, 220, 223: return .stop(.token)
    case 204, 205: return .stop(.configuration)
    case 209, 210: return duringUpload ? .retryOnce : .reset
    case 208, 211, 217, 219, 222: return .reset
    case 212: return .refuse
    default: return triesAgain ? .retry : .stop(.protocolBroken)
    }
  }

  /// The error, for messages.
  var description: String {
    let hint: String
    switch consequence(duringUpload: false) {
    case .stop(.unsupported):
      hint =
        "; this belongs to Flexible Sync or another closed service: partition-based sync (realm-core's server) is "
        + "what realmfs knows"
    case .stop(.token): hint = "; give a new token with --token-file or --token-command"
    default: hint = ""
    }
    return "the server reports error \(code): \(text)\(hint)"
  }
}
