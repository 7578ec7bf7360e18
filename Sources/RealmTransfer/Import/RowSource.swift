// Selects the parser that turns the records of a file into rows.

import RealmJSON
import RealmPages

/// Parses records of one form into batches.
enum RowSource {
  case json(RowReader)
  case csv(CSVRowReader)

  /// The form of the batches.
  var form: RowForm {
    switch self {
    case .json(let reader): reader.form
    case .csv(let reader): reader.form
    }
  }

  /// Creates a source for records like `record`, of the class of `form`; nil if they must be imported individually. The
  /// record must not come from a tree of files or contain its class.
  init?(_ record: Record, _ form: RowForm) {
    if let header = record.header {
      guard let reader = CSVRowReader(header, form) else { return nil }
      self = .csv(reader)
    } else {
      self = .json(RowReader(form))
    }
  }

  /// Adds the object of a record. Returns false and adds nothing if the record must be imported individually.
  mutating func append(_ record: Record, to batch: inout RowBatch) -> Bool {
    switch self {
    case .json(var reader):
      defer { self = .json(reader) }
      return reader.append(record.bytes, to: &batch)
    case .csv(let reader): return reader.append(record.bytes, to: &batch)
    }
  }
}
