// Records and their texts, read on a thread of their own while earlier ones are being imported.

import RealmJSON
import Threads

/// Reads the records of a source ahead. Used by one thread; `stop` ends it.
final class RecordReader: @unchecked Sendable {
  // Unchecked: while `thread` runs, the source is its own, and what both see is behind the monitor.

  /// A record, and where the next one begins.
  private typealias Item = (record: Record, next: Record.Position)

  private let source: ImportSource
  private let monitor = Monitor()

  // MARK: behind the monitor

  private var waiting: [[Item]] = []
  /// Records that the caller is done with. The thread that made them gives their memory back: otherwise both wait for
  /// each other there.
  private var done: [[Item]] = []
  private var isAtEnd = false
  private var failure: TransferError?
  private var isStopping = false
  /// What the fields of CSV mean, by file.
  private var forms: [Int: CSVForm] = [:]

  // MARK: the caller's

  private var thread: Thread?
  private var items: [Item] = []
  private var next = 0
  /// Records since the last seek: looking up single records needs no thread.
  private var inSequence = 0
  /// Where the next record begins.
  private(set) var place: Record.Position

  private static let recordsInBatch = 256
  private static let bytesInBatch = 1 << 20
  private static let maximumWaiting = 4
  private static let recordsAlone = 64

  init(_ source: ImportSource) {
    self.source = source
    place = source.place
  }

  /// Tells what the fields mean in the file that `record` is of, so that its other records are made texts of ahead.
  func use(_ form: CSVForm, for record: Record) {
    monitor.locked { forms[record.position.file] = form }
  }

  /// What was detected in the files. Not while records are read ahead.
  var notes: [String] { source.notes }

  /// The header of each file of CSV. Not while records are read ahead.
  var headers: [(path: String, className: String?, header: CSVHeader)] { source.headers }

  /// Goes on with the record at a place.
  func seek(to place: Record.Position) throws(TransferError) {
    if place == self.place { return }
    stop()
    try source.seek(to: place)
    self.place = place
    inSequence = 0
  }

  /// Ends the thread. The next record is another one then, unless `seek` follows.
  func stop() {
    guard let thread else { return }
    monitor.locked {
      isStopping = true
      monitor.wakeAll()
    }
    thread.join()
    self.thread = nil
    (waiting, done, isAtEnd, failure, isStopping) = ([], [], false, nil, false)
    (items, next) = ([], 0)
  }

  /// The next record; nil at the end.
  func nextRecord() throws(TransferError) -> Record? {
    if thread == nil {
      inSequence += 1
      if inSequence > Self.recordsAlone { thread = Thread { self.readAhead() } }
    }
    guard thread != nil else {
      guard let record = try source.next() else { return nil }
      place = source.place
      return withText(record, monitor.locked { forms })
    }
    if next == items.count, try !takeItems() { return nil }
    defer { next += 1 }
    place = items[next].next
    return items[next].record
  }

  /// Waits for the thread; false if there is nothing more.
  private func takeItems() throws(TransferError) -> Bool {
    let (taken, failure) = monitor.locked { () -> ([Item]?, TransferError?) in
      if !items.isEmpty { done.append(items) }
      items = []
      while waiting.isEmpty {
        if isAtEnd { return (nil, self.failure) }
        monitor.wait()
      }
      defer { monitor.wakeAll() }
      return (waiting.removeFirst(), nil)
    }
    if let failure { throw failure }
    guard let taken else { return false }
    items = taken
    next = 0
    return true
  }

  // MARK: the thread's

  private func readAhead() {
    while true {
      let (forms, old) = monitor.locked {
        defer { done = [] }
        return (self.forms, done)
      }
      _ = consume old
      var batch: [Item] = [], bytes = 0, isLast = false, failure: TransferError?
      do throws(TransferError) {
        while !isLast, batch.count < Self.recordsInBatch, bytes < Self.bytesInBatch {
          if let record = try source.next() {
            bytes += record.bytes.count
            batch.append((withText(record, forms), source.place))
          } else {
            isLast = true
          }
        }
      } catch { (isLast, failure) = (true, error) }
      let goesOn = monitor.locked {
        while waiting.count >= Self.maximumWaiting, !isStopping { monitor.wait() }
        if !batch.isEmpty { waiting.append(batch) }
        (isAtEnd, self.failure) = (isLast, failure)
        monitor.wakeAll()
        return !isLast && !isStopping
      }
      if !goesOn { return }
    }
  }

  /// The record with its text, if it has one.
  private func withText(_ record: Record, _ forms: [Int: CSVForm]) -> Record {
    var record = record
    if record.header != nil {
      guard let form = forms[record.position.file] else { return record }
      record.text = try? record.text(form)  // who takes a record without a text says what is wrong with it
    } else {
      record.text = try? record.json()  // likewise
      if record.fileName == nil, let name = record.text?.string(ofMember: Member.class) { record.className = name }
    }
    return record
  }
}
