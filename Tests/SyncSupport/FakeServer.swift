// A sync server for tests, on the loopback interface: it keeps one history, assigns identities, accepts changesets in
// the order of arrival, and fails as requested. It merges nothing: a changeset must fit the current state. Source:
// docs/format/7-sync.md 7.1 to 7.5.

import Glibc
import Synchronization

import RealmSync

/// A server with one realm.
package final class FakeServer: Sendable {
  /// A fault that occurs once.
  package enum Fault: Sendable, Equatable {
    /// The connection ends after this many bytes of DOWNLOAD messages.
    case cut(afterBytes: Int)
    /// The connection ends when an upload arrives, before or after it is accepted.
    case dropUpload(isTaken: Bool)
    /// An answer to IDENT.
    case error(code: Int, session: Bool)
    /// An answer to UPLOAD.
    case refuseUpload(code: Int)
    /// DOWNLOADs that are sent twice.
    case duplicate
    /// A malformed message.
    case garbage([UInt8])
    /// Changesets of another client that arrive before an upload.
    case overtake([[UInt8]])
    /// No answer to UPLOAD.
    case silence
    /// An HTTP answer instead of a WebSocket.
    case http(String)
  }

  /// A fault that occurs each time.
  package enum Habit: String, Sendable {
    case none
    /// No client is known: each IDENT is answered with error 208.
    case forgets
    /// A DOWNLOAD with a smaller version follows each first one.
    case goesBack = "goes-back"
    /// Endless pings, or frames of a message without bytes, instead of an answer.
    case pings, empties
    /// Endless DOWNLOADs without new changesets, and no MARK.
    case nothingNew = "nothing-new"
  }

  private struct State {
    var history: [(file: Int64, changeset: [UInt8])] = []
    var files: Int64 = 1
    /// By file: the last number of an accepted upload.
    var taken: [Int64: Int64] = [:]
    var faults: [Fault] = []
    var connections = 0
    var uploads = 0
    var compresses = false
    var messageSize = Int.max
    var sockets: [Int32] = []
    var version = 14
    var request = ""
    var replayed = ""
    /// Incremented when the server is wiped.
    var salt: Int64 = 4711
    var habit = Habit.none
  }

  private let state = Mutex(State())
  private let listener: Int32
  package let port: UInt16

  /// The messages of each connection, instead of the server's own.
  let exchange: RecordedExchange?

  package init(replaying exchange: RecordedExchange? = nil) throws {
    self.exchange = exchange
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in(), size = socklen_t(MemoryLayout<sockaddr_in>.size)
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var bound: Int32 = 0, name: Int32 = 0
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bound = bind(listener, address, size)
        name = getsockname(listener, address, &size)
      }
    }
    guard bound == 0, name == 0, listen(listener, 16) == 0 else { throw SyncError(.file(errno), "no port") }
    port = UInt16(bigEndian: address.sin_port)
    self.listener = listener
    let descriptor = listener
    start { [self] in
      while true {
        let socket = accept(descriptor, nil, nil)
        if socket < 0 {
          // Only `stop` ends it; a shortage of resources on the machine is temporary.
          if errno == EINVAL || errno == EBADF { break }
          usleep(1000)
          continue
        }
        state.withLock { state in
          state.sockets.append(socket)
          state.connections += 1
        }
        start { [self] in
          // The end of a connection is not reported.
          try? FakeConnection(self, socket).run()
          state.withLock { state in
            state.sockets.removeAll { $0 == socket }
            close(socket)
          }
        }
      }
      // Here, so that no other file gets the descriptor while this thread waits.
      close(descriptor)
    }
  }

  private func start(_ body: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    final class Box {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    pthread_create(
      &thread,
      nil,
      { argument in
        if let argument { Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body() }
        return nil
      },
      Unmanaged.passRetained(Box(body)).toOpaque()
    )
    pthread_detach(thread)
  }

  /// Ends all connections, and accepts no more.
  package func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    dropAll()
  }

  /// Ends all connections.
  package func dropAll() { state.withLock { for socket in $0.sockets { shutdown(socket, Int32(SHUT_RDWR)) } } }

  package var url: String { "realm://127.0.0.1:\(port)/test" }
  package var connections: Int { state.withLock { $0.connections } }
  package var uploads: Int { state.withLock { $0.uploads } }
  /// The first line of the last request.
  package var request: String { state.withLock { $0.request } }
  package var history: [[UInt8]] { state.withLock { $0.history.map(\.changeset) } }

  /// Adds changesets of another client.
  package func add(_ changesets: [[UInt8]]) {
    state.withLock { $0.history += changesets.map { (1, $0) } }
  }

  package func set(compresses: Bool = false, messageSize: Int = .max, version: Int = 14) {
    state.withLock { ($0.compresses, $0.messageSize, $0.version) = (compresses, messageSize, version) }
  }

  package func set(habit: Habit) { state.withLock { $0.habit = habit } }
  var habit: Habit { state.withLock { $0.habit } }

  package func inject(_ faults: Fault...) { state.withLock { $0.faults += faults } }

  /// Forgets everything, like a server whose disk was lost.
  package func wipe() {
    state.withLock { state in
      (state.history, state.files, state.taken) = ([], state.files + 100, [:])
      state.salt += 1
    }
    dropAll()
  }

  // MARK: for connections

  /// Returns the first pending fault, and removes it.
  func take(_ isWanted: (Fault) -> Bool) -> Fault? {
    state.withLock { state in
      guard let index = state.faults.firstIndex(where: isWanted) else { return nil }
      return state.faults.remove(at: index)
    }
  }

  func newFile() -> (file: Int64, salt: Int64) {
    state.withLock { state in
      state.files += 1
      return (state.files, state.salt)
    }
  }

  func knows(salt: Int64) -> Bool { state.withLock { $0.salt == salt } }

  func upload(_ version: Int64, of file: Int64, _ changeset: [UInt8]) {
    state.withLock { state in
      if version <= state.taken[file] ?? 0 { return }
      state.taken[file] = version
      state.history.append((file, changeset))
      state.uploads += 1
    }
  }

  /// The result of the recorded exchange: `done`, or the client's unexpected message.
  package var replayed: String { state.withLock { $0.replayed } }
  func noteReplay(_ outcome: String) { state.withLock { $0.replayed = outcome } }

  func note(request: String) { state.withLock { $0.request = request } }

  var protocolVersion: Int { state.withLock { $0.version } }

  /// A DOWNLOAD from `version` on, for a file; nil if there is nothing new.
  func download(_ session: Int64, from version: Int64, for file: Int64) -> (message: [UInt8], version: Int64) {
    state.withLock { state in
      var body: [UInt8] = [], at = version
      let newest = Int64(state.history.count)
      while at < newest {
        let entry = state.history[Int(at)]
        at += 1
        if entry.file == file { continue }
        let size = entry.changeset.count
        body += Array("\(at) 0 \(1000 + at) \(entry.file) \(size) \(size) ".utf8) + entry.changeset
        if body.count >= state.messageSize { break }
      }
      let left = state.history[Int(at)...].reduce(0) { $0 + $1.changeset.count }
      let packed = state.compresses ? Compression.compress(body) : nil
      let sizes = "\(packed == nil ? 0 : 1) \(body.count) \(packed?.count ?? 0)"
      let uploaded = state.taken[file] ?? 0
      let head = "download \(session) \(at) 0 \(newest) \(state.salt) \(uploaded) 0 \(left) \(sizes)\n"
      return (Array(head.utf8) + (packed ?? body), at)
    }
  }

  var newest: Int64 { state.withLock { Int64($0.history.count) } }
}
