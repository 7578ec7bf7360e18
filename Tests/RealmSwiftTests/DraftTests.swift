// Encodable values that are converted to values of a realm.

import Foundation
import Testing

@testable import RealmSwift

@Suite struct DraftTests {
  private struct Record: Encodable {
    var data = Data([0, 255, 7])
    var bytes: [UInt8] = [1, 2]
    var none = Data()
  }

  @Test("encoding long lists takes linear time")
  func longList() throws {
    let draft = try EncodedValue(of: Array(0..<200_000))
    #expect(draft.elements?.count == 200_000)
    let names = Dictionary(uniqueKeysWithValues: (0..<50_000).map { ("\($0)", $0) })
    guard case .object(let entries) = try EncodedValue(of: names).content else { throw CocoaError(.coderInvalidValue) }
    #expect(entries.count == 50_000)
  }

  @Test("Data is encoded as binary, and an array of bytes as a list")
  func bytes() throws {
    guard case .object(let entries) = try EncodedValue(of: Record()).content else {
      throw CocoaError(.coderInvalidValue)
    }
    let data = try #require(entries.first { $0.name == "data" }).value
    guard case .bytes([0, 255, 7]) = data.content else { throw CocoaError(.coderInvalidValue) }
    #expect(data.elements?.count == 3)
    #expect(entries.first { $0.name == "bytes" }?.value.elements?.count == 2)
    #expect(entries.first { $0.name == "none" }?.value.elements?.isEmpty == true)
  }
}
