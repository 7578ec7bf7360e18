// Checks that a file left by a crash has the promised content, and can be written to.

import Foundation
import RealmPages
import TestSupport

/// A fault of a state.
struct Loss: Error, CustomStringConvertible {
  let description: String
}

enum StateCheck {
  /// Opens the file at `path`, compares it with its possible contents, verifies it, writes to it and verifies it again.
  /// Returns the index of its content in `allowed`. If it `mayBeNew`, a file without content counts as an empty realm.
  /// A version that cannot be written, as of an older format, is only read.
  @discardableResult
  static func run(
    _ path: String,
    _ key: EncryptionKey?,
    allowed: ArraySlice<Contents>,
    mayBeNew: Bool,
    isShared: Bool,
    writesOn: Bool = true
  ) throws -> Int {
    if !mayBeNew {
      // First, a reader that changes nothing.
      let snapshot = try Realm(Configuration(path: path, encryptionKey: key, mode: .immutable)).latest()
      let found = try match(snapshot, allowed)
      if !writesOn || RealmWriter.reasonAgainst(writing: snapshot) != nil { return found }
    }
    let configuration = Configuration(path: path, encryptionKey: key, mode: isShared ? .shared : .exclusive)
    let writer = try RealmWriter(configuration, create: mayBeNew)
    let snapshot = try writer.realm.latest()
    let found = try match(snapshot, allowed)
    try CommitShape.more(writer)
    let after = try writer.realm.latest()
    if after.version != snapshot.version + 1 { throw Loss(description: "version \(after.version) after a commit") }
    try verify(after)
    return found
  }

  private static func match(_ snapshot: Snapshot, _ allowed: ArraySlice<Contents>) throws -> Int {
    let contents = try Contents(snapshot)
    guard let found = allowed.firstIndex(of: contents) else {
      throw Loss(description: "found \(contents) instead of \(allowed.map(\.description).joined(separator: " or "))")
    }
    try verify(snapshot)
    return found
  }

  private static func verify(_ snapshot: Snapshot) throws {
    if let problem = Verifier(snapshot).problems(limit: 1).first {
      throw Loss(description: "version \(snapshot.version): \(problem)")
    }
  }
}

/// The hash of a sequence of bytes: equal ones count once.
struct Fingerprint {
  private(set) var value: UInt64 = 0x9E37_79B9_7F4A_7C15

  mutating func mix(_ word: UInt64) {
    let product = (value ^ word).multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
    value = product.high ^ product.low ^ word &* 0xE703_7ED1_A0B4_28DB
  }

  mutating func mix(_ bytes: UnsafeRawBufferPointer) {
    var at = 0
    while at + 8 <= bytes.count {
      mix(bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
      at += 8
    }
    while at < bytes.count {
      mix(UInt64(bytes[at]))
      at += 1
    }
    mix(UInt64(bytes.count))
  }
}
