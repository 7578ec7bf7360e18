// `/api/changes`: sends the changes of each commit by any program as events. One thread serves all streams.

import RealmJSON
import RealmPages
import Threads

/// Watches for commits while there are streams, and sends their changes to all streams.
final class ChangeBroadcaster: @unchecked Sendable {
  // Unchecked: the variables are accessed only under the monitor's lock, `hold` and `file` only on the thread.
  private let monitor = Monitor()
  private var streams: [WeakStream] = []
  private var thread: Thread?
  private var isEnding = false
  private let realm: Realm
  /// The version up to which changes have been sent, held so that the next version can be compared with it.
  private var hold: VersionHold?
  private var file = 0

  private struct WeakStream {
    weak var stream: EventStream?
  }

  /// The interval at which the thread checks for commits.
  private static let interval = Duration.milliseconds(20)
  /// The number of intervals between checks for closed connections, and between the comments sent to each stream, which
  /// show a proxy that the stream is in use.
  private static let checkInterval = 50, commentInterval = 750
  private static let maxStreams = 16
  private static let maxChanges = 500

  init(_ realm: Realm) { self.realm = realm }

  /// Creates a stream. Its first event is the version after which the stream reports all changes.
  func subscribe(_ socket: Int32) throws -> EventStream {
    let stream = EventStream(socket: socket)
    let isServed = monitor.locked {
      streams.removeAll { $0.stream?.isClosed ?? true }
      if isEnding || streams.count >= Self.maxStreams { return false }
      if !thread.start({ [self] in run() }) { return false }
      streams.append(WeakStream(stream: stream))
      monitor.wakeAll()
      return true
    }
    if !isServed { throw WebError(503, "too many pages are open") }
    return stream
  }

  /// Ends the thread and all streams.
  func stop() {
    monitor.locked {
      isEnding = true
      monitor.wakeAll()
      return thread.take()
    }?.join()
    for stream in current() { stream.end() }
  }

  /// True if there are open streams.
  var hasStreams: Bool { !current().isEmpty }

  /// The open streams.
  private func current() -> [EventStream] {
    monitor.locked {
      streams.removeAll { $0.stream?.isClosed ?? true }
      return streams.compactMap(\.stream)
    }
  }

  private func run() {
    var round = 0
    while true {
      let isEnding = monitor.locked {
        // Without streams, the thread does not check for commits and no version is held.
        while !self.isEnding, streams.isEmpty {
          hold = nil
          monitor.wait()
        }
        if !self.isEnding { monitor.wait(until: .now.advanced(by: Self.interval)) }
        return self.isEnding
      }
      if isEnding { break }
      round += 1
      if round % Self.checkInterval == 0 { for stream in current() { stream.checkClient() } }
      let open = current()
      if hold == nil { _ = next() }
      guard let hold else { continue }
      for stream in open { stream.sendFirst(Self.event("version", hold.snapshot.version, "}")) }
      if let event = next() { for stream in open { stream.send(event, instead: gap()) } }
      if round % Self.commentInterval == 0 { for stream in open { stream.keepAlive() } }
    }
    hold = nil
  }

  /// Returns the event for the changes since the last call; nil if there are none.
  private func next() -> [UInt8]? {
    do {
      guard let from = hold else {
        hold = try realm.hold()
        file = realm.location.generation
        return nil
      }
      if try realm.latest() === from.snapshot { return nil }
      let to = try realm.hold()
      hold = to
      let isOtherFile = realm.location.generation != file
      file = realm.location.generation
      if !isOtherFile, to.snapshot.version == from.snapshot.version { return nil }
      if isOtherFile || to.snapshot.version < from.snapshot.version { return gap() }
      // Damage, which checks of the file report, only prevents finding out which objects have changed.
      guard let changes = try? Self.changes(from.snapshot, to.snapshot), realm.isCurrent(from.snapshot),
        realm.isCurrent(to.snapshot)
      else { return gap() }
      return Self.event("commit", to.snapshot.version, changes)
    } catch {
      // The file is being replaced or was removed: requests report this.
      return nil
    }
  }

  /// The event for unknown changes.
  private func gap() -> [UInt8] {
    Self.event("commit", hold?.snapshot.version ?? 0, ",\"changes\":[],\"more\":true}")
  }

  private static func event(_ name: String, _ version: UInt64, _ rest: String) -> [UInt8] {
    Array("event: \(name)\ndata: {\"version\":\(version)\(rest)\n\n".utf8)
  }

  private static func changes(_ old: Snapshot, _ new: Snapshot) throws(EngineError) -> String {
    let difference = try VersionDifference(from: old, to: new), out = OutputBuffer()
    var count = 0, hasMore = false
    out.append(",\"changes\":[")
    tables: for table in difference.tables {
      guard let name = (table.new ?? table.old)?.className else { continue }
      let changes = difference.changes(in: table)
      while let change = try changes.next() {
        if count == maxChanges {
          hasMore = true
          break tables
        }
        if count > 0 { out.append(",") }
        count += 1
        out.append("{\"class\":")
        out.append(quoted: name)
        out.append(",\"key\":\"")
        out.append(decimal: change.key.value)
        out.append("\",\"change\":\"")
        switch change {
        case .inserted: out.append("create")
        case .updated: out.append("update")
        case .deleted: out.append("delete")
        }
        out.append("\"}")
      }
    }
    out.append("],\"more\":")
    out.append(hasMore ? "true" : "false")
    out.append("}")
    return out.string
  }
}
