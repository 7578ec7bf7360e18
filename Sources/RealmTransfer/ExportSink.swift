// What a format of export does with the objects that the exporter reads. Objects come in batches: nothing of a batch
// may last until `keepBatch()` tells that it was read from one version.

import RealmJSON
import RealmPages

/// A format of export.
protocol ExportSink: AnyObject {
  /// Whether embedded classes are exported by themselves.
  var wantsEmbeddedClasses: Bool { get }
  /// Whether there is room for the objects of one class only.
  var hasOneClass: Bool { get }

  /// All classes that will come.
  func begin(_ tables: [Table], of snapshot: Snapshot) throws(TransferError)

  /// The objects that follow are of this class.
  func beginClass(_ table: Table, of snapshot: Snapshot) throws(TransferError)

  /// Takes the object that the cursor stands on. A `.damaged` error concerns this object alone, of which nothing stays.
  func add(_ cursor: ObjectCursor, _ renderer: ObjectRenderer) throws(TransferError)

  /// Whether it is time to end the batch.
  var isBatchFull: Bool { get }

  /// Makes the batch last.
  func keepBatch() throws(TransferError)

  /// Forgets the batch; its objects come again, perhaps changed.
  func dropBatch() throws(TransferError)

  /// What a comparison of the result with what was added found; nil where there is none.
  var verification: ExportVerification? { get }

  /// Throws if there are too many objects, where all of these classes are exported.
  func check(counts tables: [Table]) throws(TransferError)

  /// What the format could not keep as it is.
  var remarks: [String] { get }

  /// How many values did not fit the format at all.
  var leftOut: Int { get }

  /// No objects will come any more.
  func finish() throws(TransferError)
}

extension ExportSink {
  var wantsEmbeddedClasses: Bool { false }
  var hasOneClass: Bool { false }
  var verification: ExportVerification? { nil }
  var remarks: [String] { [] }
  var leftOut: Int { 0 }
  func check(counts tables: [Table]) throws(TransferError) {}
  func begin(_ tables: [Table], of snapshot: Snapshot) throws(TransferError) {}
  func finish() throws(TransferError) {}
}

extension ObjectRenderer {
  /// The call of `body`, whose failure concerns one object.
  func sparing<R>(_ body: () throws(RenderError) -> R) throws(TransferError) -> R {
    do throws(RenderError) { return try body() } catch { throw .damaged(error.description) }
  }
}
