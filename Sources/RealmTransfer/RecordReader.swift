// Records and what they hold, read on a thread of their own while earlier ones are being imported: columns of most,
// texts of the others.

import RealmJSON
import RealmPages
import Threads

/// Reads the records of a source ahead. Used by one thread; `stop` ends it.
final class RecordReader: @unchecked Sendable {
  // Unchecked: while `thread` runs, the source is its own, and what both see is behind the monitor.

  /// A record, and where the next one begins.
  private typealias Item = (record: Record, next: Record.Position)

  /// Records in a row whose objects a batch of rows holds.
  private struct Run {
    var start: Int
    var rows: RowBatch
  }

  /// What one look at the source gives.
  private struct Batch {
    var items: [Item] = []
    private(set) var runs: [Run] = []
    private var isOpen = false

    /// Adds a record as a row, if its source knows how.
    mutating func appendRow(_ item: Item, _ source: inout RowSource?) -> Bool {
      guard let form = source?.form else { return false }
      if !isOpen || runs.last?.rows.form !== form {
        runs.append(Run(start: items.count, rows: RowBatch(form, capacity: recordsInBatch - items.count)))
        isOpen = true
      }
      let last = runs.count - 1
      if runs[last].rows.count == 0 { runs[last].start = items.count }
      guard source?.append(item.record, to: &runs[last].rows) == true else {
        isOpen = runs[last].rows.count == 0
        return false
      }
      items.append(item)
      return true
    }
  }

  /// How the records of one file are read.
  private struct Forms {
    var csv: CSVForm?
    var rows: RowSource?
  }

  private let source: ImportSource
  private let monitor = Monitor()

  // MARK: behind the monitor

  private var waiting: [Batch] = []
  /// Records that the caller is done with. The thread that made them gives their memory back: otherwise both wait for
  /// each other there.
  private var done: [Batch] = []
  private var isAtEnd = false
  private var failure: TransferError?
  private var isStopping = false
  /// By file.
  private var forms: [Int: Forms] = [:]
  private var readsRows = true

  // MARK: the caller's

  private var thread: Thread?
  private var batch = Batch()
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
    monitor.locked { forms[record.position.file, default: Forms()].csv = form }
  }

  /// Tells how records of the file that `record` is of become rows, so that its other records are made rows ahead.
  func use(_ rows: RowSource, for record: Record) {
    monitor.locked { forms[record.position.file, default: Forms()].rows = rows }
  }

  /// Tells whether rows are of use. Where objects exist, texts are.
  func useRows(_ isWanted: Bool) {
    monitor.locked { readsRows = isWanted }
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
    (batch, next) = (Batch(), 0)
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
    if next == batch.items.count, try !takeBatch() { return nil }
    defer { next += 1 }
    place = batch.items[next].next
    return batch.items[next].record
  }

  /// The batch that has the next records as rows, and which of them; nil if the next record has to be taken by itself.
  func nextRows() throws(TransferError) -> (RowBatch, Range<Int>)? {
    if thread == nil { return nil }
    if next == batch.items.count, try !takeBatch() { return nil }
    for run in batch.runs where run.start <= next && next < run.start + run.rows.count {
      return (run.rows, next - run.start..<run.rows.count)
    }
    return nil
  }

  /// Passes over rows that were taken, at least one.
  func skip(_ count: Int) {
    next += count
    place = batch.items[next - 1].next
  }

  /// Waits for the thread; false if there is nothing more.
  private func takeBatch() throws(TransferError) -> Bool {
    let (taken, failure) = monitor.locked { () -> (Batch?, TransferError?) in
      if !batch.items.isEmpty { done.append(batch) }
      batch = Batch()
      next = 0
      while waiting.isEmpty {
        if isAtEnd { return (nil, self.failure) }
        monitor.wait()
      }
      defer { monitor.wakeAll() }
      return (waiting.removeFirst(), nil)
    }
    if let failure { throw failure }
    guard let taken else { return false }
    batch = taken
    return true
  }

  // MARK: the thread's

  private func readAhead() {
    while true {
      let (forms, readsRows, old) = monitor.locked {
        defer { done = [] }
        return (self.forms, self.readsRows, done)
      }
      _ = consume old
      var batch = Batch(), bytes = 0, isLast = false, failure: TransferError?
      var rows: RowSource?, file = -1
      do throws(TransferError) {
        while !isLast, batch.items.count < Self.recordsInBatch, bytes < Self.bytesInBatch {
          guard let record = try source.next() else {
            isLast = true
            break
          }
          bytes += record.bytes.count
          if record.position.file != file {
            file = record.position.file
            rows = readsRows ? forms[file]?.rows : nil
          }
          if !batch.appendRow((record, source.place), &rows) {
            batch.items.append((withText(record, forms), source.place))
          }
        }
      } catch { (isLast, failure) = (true, error) }
      let goesOn = monitor.locked {
        while waiting.count >= Self.maximumWaiting, !isStopping { monitor.wait() }
        if !batch.items.isEmpty { waiting.append(batch) }
        (isAtEnd, self.failure) = (isLast, failure)
        monitor.wakeAll()
        return !isLast && !isStopping
      }
      if !goesOn { return }
    }
  }

  /// The record with its text, if it has one.
  private func withText(_ record: Record, _ forms: [Int: Forms]) -> Record {
    var record = record
    if record.header != nil {
      guard let form = forms[record.position.file]?.csv else { return record }
      record.text = try? record.text(form)  // who takes a record without a text says what is wrong with it
    } else {
      record.text = try? record.json()  // likewise
      if record.fileName == nil, let name = record.text?.string(ofMember: Member.class) {
        (record.className, record.namesClass) = (name, true)
      }
    }
    return record
  }
}
