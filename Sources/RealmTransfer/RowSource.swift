// How the records of a file become rows.

import RealmJSON
import RealmPages

/// Reads records of one form into batches.
enum RowSource {
  case json(RowReader)
  case csv(CSVRowReader)

  /// What it fills.
  var form: RowForm {
    switch self {
    case .json(let reader): reader.form
    case .csv(let reader): reader.form
    }
  }

  /// A source for records like this one, of the class of a form; nil if they have to be taken one by one. It is none of
  /// a tree of files, and does not tell its class.
  init?(_ record: Record, _ form: RowForm) {
    if let header = record.header {
      guard let reader = CSVRowReader(header, form) else { return nil }
      self = .csv(reader)
    } else {
      self = .json(RowReader(form))
    }
  }

  /// Adds the object of a record. False, and nothing is added, if it has to be taken by itself.
  mutating func append(_ record: Record, to batch: inout RowBatch) -> Bool {
    switch self {
    case .json(var reader):
      defer { self = .json(reader) }
      return reader.append(record.bytes, to: &batch)
    case .csv(let reader): return reader.append(record.bytes, to: &batch)
    }
  }
}
