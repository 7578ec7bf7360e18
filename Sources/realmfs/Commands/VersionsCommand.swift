// `realmfs versions`: lists the versions that remain in a file, or what changed from one to the next.
import RealmJSON
import RealmPages
import RealmTransfer

/// The command `versions`.
enum VersionsCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let path = arguments.operands[0]
    let configuration = try RealmSource.configuration(path: path, arguments, .immutable)
    // Flushed after the search, because other programs cannot commit during it and must not wait for a reader of the
    // output.
    let output = StandardOutput()
    let failure = try RealmSource.withTimeline(configuration, touchesNothing: arguments.has(.immutable)) {
      (timeline, failure, _) in
      if arguments.has(.changes) {
        try printChanges(timeline, path, output)
      } else {
        let lines = try timeline.versions.enumerated().map { index, version in
          try VersionLine(version, at: index, of: timeline, path)
        }
        if arguments.has(.json) {
          output.print(JSONValue.array(lines.map(\.json)).text)
        } else if !lines.isEmpty {
          print(lines, output)
        } else if failure == nil {
          output.line("no version: nothing was committed")
        }
      }
      return failure ?? problem(timeline, path)
    }
    try output.flush()
    if let failure { throw failure }
    return .done
  }

  /// The failure that describes a realm whose newest version is damaged; nil if it is sound.
  private static func problem(_ timeline: VersionTimeline, _ path: String) -> CommandFailure? {
    guard let newest = timeline.versions.first(where: { $0.slots.first?.isSelected ?? $0.isInFooter }),
      let fault = timeline.state(of: newest).fault
    else { return nil }
    return CommandFailure(.damaged, "\(path): the newest version is damaged: \(fault)")
  }

  private static func print(_ lines: [VersionLine], _ output: StandardOutput) {
    let rows = [VersionLine.titles] + lines.map(\.cells)
    let widths = VersionLine.titles.indices.map { column in rows.map { $0[column].printable.displayWidth }.max() ?? 0 }
    for row in rows {
      let cells = zip(row, widths).map { cell, width in
        cell + String(repeating: " ", count: max(0, width - cell.printable.displayWidth))
      }
      output.line(cells.joined(separator: "  ").trimmingSpaces)
    }
    for line in lines {
      if let fault = line.state.fault { output.line("version \(line.version.version): \(fault)") }
    }
  }

  /// Prints the changes of each whole version to the one before it, oldest first. A gap represents earlier changes,
  /// which are unknown.
  private static func printChanges(
    _ timeline: VersionTimeline,
    _ path: String,
    _ output: StandardOutput
  ) throws {
    var older: Snapshot?
    for version in timeline.wholeVersions().reversed() {
      try located(path) {
        let newer = try timeline.snapshot(of: version)
        if let older {
          try printChanges(ChangeLines(from: older, to: newer, time: nil), path, output)
        } else if newer.version > 1 {
          ChangeLines.gap(upTo: newer.version, time: nil, into: output.buffer)
        }
        older = newer
      }
    }
  }

  private static func printChanges(_ lines: ChangeLines, _ path: String, _ output: StandardOutput) {
    while true {
      switch lines.next(into: output.buffer) {
      case .line: break
      case .damage(let problem): Log.error("\(path): \(problem)")
      case .end: return
      }
    }
  }
}

/// A version as it is listed.
struct VersionLine {
  let version: RemainingVersion
  let state: RemainingVersion.State
  private let classes: [RemainingVersion.ClassContent]
  private let problems: [String]
  /// The differences to the version before it; nil if one of the two is not whole.
  private let changes: ChangeTally?

  static let titles = ["VERSION", "STATE", "OFFSET", "REACHED BY", "CHANGED", "OBJECTS"]

  init(
    _ version: RemainingVersion,
    at index: Int,
    of timeline: VersionTimeline,
    _ path: String
  ) throws {
    self.version = version
    state = timeline.state(of: version)
    // If a check finds no fault, all objects can be read.
    let isPartial = if case .partial = state { true } else { false }
    (classes, problems) = timeline.contents(of: version, counts: isPartial)
    let older = timeline.versions.dropFirst(index + 1).first { $0.version < version.version }
    guard state == .whole, let older, timeline.state(of: older) == .whole else {
      changes = nil
      return
    }
    changes = try located(path) {
      try ChangeTally(from: timeline.snapshot(of: older), to: timeline.snapshot(of: version))
    }
  }

  /// How its top array is reached, such as `header, slot 1`.
  private var places: String {
    let slots = version.slots.map { "header, slot \($0.number)\($0.isSelected ? " (selected)" : "")" }
    if !slots.isEmpty { return slots.joined(separator: "; ") }
    return version.isInFooter ? "footer" : "search"
  }

  var cells: [String] {
    let counts = classes.map { content in
      let claimed = content.claimedObjects.flatMap { $0 == content.objects ? nil : " of \($0)" } ?? ""
      return "\(content.name) \(content.objects)\(claimed)"
    }
    let changed = changes.map { $0.words.isEmpty ? "nothing" : $0.words } ?? "?"
    return [
      "\(version.version)", state.name, "\(version.ref)", places, changed,
      counts.isEmpty ? "none" : counts.joined(separator: ", "),
    ]
  }

  /// The facts of `json` for a reader that does not look into the file.
  var shortJSON: JSONValue {
    .object([
      ("version", .number(Int(clamping: version.version))), ("state", .string(state.name)),
      ("objects", .object(classes.map { ($0.name, .number($0.objects)) })),
      ("changes", changes.map { .string($0.words) } ?? .null),
    ])
  }

  var json: JSONValue {
    .object([
      ("version", .number(Int(clamping: version.version))),
      ("state", .string(state.name)),
      ("fault", state.fault.map { .string($0) } ?? .null),
      ("format", .number(version.format)),
      ("offset", .number(version.ref)),
      ("logicalSize", .number(version.logicalSize)),
      ("slots", .array(version.slots.map { .number($0.number) })),
      ("selected", .bool(version.slots.contains { $0.isSelected })),
      ("footer", .bool(version.isInFooter)),
      (
        "classes",
        .array(
          classes.map { content in
            .object([
              ("name", .string(content.name)), ("objects", .number(content.objects)),
              ("claimed", content.claimedObjects.map { .number($0) } ?? .null),
            ])
          }
        )
      ),
      ("problems", .array(problems.map { .string($0) })),
      ("changes", changes?.json ?? .null),
    ])
  }
}

extension String {
  /// The text without spaces at its end.
  fileprivate var trimmingSpaces: String {
    String(decoding: utf8.reversed().drop { $0 == 0x20 }.reversed(), as: UTF8.self)
  }
}
