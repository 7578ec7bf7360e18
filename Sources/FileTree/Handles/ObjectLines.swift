// The objects of a class or a selection as JSON Lines or CSV.

import RealmJSON
import RealmPages
import RealmTransfer

/// Lines of objects.
final class ObjectLines: LineSource {
  /// The format of the lines.
  enum Form: Hashable, Sendable {
    /// JSON Lines, one object each.
    case jsonl
    /// A header with the names of the properties, then one record for each object.
    case csv
  }

  let snapshots: [Snapshot]
  private let hold: VersionHold
  private let cursor: ObjectCursor
  private let renderer: ObjectRenderer
  /// Renders CSV; nil for JSON Lines.
  private let records: CSVRenderer?
  /// The objects to show; nil for all.
  private let keys: [ObjKey]?
  /// The number of `keys` that were rendered, or without `keys` the last key that was rendered; `beforeHeader` before
  /// the CSV header.
  private var last: Int64

  var place: LinePlace { .object(last) }

  private static let beforeHeader = Int64.min

  /// Creates the lines of the objects `keys`, or of all objects, in a held version.
  init(
    _ hold: VersionHold,
    _ table: Table,
    _ keys: [ObjKey]?,
    _ form: Form,
    _ style: JSONStyle
  ) throws(FileTreeError) {
    self.hold = hold
    self.keys = keys
    snapshots = [hold.snapshot]
    cursor = ObjectCursor(table)
    renderer = ObjectRenderer(hold.snapshot, style: style)
    switch form {
    case .jsonl: records = nil
    case .csv:
      do { try CSVRenderer.check([table]) } catch {
        throw .refused(.invalid, "\(table.className ?? table.name)/.all.csv: \(error)")
      }
      records = CSVRenderer(table)
    }
    last = form == .csv ? Self.beforeHeader : keys == nil ? ObjKey.none.value : 0
  }

  /// The size of the header in bytes.
  var headerSize: Int {
    guard let records else { return 0 }
    let out = OutputBuffer()
    records.appendHeader(to: out)
    return out.count
  }

  /// Returns the sizes of the lines of all objects of the class after `key`, up to and including `end`, in groups of
  /// `count` objects; nil if one of them is damaged. The last group ends with `end`.
  func groups(behind key: Int64, upTo end: Int64, of count: Int) -> [LineSizes.Group]? {
    let out = OutputBuffer()
    var groups: [LineSizes.Group] = [], bytes = 0, objects = 0
    last = key
    while true {
      out.reset()
      switch next(into: out) {
      case .damage: return nil
      case .line where last <= end:
        bytes += out.count
        objects += 1
        if objects == count, last < end {
          groups.append(LineSizes.Group(last: last, objects: objects, bytes: bytes))
          (bytes, objects) = (0, 0)
          hold.snapshot.limitResidentPages()
        }
      case .line, .end:
        groups.append(LineSizes.Group(last: end, objects: objects, bytes: bytes))
        return groups
      }
    }
  }

  func go(to place: LinePlace) { if case .object(let last) = place { self.last = last } }

  func next(into out: OutputBuffer) -> LineStep {
    if let records, last == Self.beforeHeader {
      records.appendHeader(to: out)
      last = keys == nil ? ObjKey.none.value : 0
      return .line
    }
    while true {
      do {
        if let keys {
          guard last < keys.count else { return .end }
          last += 1
          guard try cursor.seek(keys[Int(last) - 1]) else { continue }
        } else {
          // When reading sequentially, the cursor is already at the last object.
          let exists =
            cursor.key.value == last && last >= 0 ? try cursor.next() : try cursor.seek(after: ObjKey(last))
          guard exists else { return .end }
          last = cursor.key.value
        }
      } catch { return .damage(error.description) }
      do {
        if let records {
          try records.append(cursor, renderer, to: out)
        } else {
          try renderer.render(cursor, layout: .compact, into: out)
        }
      } catch { return .damage(error.description) }
      return .line
    }
  }
}
