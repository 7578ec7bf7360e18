// The interface of sources that hold tables: databases and workbooks. Each table is converted to text, which the import
// reads like a file.

import RealmJSON

/// A source of tables, which are converted to text to be imported.
protocol TableSource {
  /// The form of the converted text.
  var isCSV: Bool { get }
  /// Finds the classes of the tables in the schema of a realm. Only tables of `className` are imported, if it is given.
  func use(_ schema: SchemaDescription, className: String?) throws
  /// The tables to import.
  var tables: [(name: String, className: String?)] { get }
  /// Returns the text of a table, for reading once or more.
  func text(_ index: Int) throws -> InputFile
  /// The classes that the realm lacks.
  var newClasses: [ClassDescription] { get }
  /// A line for each table: its class and the properties of its columns.
  var mapping: [String] { get }
  /// Messages about the source.
  var notes: [String] { get }
}
