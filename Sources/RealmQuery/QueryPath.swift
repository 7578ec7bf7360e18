// A path on its own, such as a column of a table, and aggregates of its values over many objects.

public import RealmPages

/// The values of a path for one object.
public enum PathValue {
  case one(ValueView)
  /// The values of a list, or at the ends of several links.
  case many([ValueView])
}

/// A path bound to a class of a snapshot. Not thread-safe: one thread at a time.
public final class QueryPath {
  /// The property of the class, if the path is just a property; otherwise nil.
  public let property: Int?
  /// The type of its values; nil for `@type`.
  public let type: ValueType?
  private let path: BoundPath?

  /// Resolves a path. A path that is just a property name may contain any characters.
  public init(_ text: String, of table: Table, in snapshot: Snapshot) throws(InputError) {
    if let index = table.columns.firstIndex(named: text, \.name) {
      (property, type, path) = (index, table.columns[index].type, nil)
      return
    }
    let path = try BoundPath(QueryParser.parsePath(text), from: table, variable: nil, in: snapshot)
    (property, type, self.path) = (nil, path.type, path)
  }

  /// Returns the values of the path for the current object of a cursor of the class.
  public func value(_ cursor: ObjectCursor) throws(QueryFailure) -> PathValue {
    try QueryFailure.of { () throws in try read(cursor) }
  }

  private func read(_ cursor: ObjectCursor) throws -> PathValue {
    guard let path else {
      guard let property else { return .many([]) }
      let value = try cursor.value(property)
      guard cursor.table.columns[property].collection != nil else { return .one(value) }
      var values: [ValueView] = []
      try value.forEachElement { values.append($0) }
      return .many(values)
    }
    switch try path.operand(cursor) {
    case .one(let value): return .one(value)
    case let several: return .many(several.values)
    }
  }
}

/// An aggregate of values over many objects.
public final class QueryAggregate {
  /// The aggregate function.
  public enum Kind: String, CaseIterable, Sendable {
    case sum, avg, min, max

    fileprivate var aggregate: Aggregate {
      switch self {
      case .sum: .sum
      case .avg: .average
      case .min: .min
      case .max: .max
      }
    }
  }

  private let path: QueryPath
  private var accumulator: Accumulator

  /// Creates an aggregate. Sums and averages require numbers; minimum and maximum require numbers or dates.
  public init(_ kind: Kind, of path: QueryPath) throws(InputError) {
    let type: ValueType
    switch (path.type, kind) {
    case (.int?, .sum): type = .int
    case (.float?, .sum), (.double?, .sum), (.int?, .avg), (.float?, .avg), (.double?, .avg): type = .double
    case (.decimal128?, .sum), (.mixed?, .sum), (.decimal128?, .avg), (.mixed?, .avg): type = .decimal128
    case (let known?, .min), (let known?, .max):
      switch known {
      case .int, .float, .double, .decimal128, .date, .mixed: type = known
      default: throw InputError(column: 1, problem: "\(kind.rawValue) needs a property of numbers or dates")
      }
    default: throw InputError(column: 1, problem: "\(kind.rawValue) needs a property of numbers")
    }
    self.path = path
    accumulator = Accumulator(kind.aggregate, type: type)
  }

  private init(_ path: QueryPath, _ accumulator: Accumulator) { (self.path, self.accumulator) = (path, accumulator) }

  /// Returns an empty aggregate of the same kind.
  public func another() -> QueryAggregate { QueryAggregate(path, accumulator.emptied) }

  /// Adds the current object of a cursor of the class.
  public func add(_ cursor: ObjectCursor) throws(QueryFailure) {
    switch try path.value(cursor) {
    case .one(let value): accumulator.add(value)
    case .many(let values): for value in values { accumulator.add(value) }
    }
  }

  /// The result; null for aggregates of no values, except sums. Nil for a sum of integers that exceeds 64 bits.
  public var result: ValueView? { accumulator.hasOverflowed ? nil : accumulator.result }
}
