// Each scalar type in each notation: typed property, Mixed (and `json=ejson`), `json=canonical`.

import RealmPages
import Testing

@testable import RealmJSON

/// The compact text that `write` makes in one notation.
private func text(_ form: ValueForm, _ write: (inout JSONWriter, ValueForm) -> Void) -> String {
  let out = OutputBuffer()
  var writer = JSONWriter(out, .compact)
  write(&writer, form)
  return out.string
}

private func texts(_ write: (inout JSONWriter, ValueForm) -> Void) -> [String] {
  [ValueForm.bare, .relaxed, .canonical].map { text($0, write) }
}

/// The text of a value as a typed property, in a Mixed, and in canonical Extended JSON.
struct Row<Value: Sendable>: Sendable {
  let value: Value
  let expected: [String]

  init(_ value: Value, _ bare: String, _ relaxed: String, _ canonical: String) {
    self.value = value
    expected = [bare, relaxed, canonical]
  }
}

@Suite("scalar values")
struct ScalarTextTests {
  @Test(
    "an integer beyond 2^53 is written so that no reader rounds it",
    arguments: [
      Row(Int64(7), "7", "7", #"{"$numberLong":"7"}"#),
      Row(-1, "-1", "-1", #"{"$numberLong":"-1"}"#),
      Row(0, "0", "0", #"{"$numberLong":"0"}"#),
      Row(
        9_007_199_254_740_992,
        "9007199254740992",
        "9007199254740992",
        #"{"$numberLong":"9007199254740992"}"#
      ),
      Row(
        9_007_199_254_740_993,
        #"{"$numberLong":"9007199254740993"}"#,
        #"{"$numberLong":"9007199254740993"}"#,
        #"{"$numberLong":"9007199254740993"}"#
      ),
      Row(
        -9_007_199_254_740_993,
        #"{"$numberLong":"-9007199254740993"}"#,
        #"{"$numberLong":"-9007199254740993"}"#,
        #"{"$numberLong":"-9007199254740993"}"#
      ),
      Row(
        Int64.max,
        #"{"$numberLong":"9223372036854775807"}"#,
        #"{"$numberLong":"9223372036854775807"}"#,
        #"{"$numberLong":"9223372036854775807"}"#
      ),
      Row(
        Int64.min,
        #"{"$numberLong":"-9223372036854775808"}"#,
        #"{"$numberLong":"-9223372036854775808"}"#,
        #"{"$numberLong":"-9223372036854775808"}"#
      ),
    ]
  )
  func integers(_ row: Row<Int64>) {
    #expect(texts { $0.int(row.value, $1) } == row.expected)
  }

  @Test(
    "a double is never mistaken for an integer",
    arguments: [
      Row(1.5, "1.5", "1.5", #"{"$numberDouble":"1.5"}"#),
      Row(1, "1.0", #"{"$numberDouble":"1.0"}"#, #"{"$numberDouble":"1.0"}"#),
      Row(-0.0, "-0.0", #"{"$numberDouble":"-0.0"}"#, #"{"$numberDouble":"-0.0"}"#),
      Row(1e20, "1e+20", #"{"$numberDouble":"1e+20"}"#, #"{"$numberDouble":"1e+20"}"#),
      Row(.leastNonzeroMagnitude, "5e-324", "5e-324", #"{"$numberDouble":"5e-324"}"#),
      Row(
        Double.nan,
        #"{"$numberDouble":"NaN"}"#,
        #"{"$numberDouble":"NaN"}"#,
        #"{"$numberDouble":"NaN"}"#
      ),
      Row(
        Double.infinity,
        #"{"$numberDouble":"Infinity"}"#,
        #"{"$numberDouble":"Infinity"}"#,
        #"{"$numberDouble":"Infinity"}"#
      ),
      Row(
        -Double.infinity,
        #"{"$numberDouble":"-Infinity"}"#,
        #"{"$numberDouble":"-Infinity"}"#,
        #"{"$numberDouble":"-Infinity"}"#
      ),
    ]
  )
  func doubles(_ row: Row<Double>) {
    #expect(texts { $0.double(row.value, $1) } == row.expected)
  }

  @Test(
    "a float in a Mixed is marked as a float",
    arguments: [
      Row(Float(1.5), "1.5", #"{"$numberFloat":"1.5"}"#, #"{"$numberFloat":"1.5"}"#),
      Row(0.1, "0.1", #"{"$numberFloat":"0.1"}"#, #"{"$numberFloat":"0.1"}"#),
      Row(-2, "-2.0", #"{"$numberFloat":"-2.0"}"#, #"{"$numberFloat":"-2.0"}"#),
      Row(.nan, #"{"$numberDouble":"NaN"}"#, #"{"$numberFloat":"NaN"}"#, #"{"$numberFloat":"NaN"}"#),
      Row(
        -.infinity,
        #"{"$numberDouble":"-Infinity"}"#,
        #"{"$numberFloat":"-Infinity"}"#,
        #"{"$numberFloat":"-Infinity"}"#
      ),
    ]
  )
  func floats(_ row: Row<Float>) {
    #expect(texts { $0.float(row.value, $1) } == row.expected)
  }

  @Test(
    "a date has as many fractional digits as needed",
    arguments: [
      Row(
        Timestamp(seconds: 1_714_557_600, nanoseconds: 0),
        #""2024-05-01T10:00:00Z""#,
        #"{"$date":"2024-05-01T10:00:00Z"}"#,
        #"{"$date":{"$numberLong":"1714557600000"}}"#
      ),
      Row(
        Timestamp(seconds: 0, nanoseconds: 5_000_000),
        #""1970-01-01T00:00:00.005Z""#,
        #"{"$date":"1970-01-01T00:00:00.005Z"}"#,
        #"{"$date":{"$numberLong":"5"}}"#
      ),
      Row(
        Timestamp(seconds: 1, nanoseconds: 12_000),
        #""1970-01-01T00:00:01.000012Z""#,
        #"{"$date":"1970-01-01T00:00:01.000012Z"}"#,
        #"{"$date":"1970-01-01T00:00:01.000012Z"}"#
      ),
      Row(
        Timestamp(seconds: -5, nanoseconds: -999_999),
        #""1969-12-31T23:59:54.999000001Z""#,
        #"{"$date":"1969-12-31T23:59:54.999000001Z"}"#,
        #"{"$date":"1969-12-31T23:59:54.999000001Z"}"#
      ),
      Row(
        Timestamp(seconds: -62_135_596_800, nanoseconds: 0),
        #""0001-01-01T00:00:00Z""#,
        #"{"$date":"0001-01-01T00:00:00Z"}"#,
        #"{"$date":{"$numberLong":"-62135596800000"}}"#
      ),
      Row(
        Timestamp(seconds: 951_782_400, nanoseconds: 0),
        #""2000-02-29T00:00:00Z""#,
        #"{"$date":"2000-02-29T00:00:00Z"}"#,
        #"{"$date":{"$numberLong":"951782400000"}}"#
      ),
      Row(
        Timestamp(seconds: -2_203_891_200, nanoseconds: 0),
        #""1900-03-01T00:00:00Z""#,
        #"{"$date":"1900-03-01T00:00:00Z"}"#,
        #"{"$date":{"$numberLong":"-2203891200000"}}"#
      ),
      Row(
        Timestamp(seconds: 253_402_300_799, nanoseconds: 999_999_999),
        #""9999-12-31T23:59:59.999999999Z""#,
        #"{"$date":"9999-12-31T23:59:59.999999999Z"}"#,
        #"{"$date":"9999-12-31T23:59:59.999999999Z"}"#
      ),
      Row(
        Timestamp(seconds: 253_402_300_800, nanoseconds: 1),
        #"{"$date":{"seconds":"253402300800","nanoseconds":1}}"#,
        #"{"$date":{"seconds":"253402300800","nanoseconds":1}}"#,
        #"{"$date":{"seconds":"253402300800","nanoseconds":1}}"#
      ),
      Row(
        Timestamp(seconds: -62_135_596_800, nanoseconds: -1),
        #"{"$date":{"seconds":"-62135596800","nanoseconds":-1}}"#,
        #"{"$date":{"seconds":"-62135596800","nanoseconds":-1}}"#,
        #"{"$date":{"seconds":"-62135596800","nanoseconds":-1}}"#
      ),
      Row(
        Timestamp(seconds: .min, nanoseconds: -999_999_999),
        #"{"$date":{"seconds":"-9223372036854775808","nanoseconds":-999999999}}"#,
        #"{"$date":{"seconds":"-9223372036854775808","nanoseconds":-999999999}}"#,
        #"{"$date":{"seconds":"-9223372036854775808","nanoseconds":-999999999}}"#
      ),
    ]
  )
  func dates(_ row: Row<Timestamp>) {
    #expect(texts { $0.date(row.value, $1) } == row.expected)
  }

  @Test(
    "a decimal shows the text that Realm prints",
    arguments: [
      (coefficient: UInt128(110), exponent: -2, negative: false, text: "1.10"),
      (110, -3, true, "-1.10E-1"),
      (110, -1, false, "11.0"),
      (110, 0, false, "110"),
      (0, 0, true, "-0"),
      (1, 200, false, "1E200"),
      (12, 5, false, "1.2E6"),
      (1, -6143, false, "1E-6143"),
      (18_446_744_073_709_551_615, -2, false, "184467440737095516.15"),
      (18_446_744_073_709_551_616, -2, false, "+18446744073709551616E-2"),
      (3_141_592_653_589_793_238_462_643_383_279_503, -33, false, "+3141592653589793238462643383279503E-33"),
      (9_999_999_999_999_999_999_999_999_999_999_999, 6111, true, "-9999999999999999999999999999999999E+6111"),
      (1_000_000_000_000_000_000_000_000_000_000_000, 0, false, "+1000000000000000000000000000000000E+0"),
    ] as [(UInt128, Int, Bool, String)]
  )
  func decimals(coefficient: UInt128, exponent: Int, negative: Bool, expected: String) {
    let high = UInt64(coefficient >> 64) | UInt64(exponent + 6176) << 49 | (negative ? 1 << 63 : 0)
    let value = Decimal128(low: UInt64(truncatingIfNeeded: coefficient), high: high)
    #expect(text(.bare) { $0.decimal128(value, $1) } == "\"\(expected)\"")
    #expect(text(.relaxed) { $0.decimal128(value, $1) } == #"{"$numberDecimal":"\#(expected)"}"#)
    #expect(text(.canonical) { $0.decimal128(value, $1) } == #"{"$numberDecimal":"\#(expected)"}"#)
  }

  @Test(
    "NaN and infinite decimals are written by name",
    arguments: [
      (0x7C00_0000_0000_0000, "NaN"), (0x7800_0000_0000_0000, "Inf"), (0xF800_0000_0000_0000, "-Inf"),
    ] as [(UInt64, String)]
  )
  func specialDecimals(high: UInt64, expected: String) {
    let value = Decimal128(low: 0, high: high)
    #expect(text(.bare) { $0.decimal128(value, $1) } == "\"\(expected)\"")
  }

  @Test("identifiers are lower-case hexadecimal digits")
  func identifiers() {
    let oid = ObjectID(high: 0x5f00_0000_0000_0000, low: 0x011b_8635)
    #expect(
      texts { $0.objectID(oid, $1) } == [
        #""5f00000000000000011b8635""#, #"{"$oid":"5f00000000000000011b8635"}"#,
        #"{"$oid":"5f00000000000000011b8635"}"#,
      ]
    )
    let uuid = UniqueID(high: 0x000A_AE59_1234_4ABC, low: 0x8DEF_0000_0000_0117)
    #expect(
      texts { $0.uuid(uuid, $1) } == [
        #""000aae59-1234-4abc-8def-000000000117""#, #"{"$uuid":"000aae59-1234-4abc-8def-000000000117"}"#,
        #"{"$uuid":"000aae59-1234-4abc-8def-000000000117"}"#,
      ]
    )
  }

  @Test(
    "binary data is base64 with padding",
    arguments: [
      ([], ""), ([0], "AA=="), ([0, 1], "AAE="), ([0, 1, 2], "AAEC"), ([255, 254, 253, 252], "//79/A=="),
      (Array("any carnal pleas".utf8), "YW55IGNhcm5hbCBwbGVhcw=="),
    ] as [([UInt8], String)]
  )
  func data(bytes: [UInt8], base64: String) {
    withView(bytes) { view in
      #expect(
        texts { $0.data(view, $1) } == [
          "\"\(base64)\"", #"{"$binary":{"base64":"\#(base64)","subType":"00"}}"#,
          #"{"$binary":{"base64":"\#(base64)","subType":"00"}}"#,
        ]
      )
    }
  }

  @Test("true, false and null are the same everywhere")
  func constants() {
    #expect(texts { writer, _ in writer.bool(true) } == ["true", "true", "true"])
    #expect(texts { writer, _ in writer.bool(false) } == ["false", "false", "false"])
    #expect(texts { writer, _ in writer.null() } == ["null", "null", "null"])
  }

  @Test("objects that denote a type are indented like all others")
  func prettyWrapper() {
    let out = OutputBuffer()
    var writer = JSONWriter(out, .pretty)
    writer.int(.max, .bare)
    writer.finish()
    #expect(out.string == "{\n  \"$numberLong\": \"9223372036854775807\"\n}\n")
  }
}
