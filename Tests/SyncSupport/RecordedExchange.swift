// A recorded exchange with a real server: the client must send the same messages again, and gets the same bytes as
// answers.

import Glibc
import RealmSync

/// The messages of one connection, in order.
package struct RecordedExchange: Sendable {
  /// A message of one side.
  package enum Step: Equatable, Sendable {
    /// The head of a message that the client must send.
    case client(String)
    /// A message that the server sent.
    case server([UInt8])
  }

  package var steps: [Step]
  /// The number of bytes sent at a time, with a pause of a millisecond after each part.
  package var partSize = Int.max

  /// Reads lines `C HEAD` and `S HEXADECIMAL`; others are comments.
  package init(_ text: String) {
    steps = text.split(separator: "\n").compactMap { line in
      let content = line.dropFirst(2)
      switch line.prefix(2) {
      case "C ": return .client(String(content))
      case "S ":
        let digits = Array(content.utf8)
        return .server(
          stride(from: 0, to: digits.count - 1, by: 2).map {
            UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16) ?? 0
          }
        )
      default: return nil
      }
    }
  }
}

extension FakeConnection {
  /// Replays the exchange, and then waits for the client to end the connection.
  func replay(_ exchange: RecordedExchange) throws {
    for (index, step) in exchange.steps.enumerated() {
      switch step {
      case .server(let message): try send(message, partSize: exchange.partSize)
      case .client(let wanted):
        let head = try nextHead()
        if head != wanted {
          server.noteReplay("\(head) instead of \(wanted)")
          return
        }
      }
      if index == exchange.steps.count - 1 { server.noteReplay("done") }
    }
    while true { try read() }
  }

  /// The first line of the next message that is not a PING.
  private func nextHead() throws -> String {
    while true {
      guard let message = try nextMessage() else {
        try read()
        continue
      }
      let head = String(decoding: message.prefix { $0 != 10 }, as: UTF8.self)
      if !head.hasPrefix("ping ") { return head }
    }
  }
}
