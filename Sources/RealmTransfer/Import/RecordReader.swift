// Reads and parses records on a separate thread while earlier ones are imported: most into batches of rows, the others
// into texts.

import RealmJSON
import RealmPages
import Threads

/// Reads the records of a source ahead. Used by one thread, which must call `stop` at the end.
final class RecordReader: @unchecked Sendable {
  // Unchecked: while `thread` runs, only it uses the source; all state that both threads use is guarded by the monitor.

  /// A record, and the position of the next one.
  private typealias Item = (record: Record, next: Record.Position)

  /// Consecutive records whose objects are in a batch of rows.
  private struct Run {
    var start: Int
    var rows: RowBatch
  }

  /// The records read from the source at one time.
  private struct Batch {
    var items: [Item] = []
    private(set) var runs: [Run] = []
    private var isOpen = false

    /// Adds a record as a row; returns false if its source cannot parse it as one.
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

  /// The parsers for the records of one file.
  private struct Forms {
    var csv: CSVForm?
    var rows: RowSource?
  }

  private let source: ImportSource
  private let monitor = Monitor()

  // MARK: guarded by the monitor

  private var waiting: [Batch] = []
  /// Records that the caller has finished. The thread that allocated them also frees them, which avoids contention in
  /// the allocator.
  private var done: [Batch] = []
  private var isAtEnd = false
  private var failure: (any Error)?
  private var isStopping = false
  /// The parsers, by index of the file.
  private var forms: [Int: Forms] = [:]
  private var readsRows = true

  // MARK: owned by the caller

  private var thread: Thread?
  private var batch = Batch()
  private var next = 0
  /// Records read since the last seek: reading a few records needs no thread.
  private var inSequence = 0
  /// The position of the next record.
  private(set) var place: Record.Position

  private static let recordsInBatch = 256
  private static let bytesInBatch = 1 << 20
  private static let maximumWaiting = 4
  private static let recordsAlone = 64

  init(_ source: ImportSource) {
    self.source = source
    place = source.place
  }

  /// Sets the meaning of the fields in the file of `record`, so that its other records are converted to texts ahead of
  /// time.
  func use(_ form: CSVForm, for record: Record) {
    monitor.locked { forms[record.position.file, default: Forms()].csv = form }
  }

  /// Sets the row parser for the file of `record`, so that its other records are parsed into rows ahead of time.
  func use(_ rows: RowSource, for record: Record) {
    monitor.locked { forms[record.position.file, default: Forms()].rows = rows }
  }

  /// Enables or disables rows. For objects that already exist, texts are needed.
  func useRows(_ isWanted: Bool) {
    monitor.locked { readsRows = isWanted }
  }

  /// Sets the schema of the realm; see `ImportSource.use(_:)`. Only before the first record.
  func use(_ schema: SchemaDescription) throws { try source.use(schema) }

  /// The tables or sheets of the source; nil for texts.
  var tables: (any TableSource)? { source.tables }

  /// Messages about properties detected in the files. Not to be called while the thread reads ahead.
  var notes: [String] { source.notes }

  /// The headers of the CSV files. Not to be called while the thread reads ahead.
  var headers: [(path: String, className: String?, header: CSVHeader)] { source.headers }

  /// Continues with the record at `place`.
  func seek(to place: Record.Position) throws {
    if place == self.place { return }
    stop()
    try source.seek(to: place)
    self.place = place
    inSequence = 0
  }

  /// Stops the thread and discards the records read ahead. Call `seek` before reading further.
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

  /// Returns the next record; nil at the end.
  func nextRecord() throws -> Record? {
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

  /// Returns the batch that contains the next records as rows, and their range; nil if the next record must be imported
  /// individually.
  func nextRows() throws -> (RowBatch, Range<Int>)? {
    if thread == nil { return nil }
    if next == batch.items.count, try !takeBatch() { return nil }
    for run in batch.runs where run.start <= next && next < run.start + run.rows.count {
      return (run.rows, next - run.start..<run.rows.count)
    }
    return nil
  }

  /// Skips rows that were imported, at least one.
  func skip(_ count: Int) {
    next += count
    place = batch.items[next - 1].next
  }

  /// Waits for the next batch; returns false at the end.
  private func takeBatch() throws -> Bool {
    let (taken, failure) = monitor.locked { () -> (Batch?, (any Error)?) in
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

  // MARK: owned by the thread

  private func readAhead() {
    while true {
      let (forms, readsRows, old) = monitor.locked {
        defer { done = [] }
        return (self.forms, self.readsRows, done)
      }
      _ = consume old
      var batch = Batch(), bytes = 0, isLast = false, failure: (any Error)?
      var rows: RowSource?, file = -1
      do {
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

  /// Returns the record with its text, if it can be parsed.
  private func withText(_ record: Record, _ forms: [Int: Forms]) -> Record {
    var record = record
    if record.header != nil {
      guard let form = forms[record.position.file]?.csv else { return record }
      record.text = try? record.text(form)  // the caller parses a record without a text and reports its error
    } else {
      record.text = try? record.json()  // likewise
      if record.fileName == nil, let name = record.text?.string(ofMember: Member.class) {
        (record.className, record.namesClass) = (name, true)
      }
    }
    return record
  }
}
