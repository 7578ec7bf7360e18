// The interface of the export formats, which receive the objects that the exporter reads. Objects are passed in
// batches. Invariant: no part of a batch is final until `keepBatch()` confirms that all of it was read from one
// version.

import RealmJSON
import RealmPages

/// A format of export.
protocol ExportSink: AnyObject {
  /// True if embedded classes are exported as classes.
  var wantsEmbeddedClasses: Bool { get }
  /// True if the target can contain only one class.
  var hasOneClass: Bool { get }

  /// Begins the export of these classes.
  func begin(_ tables: [Table], of snapshot: Snapshot) throws

  /// Begins a class: the objects that follow belong to it.
  func beginClass(_ table: Table, of snapshot: Snapshot) throws

  /// Adds the object at `cursor`. An error `.damaged` concerns only this object, no part of which is kept.
  func add(_ cursor: ObjectCursor, _ renderer: ObjectRenderer) throws

  /// True if the batch should end.
  var isBatchFull: Bool { get }

  /// Makes the batch final.
  func keepBatch() throws

  /// Discards the batch. Its objects are added again, possibly changed.
  func dropBatch() throws

  /// The result of comparing the output with the added objects; nil if there was no comparison.
  var verification: ExportVerification? { get }

  /// Throws if there are too many objects, for an export of all objects of these classes.
  func check(counts tables: [Table]) throws

  /// Messages about values that the format could not represent exactly.
  var remarks: [String] { get }

  /// The number of values that the format could not represent at all.
  var leftOut: Int { get }

  /// Completes the output.
  func finish() throws
}

extension ExportSink {
  var wantsEmbeddedClasses: Bool { false }
  var hasOneClass: Bool { false }
  var verification: ExportVerification? { nil }
  var remarks: [String] { [] }
  var leftOut: Int { 0 }
  func check(counts tables: [Table]) throws {}
  func begin(_ tables: [Table], of snapshot: Snapshot) throws {}
  func finish() throws {}
}

extension Error {
  /// The message if the error is damage of one object, which does not concern other objects; otherwise nil.
  var damage: String? {
    switch self {
    case let error as RenderError: error.description
    case let error as EngineError where error.reason == .damaged: error.description
    case let error as TransferError: if case .damaged(let text) = error { text } else { nil }
    default: nil
    }
  }
}
