// The buffer that everything is rendered into.

import Testing

@testable import RealmJSON

@Suite("output buffer")
struct OutputBufferTests {
  @Test("appended bytes are kept across reallocations")
  func growth() {
    let out = OutputBuffer()
    var expected: [UInt8] = []
    for index in 0..<10_000 {
      out.append("number ")
      out.append(decimal: Int64(index))
      out.append(UInt8(ascii: "\n"))
      expected += Array("number \(index)\n".utf8)
    }
    #expect(out.bytes == expected)
    #expect(out.count == expected.count)
  }

  @Test("integers of every length are written correctly")
  func integers() {
    let out = OutputBuffer()
    var magnitude: UInt64 = 1
    var values: [UInt64] = [0, .max, .max - 1]
    for _ in 0..<20 {
      values += [magnitude, magnitude &- 1, magnitude &+ 1]
      magnitude = magnitude &* 10
    }
    for value in values {
      out.reset()
      out.append(decimal: value)
      #expect(out.string == String(value))
      out.reset()
      out.append(decimal: Int64(bitPattern: value))
      #expect(out.string == String(Int64(bitPattern: value)))
    }
  }

  @Test("a reset discards the bytes, even of a huge object")
  func reset() {
    let out = OutputBuffer()
    for _ in 0..<300_000 { out.append("12345678") }
    out.reset()
    #expect(out.count == 0)
    out.append("again")
    #expect(out.string == "again")
  }

  @Test("truncating removes the last bytes")
  func truncation() {
    let out = OutputBuffer()
    out.append("keep, drop")
    out.truncate(to: 4)
    #expect(out.string == "keep")
    out.truncate(to: 100)
    #expect(out.string == "keep")
  }
}
