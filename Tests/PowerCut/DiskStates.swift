// Crash states of the whole stack: the disk below a file system loses power, the file system recovers when it is
// mounted, and every realm on it has its acknowledged content.

import CDisk
import Foundation
import RealmPages
import TestSupport

/// Records a workload on a file system, cuts the power at random moments and checks the result.
struct DiskStates {
  private let format: DiskFormat
  private let folder: TemporaryFolder
  private var random: SplitMix64
  private let seed: UInt64
  private var seen: Set<UInt64> = []
  private var visited = 0
  private var found = (old: 0, new: 0)
  private var files = 0

  init(_ format: DiskFormat, seed: UInt64) throws {
    (self.format, self.seed) = (format, seed)
    folder = try TemporaryFolder()
    random = SplitMix64(seed: seed)
  }

  /// Where the log leaves the steps.
  private struct Span {
    let step: DiskWorkload.Step
    let begin: Int
    let end: Int
  }

  /// Checks `count` different states. `report` receives lines.
  mutating func run(count: Int, report: (String) -> Void) throws {
    defer { folder.remove() }
    let start = Date()
    let disk = try RecordedDisk(format, in: folder.url)
    let workload = try DiskWorkload(disk)
    do { try workload.run(seed: seed) } catch {
      try disk.stop()
      throw error
    }
    try disk.stop()
    let log = try DiskLog(disk.log), spans = Self.spans(log, workload.steps)
    report(
      """
      \(format.rawValue), seed \(seed): \(workload.steps.count) steps, \(log.writes) writes, \(log.flushes) flushes, \
      \(seconds(since: start)) s
      """
    )
    var rounds = 0
    // Moments that were tried already can be cut in other ways.
    while seen.count < count, rounds < 8 {
      try pass(log, spans, disk.origin, upTo: count, start, report)
      rounds += 1
    }
    report(line(start))
  }

  private func seconds(since start: Date) -> Int { Int(Date().timeIntervalSince(start)) }

  private func line(_ start: Date) -> String {
    """
    \(format.rawValue), seed \(seed): \(seen.count) distinct disks of \(visited), \(files) realms on them checked; of \
    those being changed \(found.old) were former versions, \(found.new) new ones; \(seconds(since: start)) s
    """
  }

  private static func spans(_ log: DiskLog, _ steps: [DiskWorkload.Step]) -> [Span] {
    var begins: [Int: Int] = [:], spans: [Span] = []
    for (position, record) in log.records.enumerated() {
      guard case .mark(let text) = record else { continue }
      let words = text.split(separator: " ")
      guard words.count == 2, let index = Int(words[1]) else { continue }
      switch words[0] {
      case "begin": begins[index] = position
      case "end":
        if index < steps.count, let begin = begins[index] {
          spans.append(Span(step: steps[index], begin: begin, end: position))
        }
      default: begins[index] = nil
      }
    }
    return spans
  }

  /// Reads the log once.
  private mutating func pass(
    _ log: DiskLog,
    _ spans: [Span],
    _ origin: URL,
    upTo count: Int,
    _ start: Date,
    _ report: (String) -> Void
  ) throws {
    let durable = folder.url.appendingPathComponent("durable"), state = folder.url.appendingPathComponent("state")
    try runProgram(["cp", "--sparse=always", origin.path, durable.path])
    try Data().write(to: state)
    var moment = try DiskMoment(log, image: durable)
    let image = try FileHandle(forUpdating: state), point = folder.url.appendingPathComponent("point")
    try FileManager.default.createDirectory(at: point, withIntermediateDirectories: true)
    guard let first = spans.first?.begin else { return }
    let cuts = (0..<(count - seen.count)).map { _ in first + random.below(log.records.count - first) }.sorted()
    for cut in cuts {
      try moment.advance(to: cut)
      let current = spans.last { $0.begin < cut }
      let unit = current?.step.isEncrypted == true ? max(4096, format.unit) : format.unit
      let (pieces, mark) = moment.survivors(unit: unit, &random)
      visited += 1
      if !seen.insert(mark).inserted { continue }
      try checked(disk_copy(moment.descriptor, image.fileDescriptor), "copy the disk")
      try moment.put(pieces, on: image)
      do {
        let mounted = try MountedImage(state.path, format, at: point)
        do { try check(point, spans, cut) } catch {
          try mounted.unmount()
          throw error
        }
        try mounted.unmount()
      } catch {
        try checked(disk_copy(moment.descriptor, image.fileDescriptor), "copy the disk")
        try moment.put(pieces, on: image)
        let kept = FileManager.default.temporaryDirectory.appendingPathComponent("lost-\(format.rawValue)-\(seed)")
        try runProgram(["cp", "--sparse=always", state.path, kept.path])
        throw Loss(description: "\(format.rawValue), seed \(seed), record \(cut): \(error); the disk is \(kept.path)")
      }
      if visited % 5000 == 0 { report(line(start)) }
    }
  }

  /// Checks the realm that is being changed, those that were changed before it, and one of the others.
  private mutating func check(_ point: URL, _ spans: [Span], _ cut: Int) throws {
    let begun = spans.prefix { $0.begin < cut }
    var recent: [String] = []
    for span in begun.reversed() where !recent.contains(span.step.file) {
      recent.append(span.step.file)
    }
    let others = recent.dropFirst(3)
    let chosen = recent.prefix(3) + (others.isEmpty ? [] : [others[others.startIndex + random.below(others.count)]])
    for (index, file) in chosen.enumerated() {
      guard let last = begun.last(where: { $0.step.file == file }) else { continue }
      let step = last.step
      var allowed: [Held] = [step.new]
      if last.end > cut {
        // The workload itself creates the file.
        guard let old = step.old else { continue }
        allowed.insert(old, at: 0)
      }
      files += 1
      do {
        let found = try match(point.appendingPathComponent(file).path, allowed, writesOn: index < 2)
        if allowed.count > 1 {
          if found == 0 { self.found.old += 1 } else { self.found.new += 1 }
        }
      } catch { throw Loss(description: "\(step.name)\(last.end > cut ? "" : ", acknowledged"), \(file): \(error)") }
    }
  }

  /// Returns the index of the content of the file at the path.
  private func match(_ path: String, _ allowed: [Held], writesOn: Bool) throws -> Int {
    var failure: any Error = Loss(description: "nothing was allowed")
    for (index, held) in allowed.enumerated() {
      do {
        switch held {
        case .nothing:
          if FileManager.default.fileExists(atPath: path) {
            var key: EncryptionKey?
            if case .realm(let other, _) = allowed.last { key = other }
            let empty = [try RecordedRun.empty()]
            try StateCheck.run(path, key, allowed: empty[...], mayBeNew: true, isShared: false)
          }
        case .realm(let key, let contents):
          try StateCheck.run(
            path,
            key,
            allowed: [contents][...],
            mayBeNew: false,
            isShared: visited % 4 == 0,
            writesOn: writesOn
          )
        }
        return index
      } catch { failure = index == 0 ? error : Loss(description: "\(failure); \(error)") }
    }
    throw failure
  }
}
