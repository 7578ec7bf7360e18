// Chooses the single type of a spreadsheet column from all its values. Whole numbers are written as text if one of them
// does not fit in a double. Dates are written as text if a spreadsheet cannot show one of them, or if all of them are
// more precise than milliseconds; otherwise more precise dates are rounded.

import Glibc
import RealmJSON
import RealmPages

/// A column of a sheet.
struct SheetColumn {
  /// The format of the dates in the column.
  private(set) var dateForm = SpreadsheetDateForm.days
  /// The reason that whole numbers or dates are written as text, for the user; nil if they are not.
  private(set) var remark: String?
  /// True if whole numbers or dates are written as text.
  var isText: Bool { remark != nil }

  // MARK: all values

  /// The requirements of a property's values.
  private struct Survey {
    var dates = 0, fineDates = 0, strangeDates = 0, largeNumbers = 0
    var form = SpreadsheetDateForm.days

    mutating func add(_ value: ValueView) {
      switch value {
      case .int(let value): if !SheetColumn.isExact(value) { largeNumbers += 1 }
      case .date(let date):
        dates += 1
        if SheetColumn.days(date) == nil { strangeDates += 1 }
        if date.nanoseconds % 1_000_000 != 0 { fineDates += 1 }
        if date.nanoseconds != 0 {
          form = .milliseconds
        } else if form == .days, date.seconds % 86_400 != 0 {
          form = .seconds
        }
      default: break
      }
    }
  }

  /// Returns the columns for the properties of a class in one version. Skips values that cannot be read; the export
  /// reports them.
  ///
  /// Cost: reading the dates, whole numbers and links of all objects.
  static func columns(of table: Table, in snapshot: Snapshot) -> [SheetColumn] {
    var surveys = table.columns.map { _ in Survey() }
    let wanted = table.columns.indices.filter {
      table.columns[$0].isPlain && [.int, .date, .link].contains(table.columns[$0].type)
    }
    if !wanted.isEmpty {
      let effort = Effort(snapshot), renderer = ObjectRenderer(snapshot, sweep: effort)
      let reader = RescuingCursor(table, after: .none, effort)
      var damage: [String] = []
      while reader.next(&damage) {
        for index in wanted {
          do {
            surveys[index].add(try renderer.shown(try renderer.read(index, of: reader.cursor)))
          } catch {
            // The export reports unreadable values.
            continue
          }
        }
      }
    }
    return zip(table.columns, surveys).map { SheetColumn($0.name, $1) }
  }

  private init(_ name: String, _ survey: Survey) {
    dateForm = survey.form
    if survey.largeNumbers > 0 {
      remark = "\(name) is text: a spreadsheet would round numbers beyond 2^53"
    } else if survey.strangeDates > 0 {
      remark = "\(name) is text: a spreadsheet has no dates before 1900-03-01 or after 9999"
    } else if survey.dates > 0, survey.fineDates == survey.dates {
      remark = "\(name) is text: its dates are finer than milliseconds"
    }
  }

  // MARK: values

  /// True if a double with the digits that the file stores equals this number.
  static func isExact(_ value: Int64) -> Bool { value.magnitude <= 1 << 53 }

  /// Returns the number that a double becomes in the file; nil if it is NaN, infinite or too large.
  static func written(_ value: Double) -> Double? {
    guard value.isFinite else { return nil }
    var text = [CChar](repeating: 0, count: 40)
    _ = unsafe withVaList([value]) { unsafe vsnprintf(&text, text.count, "%.16G", $0) }
    let number = unsafe strtod(text, nil)
    return number.isFinite ? number : nil
  }

  /// Returns a date as days since 1899-12-30, rounded to milliseconds; nil if spreadsheets cannot represent it.
  static func days(_ time: Timestamp) -> (days: Double, isRounded: Bool)? {
    // From 1900-03-01, because spreadsheets disagree on earlier days, to the end of 9999.
    guard (-2_203_891_200..<253_402_300_800).contains(time.seconds) else { return nil }
    let rest = Int64(time.nanoseconds), milliseconds = time.seconds * 1000 + rest / 1_000_000
    // Nanoseconds have the sign of the seconds.
    let up: Int64 = rest % 1_000_000 >= 500_000 ? 1 : rest % 1_000_000 <= -500_000 ? -1 : 0
    let rounded = min(max(milliseconds + up, -2_203_891_200_000), 253_402_300_799_999)
    return (Double(rounded) / 86_400_000 + 25_569, rest % 1_000_000 != 0)
  }
}
