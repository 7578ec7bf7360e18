// `realmfs compact`: shrinks a file to the size of its content.
import RealmJSON
import RealmPages

/// The command `compact`.
enum CompactCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let condition = try arguments.compactCondition(.condition)
    let source = try RealmSource(inPlace: arguments), configuration = source.realm.configuration
    var found: (total: Int, used: Int)?
    let sizes = try ProgressLine.during("compacting", source.path) { (observer) throws(EngineError) in
      try RealmCopy.rewrite(
        configuration,
        key: configuration.encryptionKey,
        where: { total, used in
          found = (total, used)
          return condition?.holds(total: total, used: used) ?? true
        },
        verifies: !arguments.has(.noVerify),
        observer: observer
      )
    }
    if let sizes {
      try CopyReport(path: source.path, sizes: sizes, isNew: false).print(arguments)
    } else if let found {
      let kept = RealmCopy.Sizes(before: found.total, after: found.total)
      let facts: [(String, JSONValue)] = [("compacted", .bool(false)), ("used", .number(found.used))]
      var report = CopyReport(path: source.path, sizes: kept, isNew: false, facts: facts)
      report.notes = ["not compacted: \(found.used) bytes of \(found.total) are used, so the condition does not hold"]
      try report.print(arguments)
    }
    return .done
  }
}

extension Arguments {
  /// Returns the condition given with `option`; nil without the option.
  func compactCondition(_ option: OptionName) throws -> CompactCondition? {
    guard let text = value(option) else { return nil }
    do { return try CompactCondition(text) } catch {
      throw usage("option --\(option.rawValue): \(error)")
    }
  }
}

extension RealmSource {
  /// Opens the first operand as a file that will be replaced.
  init(inPlace arguments: Arguments) throws {
    try self.init(Self.configuration(path: arguments.operands[0], arguments, .immutable))
  }
}
