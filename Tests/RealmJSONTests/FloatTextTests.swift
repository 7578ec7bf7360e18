// Floating-point numbers as text. The expected texts are those of C++ `std::to_chars`.

import Testing

@testable import RealmJSON

private func text(_ write: (OutputBuffer) -> Void) -> String {
  let out = OutputBuffer()
  write(out)
  return out.string
}

@Suite("floating-point numbers")
struct FloatTextTests {
  @Test(
    "a double shows its shortest digits, plain or with an exponent, whichever is shorter",
    arguments: [
      (0, "0.0"), (-0.0, "-0.0"), (1, "1.0"), (-1, "-1.0"), (0.1, "0.1"), (1.5, "1.5"), (12.375, "12.375"),
      (0.30000000000000004, "0.30000000000000004"), (10_000, "10000.0"), (100_000, "1e+05"), (150_000, "150000.0"),
      (1_200_000, "1200000.0"), (1_230_000, "1230000.0"), (12_300_000, "12300000.0"), (0.001, "0.001"),
      (0.0001, "1e-04"), (0.00012, "0.00012"), (0.0015, "0.0015"), (1.25e-5, "1.25e-05"), (1.5e-7, "1.5e-07"),
      (9.5367431640625e-07, "9.5367431640625e-07"), (1e20, "1e+20"), (1e22, "1e+22"), (1e23, "1e+23"),
      (1e100, "1e+100"), (1e-100, "1e-100"), (1.2345e-100, "1.2345e-100"), (3e16, "3e+16"),
      (9_007_199_254_740_992, "9007199254740992.0"), (18_014_398_509_481_984, "18014398509481984.0"),
      (36_028_797_018_963_968, "36028797018963968.0"), (2_251_799_813_685_249.5, "2251799813685249.5"),
      (123_456_789_012_345_680, "123456789012345680.0"), (1.2345678901234568e+20, "123456789012345683968.0"),
      (1.2345678901234567e+21, "1234567890123456774144.0"), (1.2345678901234567e+22, "1.2345678901234568e+22"),
      (.greatestFiniteMagnitude, "1.7976931348623157e+308"), (.leastNonzeroMagnitude, "5e-324"),
      (.leastNormalMagnitude, "2.2250738585072014e-308"), (.pi, "3.141592653589793"),
    ] as [(Double, String)]
  )
  func doubles(value: Double, expected: String) {
    #expect(text { $0.append(real: value) } == expected)
  }

  @Test(
    "a float shows its own shortest digits, not those of a double",
    arguments: [
      (0, "0.0"), (-0.0, "-0.0"), (0.1, "0.1"), (1.1, "1.1"), (100_000, "1e+05"),
      (16_777_216, "16777216.0"),
      (33_554_432, "33554432.0"), (123_456_792, "123456792.0"), (1e10, "1e+10"), (8.5e9, "8.5e+09"),
      (1.23456789e12, "1.234568e+12"), (1.2345678e13, "1.2345678e+13"), (1.5e-7, "1.5e-07"),
      (.greatestFiniteMagnitude, "3.4028235e+38"), (.leastNonzeroMagnitude, "1e-45"),
      (.leastNormalMagnitude, "1.1754944e-38"),
    ] as [(Float, String)]
  )
  func floats(value: Float, expected: String) {
    #expect(text { $0.append(real: value) } == expected)
  }

  @Test("every finite number round-trips and has a point or an exponent")
  func roundTrip() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      let double = Double(bitPattern: .random(in: 0 ... .max, using: &random))
      let scaled = Double(Int64.random(in: -9_999_999...9_999_999, using: &random)) / 1000
      for value in [double, scaled] where value.isFinite {
        let text = text { $0.append(real: value) }
        let isReal = text.contains(".") || text.contains("e")
        if Double(text)?.bitPattern != value.bitPattern || !isReal { Issue.record("\(value) became \(text)") }
      }
      let float = Float(bitPattern: .random(in: 0 ... .max, using: &random))
      guard float.isFinite else { continue }
      let text = text { $0.append(real: float) }
      if Float(text)?.bitPattern != float.bitPattern { Issue.record("\(float) became \(text)") }
    }
  }
}
