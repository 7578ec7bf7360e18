// The possible contents of a disk after a crash. Between two syncs, the system writes data in any order, and any
// subset of these writes may survive a power cut; synced data survives.

/// The files that a crash during recorded events may leave.
package struct CrashImages {
  /// One possible file.
  package struct Image {
    /// The file.
    package var bytes: [UInt8]
    /// A description of how the file was produced, to reproduce it.
    package let story: String
    /// The number of syncs that had ended.
    package let syncs: Int
    /// True if everything had reached the disk.
    package let isComplete: Bool
  }

  private let before: [UInt8]
  private let events: [StorageEvent]
  /// The number of bytes at an offset that the disk writes atomically.
  private let unit: (Int) -> Int

  /// Simulates crashes during `events`, which changed `before`. `unit` returns the number of bytes written atomically
  /// at an offset.
  package init(before: [UInt8], events: [StorageEvent], unit: @escaping (Int) -> Int = { _ in 512 }) {
    self.before = before
    self.events = events
    self.unit = unit
  }

  /// The number of syncs.
  package var syncCount: Int {
    events.count { if case .sync = $0 { true } else { false } }
  }

  /// Visits, for each sync: every prefix of the writes before it; the same with the last write torn; and `samples`
  /// random subsets of these writes, some of whole writes and some of single units, each unit as of some moment.
  package func visit(samples: Int, seed: UInt64, _ body: (Image) throws -> Void) throws {
    var random = SplitMix64(seed: seed)
    var durable = before, pending: [StorageEvent] = [], syncs = 0
    for event in events + [.sync] {
      guard case .sync = event else {
        pending.append(event)
        continue
      }
      var prefix = durable
      try body(Image(bytes: prefix, story: "after sync \(syncs)", syncs: syncs, isComplete: false))
      for (i, event) in pending.enumerated() {
        var torn = prefix
        let keep = random.next()
        if tear(event, &torn, { $0 < 64 ? keep >> UInt64($0) & 1 == 0 : $0 & 1 == 0 }) {
          try body(Image(bytes: torn, story: "after sync \(syncs), write \(i) torn", syncs: syncs, isComplete: false))
        }
        apply(event, &prefix)
        try body(Image(bytes: prefix, story: "after sync \(syncs), write \(i)", syncs: syncs, isComplete: false))
      }
      for sample in 0..<(pending.count > 1 ? samples : 0) {
        let image =
          sample & 1 == 0 ? someWrites(of: pending, durable, &random) : someUnits(of: pending, durable, &random)
        let story = "after sync \(syncs), sample \(sample) of seed \(seed)"
        try body(Image(bytes: image, story: story, syncs: syncs, isComplete: false))
      }
      durable = prefix
      pending = []
      syncs += 1
    }
    try body(Image(bytes: durable, story: "complete", syncs: syncs - 1, isComplete: true))
  }

  private func apply(_ event: StorageEvent, _ file: inout [UInt8]) {
    switch event {
    case .write(let offset, let bytes):
      if offset + bytes.count > file.count { resize(&file, offset + bytes.count) }
      file.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    case .resize(let size): resize(&file, size)
    case .sync: break
    }
  }

  private func resize(_ file: inout [UInt8], _ size: Int) {
    if size < file.count { file.removeLast(file.count - size) }
    file.append(contentsOf: repeatElement(0, count: size - file.count))
  }

  /// Applies the units of a write for which `isKept` returns true, by their index; returns false if there is only one
  /// unit.
  private func tear(_ event: StorageEvent, _ file: inout [UInt8], _ isKept: (Int) -> Bool) -> Bool {
    guard case .write(let offset, let bytes) = event else { return false }
    var at = offset, position = 0
    while at < offset + bytes.count {
      let unit = unit(at), end = min((at / unit + 1) * unit, offset + bytes.count)
      if isKept(position) { apply(.write(offset: at, bytes: Array(bytes[at - offset..<end - offset])), &file) }
      at = end
      position += 1
    }
    return position > 1
  }

  private func someWrites(of pending: [StorageEvent], _ durable: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
    var file = durable
    let odds = 1 + random.below(3)
    for event in pending where random.below(4) < odds { apply(event, &file) }
    return file
  }

  /// Returns the file with each unit as it was at its own random moment.
  private func someUnits(of pending: [StorageEvent], _ durable: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
    var file = durable, moments: [Int: Int] = [:]
    for (i, event) in pending.enumerated() {
      guard case .write(let offset, let bytes) = event else {
        if random.below(2) == 0 { apply(event, &file) }
        continue
      }
      var at = offset
      while at < offset + bytes.count {
        let unit = unit(at), end = min((at / unit + 1) * unit, offset + bytes.count)
        let moment = moments[at / unit * unit] ?? (random.below(2) == 0 ? 0 : random.below(pending.count + 1))
        moments[at / unit * unit] = moment
        if i < moment {
          apply(.write(offset: at, bytes: Array(bytes[at - offset..<end - offset])), &file)
        }
        at = end
      }
    }
    return file
  }
}
