// Encodes and decodes WebSocket frames. Client frames are masked, server frames are not. Source: RFC 6455 section 5.

import CTLS

/// The format of frames.
enum Frame {
  enum Kind: UInt8 { case continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 }

  /// The maximum size of a received message.
  static let maximumSize = ServerMessage.maximumSize + 1024

  /// Returns a masked frame that contains a complete message.
  static func masked(_ kind: Kind, _ payload: [UInt8]) -> [UInt8] {
    var key = [UInt8](repeating: 0, count: 4)
    unsafe RAND_bytes(&key, 4)
    var bytes: [UInt8] = [0x80 | kind.rawValue]
    bytes.reserveCapacity(payload.count + 14)
    appendSize(payload.count, mask: 0x80, to: &bytes)
    bytes += key
    for (index, byte) in payload.enumerated() { bytes.append(byte ^ key[index & 3]) }
    return bytes
  }

  private static func appendSize(_ size: Int, mask: UInt8, to bytes: inout [UInt8]) {
    switch size {
    case ..<126: bytes.append(mask | UInt8(size))
    case ..<65536: bytes += [mask | 126, UInt8(size >> 8), UInt8(size & 0xff)]
    default:
      bytes.append(mask | 127)
      for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: size >> shift)) }
    }
  }

  /// The head of a server's frame.
  struct Head {
    let kind: Kind
    let isLast: Bool
    /// The size of the head, and of the payload that follows it.
    let size: Int, payload: Int

    /// Parses a head at `start`; nil if it is not complete yet.
    init?(_ bytes: [UInt8], at start: Int) throws(SyncError) {
      guard bytes.count - start >= 2 else { return nil }
      let first = bytes[start], second = bytes[start + 1]
      guard first & 0x70 == 0, let kind = Kind(rawValue: first & 15) else {
        throw ServerMessage.broken("an invalid WebSocket frame")
      }
      if second & 0x80 != 0 { throw ServerMessage.broken("a masked frame, which only clients send") }
      var payload = Int(second & 0x7f), size = 2
      if payload >= 126 {
        size = payload == 126 ? 4 : 10
        guard bytes.count - start >= size else { return nil }
        var value: UInt64 = 0
        for index in 2..<size { value = value << 8 | UInt64(bytes[start + index]) }
        if value > UInt64(Frame.maximumSize) {
          throw ServerMessage.broken("a message of \(value) bytes, beyond the limit")
        }
        payload = Int(value)
      }
      if kind.rawValue >= 8, payload > 125 || first & 0x80 == 0 {
        throw ServerMessage.broken("a fragmented control frame")
      }
      (self.kind, isLast, self.size, self.payload) = (kind, first & 0x80 != 0, size, payload)
    }
  }
}
