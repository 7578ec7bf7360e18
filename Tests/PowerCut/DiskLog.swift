// The log of RecordedDisk, and the disks that a power cut could have left: everything up to a flush, and any part of
// what was written after it, in whole writes or single sectors. Format of the log: Tests/RecordedDisk/main.c.

import Foundation
import TestSupport

/// The writes, flushes and marks of a disk, in order.
struct DiskLog {
  enum Record {
    case write(offset: Int, bytes: Range<Int>)
    case flush
    case mark(String)
  }

  private let bytes: Data
  let records: [Record]
  let flushes: Int
  let writes: Int

  init(_ url: URL) throws {
    bytes = try Data(contentsOf: url, options: .alwaysMapped)
    var records: [Record] = [], at = 0, flushes = 0, writes = 0
    try bytes.withUnsafeBytes { buffer in
      while at + 16 <= buffer.count {
        let kind = buffer.loadUnaligned(fromByteOffset: at, as: UInt32.self)
        let length = Int(buffer.loadUnaligned(fromByteOffset: at + 4, as: UInt32.self))
        let offset = Int(buffer.loadUnaligned(fromByteOffset: at + 8, as: UInt64.self))
        at += 16
        guard at + length <= buffer.count else { throw Loss(description: "the log of the disk ends too early") }
        switch kind {
        case 1:
          records.append(.write(offset: offset, bytes: at..<at + length))
          writes += 1
        case 2:
          records.append(.flush)
          flushes += 1
        default: records.append(.mark(String(decoding: buffer[at..<at + length], as: UTF8.self)))
        }
        at += length
      }
    }
    (self.records, self.flushes, self.writes) = (records, flushes, writes)
  }

  /// Bytes of the log.
  func bytes(_ range: Range<Int>) -> Data { bytes.subdata(in: range) }
}

/// The disk at one moment of a log, moving forward: the durable content, and the writes that may be lost.
struct DiskMoment {
  private let log: DiskLog
  /// The disk as of the last flush.
  private let durable: FileHandle
  /// The records that were passed.
  private(set) var position = 0
  private var pending: [(offset: Int, bytes: Range<Int>)] = []
  /// Changes with each flush that had something to write.
  private var era = Fingerprint()

  /// Begins at the start of `log`, on the disk in `image`, which changes with the moment.
  init(_ log: DiskLog, image: URL) throws {
    self.log = log
    durable = try FileHandle(forUpdating: image)
  }

  /// The disk as of the last flush.
  var descriptor: Int32 { durable.fileDescriptor }

  /// Moves on to a later position.
  mutating func advance(to end: Int) throws {
    while position < end {
      switch log.records[position] {
      case .write(let offset, let bytes): pending.append((offset, bytes))
      case .flush:
        for write in pending {
          try durable.seek(toOffset: UInt64(write.offset))
          let bytes = log.bytes(write.bytes)
          try durable.write(contentsOf: bytes)
          era.mix(UInt64(write.offset))
          bytes.withUnsafeBytes { era.mix($0) }
        }
        pending = []
      case .mark: break
      }
      position += 1
    }
  }

  /// Returns the pieces that a cut now may leave: everything, whole writes, or sectors of `unit` bytes. The fingerprint
  /// is that of the disk.
  func survivors(unit: Int, _ random: inout SplitMix64) -> (pieces: [(offset: Int, bytes: Range<Int>)], UInt64) {
    var pieces: [(offset: Int, bytes: Range<Int>)] = []
    let odds = 1 + random.below(3)
    switch random.below(4) {
    case 0: pieces = pending
    case 1:
      for write in pending where random.below(4) < odds { pieces.append(write) }
    default:
      // The newest writes are the most likely to be lost.
      let first = random.below(2) == 0 ? 0 : max(0, pending.count - 1 - random.below(8))
      for (i, write) in pending.enumerated() {
        guard i >= first else {
          pieces.append(write)
          continue
        }
        var at = 0
        while at < write.bytes.count {
          let end = min(at + unit, write.bytes.count)
          if random.below(4) < odds {
            pieces.append((write.offset + at, write.bytes.lowerBound + at..<write.bytes.lowerBound + end))
          }
          at = end
        }
      }
    }
    var mark = era
    for piece in pieces {
      mark.mix(UInt64(piece.offset))
      log.bytes(piece.bytes).withUnsafeBytes { mark.mix($0) }
    }
    return (pieces, mark.value)
  }

  /// Writes pieces to a disk.
  func put(_ pieces: [(offset: Int, bytes: Range<Int>)], on disk: FileHandle) throws {
    for piece in pieces {
      try disk.seek(toOffset: UInt64(piece.offset))
      try disk.write(contentsOf: log.bytes(piece.bytes))
    }
  }
}
