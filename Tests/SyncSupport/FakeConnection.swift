// One connection of the fake server: reads frames, answers messages, and pushes new changesets.

import Glibc

import RealmSync

/// A connection, served by one thread.
final class FakeConnection {
  let server: FakeServer
  private let socket: Int32
  private var buffer: [UInt8] = []
  private var sessions: [Int64: Session] = [:]
  private var budget: Int?

  private struct Session {
    var file: Int64 = 0
    var sent: Int64 = -1
    var uploads: Int64 = 0
    var hasError = false
  }

  private struct Ended: Error {}

  init(_ server: FakeServer, _ socket: Int32) { (self.server, self.socket) = (server, socket) }

  func run() throws {
    try upgrade()
    if let exchange = server.exchange { return try replay(exchange) }
    switch server.habit {
    case .pings: while true { try write([0x89, 0]) }
    case .empties:
      try write([0x02, 0])
      while true { try write([0x00, 0]) }
    case .none, .forgets, .goesBack, .nothingNew: break
    }
    while true {
      var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      if poll(&entry, 1, 5) > 0 { try read() }
      while let message = try nextMessage() { try answer(message) }
      for (number, session) in sessions where session.sent >= 0 && !session.hasError && session.sent < server.newest {
        try push(number)
      }
    }
  }

  // MARK: bytes

  func read() throws {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(socket, &bytes, bytes.count, 0)
    if count <= 0 { throw Ended() }
    buffer += bytes[..<count]
  }

  private func write(_ bytes: [UInt8]) throws {
    var done = 0
    while done < bytes.count {
      let count = bytes[done...].withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if count <= 0 { throw Ended() }
      done += count
    }
  }

  private func upgrade() throws {
    while !buffer.suffix(4).elementsEqual("\r\n\r\n".utf8) { try read() }
    if case .http(let text) = server.take({ if case .http = $0 { true } else { false } }) {
      try write(Array(text.utf8))
      throw Ended()
    }
    let head = String(decoding: buffer, as: UTF8.self)
    server.note(request: head.split(separator: "\r\n").first.map(String.init) ?? "")
    let key = head.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") }?.dropFirst(19) ?? ""
    buffer = []
    let version = server.protocolVersion, mark = version < 8 ? "/" : "#"
    try write(
      Array(
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
          + "\(Upgrade.accept(String(key)))\r\nSec-WebSocket-Protocol: com.mongodb.realm-sync\(mark)\(version)\r\n\r\n")
          .utf8
      )
    )
  }

  func nextMessage() throws -> [UInt8]? {
    guard buffer.count >= 2 else { return nil }
    var size = Int(buffer[1] & 0x7f), start = 2
    if size >= 126 {
      start = size == 126 ? 4 : 10
      guard buffer.count >= start else { return nil }
      size = buffer[2..<start].reduce(0) { $0 << 8 | Int($1) }
    }
    guard buffer.count >= start + 4 + size else { return nil }
    let key = Array(buffer[start..<start + 4]), payload = buffer[(start + 4)..<(start + 4 + size)]
    let message = payload.enumerated().map { $1 ^ key[$0 & 3] }
    buffer.removeFirst(start + 4 + size)
    return message
  }

  func send(_ message: [UInt8], partSize: Int = .max) throws {
    var frame: [UInt8] = [0x82]
    switch message.count {
    case ..<126: frame.append(UInt8(message.count))
    case ..<65536: frame += [126, UInt8(message.count >> 8), UInt8(message.count & 0xff)]
    default: frame += [127] + (0..<8).map { UInt8(truncatingIfNeeded: message.count >> (56 - 8 * $0)) }
    }
    let bytes = frame + message
    for start in stride(from: 0, to: bytes.count, by: partSize) {
      try write(Array(bytes[start..<min(bytes.count, partSize == .max ? bytes.count : start + partSize)]))
      if partSize < bytes.count { usleep(1000) }
    }
  }

  private func send(_ text: String) throws { try send(Array(text.utf8)) }

  // MARK: messages

  private func answer(_ message: [UInt8]) throws {
    let end = message.firstIndex(of: 10) ?? message.endIndex
    let words = String(decoding: message[..<end], as: UTF8.self).split(separator: " ").map(String.init)
    let body = Array(message[min(end + 1, message.count)...])
    func number(_ index: Int) -> Int64 { index < words.count ? Int64(words[index]) ?? -1 : -1 }
    let session = number(1)
    switch words.first {
    case "ping": try send("pong \(words[1])\n")
    case "bind":
      sessions[session] = Session()
      if number(4) == 1 {
        let (file, salt) = server.newFile()
        try send("ident \(session) \(file) \(salt)\n")
      }
    case "ident": try identify(session, number(2), salt: number(3), download: number(4))
    case "mark":
      while let sent = sessions[session]?.sent, sent >= 0, sent < server.newest { try push(session) }
      try send("mark \(session) \(number(2))\n")
    case "unbind":
      if sessions.removeValue(forKey: session)?.hasError == false { try send("unbound \(session)\n") }
    case "upload": try take(session, isPacked: number(2) == 1, size: Int(number(3)), body)
    default: throw Ended()
    }
  }

  private func identify(_ session: Int64, _ file: Int64, salt: Int64, download: Int64) throws {
    if case .error(let code, let isOfSession) = server.take({ if case .error = $0 { true } else { false } }) {
      try fail(code, isOfSession ? session : 0)
      if !isOfSession { throw Ended() }
      return
    }
    if case .garbage(let bytes) = server.take({ if case .garbage = $0 { true } else { false } }) { try send(bytes) }
    if server.habit == .forgets || !server.knows(salt: salt) { return try fail(208, session) }
    if case .cut(let bytes) = server.take({ if case .cut = $0 { true } else { false } }) { budget = bytes }
    sessions[session]?.file = file
    sessions[session]?.sent = download
    try push(session)
    while server.habit == .nothingNew {
      try push(session)
      var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      if poll(&entry, 1, 1) > 0 { try read() }
    }
    if server.habit == .goesBack { try send("download \(session) 0 0 0 4711 0 0 0 0 0 0\n") }
  }

  private func fail(_ code: Int, _ session: Int64) throws {
    sessions[session]?.hasError = true
    try send("error \(code) 4 \(code == 100 ? 1 : 0) \(session)\ntext")
  }

  private func push(_ session: Int64) throws {
    guard let known = sessions[session] else { return }
    let (message, version) = server.download(session, from: known.sent, for: known.file)
    if let budget, message.count > budget {
      // In the middle of a frame.
      try write(
        [0x82, 127] + (0..<8).map { UInt8(truncatingIfNeeded: message.count >> (56 - 8 * $0)) } + message[..<budget]
      )
      throw Ended()
    }
    budget = budget.map { $0 - message.count }
    try send(message)
    if server.take({ $0 == .duplicate }) != nil { try send(message) }
    sessions[session]?.sent = version
  }

  private func take(_ session: Int64, isPacked: Bool, size: Int, _ body: [UInt8]) throws {
    let body = isPacked ? Compression.expand(body[...], size: size) ?? [] : body
    let words = body.split(separator: 32, maxSplits: 5, omittingEmptySubsequences: false)
    guard words.count == 6, let version = Int64(String(decoding: words[0], as: UTF8.self)),
      let file = sessions[session]?.file
    else { throw Ended() }
    if case .refuseUpload(let code) = server.take({ if case .refuseUpload = $0 { true } else { false } }) {
      return try fail(code, session)
    }
    if case .overtake(let changesets) = server.take({ if case .overtake = $0 { true } else { false } }) {
      server.add(changesets)
    }
    let drop = server.take { if case .dropUpload = $0 { true } else { false } }
    if drop == .dropUpload(isTaken: false) { throw Ended() }
    if server.take({ $0 == .silence }) != nil { return }
    server.upload(version, of: file, Array(words[5]))
    if drop != nil { throw Ended() }
  }
}
