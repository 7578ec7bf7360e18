// A path by itself, as a column of a table has it, and what is worked out from its values over many objects.

public import RealmPages

/// What a path gives for one object.
public enum PathValue {
  case one(ValueView)
  /// The values of a list, or at the ends of several links.
  case many([ValueView])
}

/// A path bound to a class of a snapshot. One thread at a time.
public final class QueryPath {
  /// The property of the class that the path is; nil if it leads further.
  public let property: Int?
  /// The type of a value; nil for `@type`.
  public let type: ValueType?
  private let path: BoundPath?

  /// Looks a path up; the name of a property may hold any characters.
  public init(_ text: String, of table: Table, in snapshot: Snapshot) throws(QueryError) {
    if let index = table.columns.firstIndex(named: text, \.name) {
      (property, type, path) = (index, table.columns[index].type, nil)
      return
    }
    let path = try BoundPath(QueryParser.parsePath(text), from: table, variable: nil, in: snapshot)
    (property, type, self.path) = (nil, path.type, path)
  }

  /// What it leads to from the object that a cursor of the class stands on.
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

/// One value worked out from many objects.
public final class QueryAggregate {
  /// What is worked out.
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

  /// Prepares it. Sums and averages are of numbers, the least and the greatest of numbers or dates.
  public init(_ kind: Kind, of path: QueryPath) throws(QueryError) {
    let type: ValueType
    switch (path.type, kind) {
    case (.int?, .sum): type = .int
    case (.float?, .sum), (.double?, .sum), (.int?, .avg), (.float?, .avg), (.double?, .avg): type = .double
    case (.decimal128?, .sum), (.mixed?, .sum), (.decimal128?, .avg), (.mixed?, .avg): type = .decimal128
    case (let known?, .min), (let known?, .max):
      switch known {
      case .int, .float, .double, .decimal128, .date, .mixed: type = known
      default: throw QueryError(column: 1, problem: "no \(kind.rawValue): it holds neither numbers nor dates")
      }
    default: throw QueryError(column: 1, problem: "no \(kind.rawValue): it holds no numbers")
    }
    self.path = path
    accumulator = Accumulator(kind.aggregate, type: type)
  }

  private init(_ path: QueryPath, _ accumulator: Accumulator) { (self.path, self.accumulator) = (path, accumulator) }

  /// The same of other objects.
  public func another() -> QueryAggregate { QueryAggregate(path, accumulator.emptied) }

  /// Takes the object that a cursor of the class stands on.
  public func add(_ cursor: ObjectCursor) throws(QueryFailure) {
    switch try path.value(cursor) {
    case .one(let value): accumulator.add(value)
    case .many(let values): for value in values { accumulator.add(value) }
    }
  }

  /// What it came to: null for all but the sum of nothing; nil for a sum of integers beyond 64 bits.
  public var result: ValueView? { accumulator.hasOverflowed ? nil : accumulator.result }
}
