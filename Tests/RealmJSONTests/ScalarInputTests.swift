// The texts that each type accepts and refuses.

import RealmPages
import TestSupport
import Testing

@testable import RealmJSON

@Suite("values from text")
struct ScalarInputTests {
  private func value(_ text: String, _ type: ValueType) throws -> Value {
    try JSONText(Array(text.utf8)).scalar(0, as: type)
  }

  private func kind(_ text: String, _ type: ValueType) -> String {
    "\(inputError { _ = try value(text, type) }.map { "\($0.kind)" } ?? "none")"
  }

  @Test(
    "integers in every form",
    arguments: [
      ("7", 7), ("-0", 0), ("7.0", 7), ("1e3", 1000), ("120e-1", 12), ("9007199254740993", 9_007_199_254_740_993),
      ("9223372036854775807", .max), ("-9223372036854775808", .min), ("{\"$numberLong\":\"-5\"}", -5),
      ("{\"$numberInt\":\"5\"}", 5), ("{\"$numberLong\":5}", 5), ("0e999999999999", 0),
      ("922337203685477580700e-2", .max),
    ] as [(String, Int64)]
  )
  func integers(text: String, expected: Int64) throws { #expect(try value(text, .int) == .int(expected)) }

  @Test("integers out of range, with a fraction, or of another type are refused")
  func badIntegers() {
    for text in ["9223372036854775808", "-9223372036854775809", "1e19", "1e999999999999999999999"] {
      #expect(kind(text, .int) == "outOfRange", "\(text)")
    }
    for text in ["1.5", "1e-1", "\"7\"", "true", "[]", "{\"$numberLong\":\"x\"}", "{\"$oid\":\"7\"}"] {
      #expect(kind(text, .int) == "wrongType", "\(text)")
    }
  }

  @Test("floating-point numbers are rounded once, directly from the text")
  func reals() throws {
    #expect(try value("0.1", .float) == .float(0.1))
    // Through a double this would round twice, to a neighbour.
    #expect(try value("1.00000017881393432617187499", .float) == .float(Float("1.00000017881393432617187499") ?? 0))
    #expect(try value("5", .double) == .double(5))
    #expect(try value("1e-400", .double) == .double(0))
    #expect(try value("{\"$numberDouble\":\"-Infinity\"}", .float) == .float(-.infinity))
    guard case .double(let nan) = try value("{\"$numberDouble\":\"NaN\"}", .double) else { return }
    #expect(nan.isNaN)
    guard case .double(let zero) = try value("-0", .double) else { return }
    #expect(zero.sign == .minus)
    #expect(kind("1e400", .double) == "outOfRange")
    #expect(kind("1e39", .float) == "outOfRange")
    #expect(kind("\"1\"", .double) == "wrongType")
    #expect(kind("{\"$numberDouble\":\"0x10\"}", .double) == "wrongType")
    #expect(kind("{\"$numberDouble\":\"\"}", .double) == "wrongType")
  }

  @Test("decimals keep their digits or are refused")
  func decimals() throws {
    func text(_ json: String) throws -> String {
      guard case .decimal128(let decimal) = try value(json, .decimal128) else { return "" }
      let out = OutputBuffer()
      out.append(decimal)
      return out.string
    }
    for digits in [
      "1.10", "0", "-0", "0E-2", "5E3", "5.0E4", "1E-6143", "9.999999999999999E6111", "NaN", "-NaN", "Inf", "-Inf",
      "+3141592653589793238462643383279503E-33", "-9999999999999999999999999999999999E+6111", "1E-6176",
    ] {
      #expect(try text("\"\(digits)\"") == digits)
    }
    #expect(try text("1.10") == "1.10")
    #expect(try text("{\"$numberDecimal\":\"1.10\"}") == "1.10")
    #expect(try text("\"1E6112\"") == "1.0E6112")
    #expect(try text("\"10E-6177\"") == "1E-6176")
    for tooMuch in [
      "12345678901234567890123456789012345", "1E6145", "1E-6177", "0.11111111111111111111111111111111111",
    ] {
      #expect(kind(tooMuch, .decimal128) == "outOfRange", "\(tooMuch)")
    }
    #expect(try text("1000000000000000000000000000000000000000").hasSuffix("E+6"))
    #expect(kind("\"1.2.3\"", .decimal128) == "wrongType")
    #expect(kind("\"\"", .decimal128) == "wrongType")
  }

  @Test(
    "dates in ISO 8601 with any offset, and in Extended JSON",
    arguments: [
      ("\"1970-01-01T00:00:00Z\"", 0, 0), ("\"2024-05-01T10:00:00Z\"", 1_714_557_600, 0),
      ("\"2024-05-01 12:00:00.5+02:00\"", 1_714_557_600, 500_000_000),
      ("\"2024-05-01t05:30:00-0430\"", 1_714_557_600, 0), ("\"1969-12-31T23:59:59.5Z\"", 0, -500_000_000),
      ("\"1969-12-31T23:59:58.5Z\"", -1, -500_000_000), ("\"0001-01-01T00:00:00Z\"", -62_135_596_800, 0),
      ("\"9999-12-31T23:59:59.999999999Z\"", 253_402_300_799, 999_999_999),
      ("\"2000-02-29T00:00:00.1234567890Z\"", 951_782_400, 123_456_789), ("{\"$date\":\"1970-01-01T00:00:01Z\"}", 1, 0),
      ("{\"$date\":{\"$numberLong\":\"-1500\"}}", -1, -500_000_000), ("{\"$date\":1500}", 1, 500_000_000),
      ("{\"$date\":{\"seconds\":\"9223372036854775807\",\"nanoseconds\":999999999}}", .max, 999_999_999),
      ("{\"$date\":{\"nanoseconds\":0,\"seconds\":-5}}", -5, 0),
    ] as [(String, Int64, Int32)]
  )
  func dates(text: String, seconds: Int64, nanoseconds: Int32) throws {
    #expect(try value(text, .date) == .date(Timestamp(seconds: seconds, nanoseconds: nanoseconds)))
  }

  @Test("invalid dates are refused")
  func badDates() {
    for text in [
      "2024-05-01", "2024-13-01T00:00:00Z", "2023-02-29T00:00:00Z", "2024-05-01T24:00:00Z", "2024-05-01T10:00:00",
      "2024-05-01T10:00:60Z", "2024-05-01T10:00:00.Z", "2024-05-01T10:00:00.1234567891Z", "0000-01-01T00:00:00Z",
      "24-05-01T10:00:00Z", "2024-05-01T10:00:00Zx", "", "1900-02-29T00:00:00Z",
    ] {
      #expect(kind("\"\(text)\"", .date) == "wrongType", "\(text)")
    }
    #expect(kind("1500", .date) == "wrongType")
    #expect(kind("{\"$date\":{\"seconds\":\"1\",\"nanoseconds\":-1}}", .date) == "outOfRange")
    #expect(kind("{\"$date\":{\"seconds\":\"1\",\"nanoseconds\":1000000000}}", .date) == "outOfRange")
    #expect(kind("{\"$date\":{\"seconds\":\"9223372036854775808\",\"nanoseconds\":0}}", .date) == "outOfRange")
  }

  @Test("binaries, ids and strings in all their forms")
  func bytes() throws {
    #expect(try value("\"AAEC\"", .data) == .data([0, 1, 2]))
    #expect(try value("\"AA==\"", .data) == .data([0]))
    #expect(try value("\"AA\"", .data) == .data([0]))
    #expect(try value("\"\"", .data) == .data([]))
    #expect(try value("{\"$binary\":{\"base64\":\"AAE=\",\"subType\":\"00\"}}", .data) == .data([0, 1]))
    for text in ["\"A\"", "\"AB\"", "\"AA=\"", "\"A A=\"", "\"AA==AA==\"", "7", "\"====\"", "\"AA===\""] {
      #expect(kind(text, .data) == "wrongType", "\(text)")
    }
    #expect(kind("{\"$binary\":{\"base64\":\"AA==\",\"subType\":\"05\"}}", .data) == "wrongType")
    let id = ObjectID(high: 0x0123_4567_89ab_cdef, low: 0x0011_2233)
    #expect(try value("\"0123456789ABCDEF00112233\"", .objectID) == .objectID(id))
    #expect(try value("{\"$oid\":\"0123456789abcdef00112233\"}", .objectID) == .objectID(id))
    #expect(kind("\"0123456789abcdef0011223\"", .objectID) == "wrongType")
    let uuid = UniqueID(high: 0x0123_4567_89ab_cdef, low: 0x0011_2233_4455_6677)
    #expect(try value("\"01234567-89AB-cdef-0011-223344556677\"", .uuid) == .uuid(uuid))
    #expect(try value("{\"$uuid\":\"01234567-89ab-cdef-0011-223344556677\"}", .uuid) == .uuid(uuid))
    let binary = "{\"$binary\":{\"base64\":\"ASNFZ4mrze8AESIzRFVmdw==\",\"subType\":\"04\"}}"
    #expect(try value(binary, .uuid) == .uuid(uuid))
    #expect(kind("\"0123456789ab-cdef-0011-2233-44556677\"", .uuid) == "wrongType")
    #expect(try value("{\"$invalidString\":{\"base64\":\"/w==\"}}", .string) == .string([0xFF]))
    #expect(kind("7", .string) == "wrongType")
  }
}
