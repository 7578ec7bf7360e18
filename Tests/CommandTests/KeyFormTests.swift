// The forms of an encryption key, and the messages for invalid ones.

import Foundation
import TestSupport
import Testing

@testable import realmfs

@Suite("Forms of a key")
struct KeyFormTests {
  private static let bytes = (0..<64).map { UInt8(truncatingIfNeeded: $0 * 37 + 250) }
  private static let hexadecimal = bytes.map { String(format: "%02x", $0) }.joined()
  private static let base64 = Data(bytes).base64EncodedString()

  /// The form that is recognized, or the message.
  private func verdict(_ content: some Sequence<UInt8>) throws -> Result<KeyForm, KeyFormError> {
    let folder = try TemporaryFolder(), file = folder.url.appending(path: "key")
    defer { folder.remove() }
    try Data(content).write(to: file)
    let descriptor = open(file.path, O_RDONLY)
    defer { close(descriptor) }
    var secret = SecretBuffer()
    #expect(secret.read(from: descriptor) == 0)
    do throws(KeyFormError) {
      return .success(try KeyForm.key(in: secret).form)
    } catch {
      return .failure(error)
    }
  }

  private func form(_ text: String) throws -> KeyForm? { try? verdict(text.utf8).get() }

  @Test("raw, also with a newline after it")
  func raw() throws {
    #expect(try verdict(Self.bytes).get() == .raw)
    #expect(try verdict(Self.bytes + [0x0A]).get() == .rawWithNewline)
  }

  @Test("128 hexadecimal digits in either case, with white space anywhere")
  func hexadecimal() throws {
    #expect(try form(Self.hexadecimal) == .hexadecimal)
    #expect(try form(Self.hexadecimal.uppercased() + "\r\n") == .hexadecimal)
    #expect(try form(" " + Self.hexadecimal.map { "\($0) " }.joined()) == .hexadecimal)
  }

  @Test("base64 in both alphabets, with and without padding, in lines")
  func base64() throws {
    #expect(try form(Self.base64) == .base64)
    #expect(try form(Self.base64.filter { $0 != "=" } + "\n") == .base64)
    #expect(try form(Self.base64.replacing("+", with: "-").replacing("/", with: "_")) == .base64)
    #expect(try form(Self.base64.prefix(40) + "\n" + Self.base64.dropFirst(40)) == .base64)
  }

  @Test("hexadecimal digits after 0x")
  func prefixed() throws {
    #expect(try form("0x" + Self.hexadecimal) == .hexadecimal)
    #expect(try form(" 0X\(Self.hexadecimal)\n") == .hexadecimal)
    #expect(try form("0x" + Self.hexadecimal.dropLast(2)) == nil)
    #expect(try form("0x0x" + Self.hexadecimal) == nil)
  }

  @Test("text with a byte order mark, as written by Windows, also in UTF-16")
  func byteOrderMark() throws {
    let digits = String(repeating: "ab", count: 64)
    #expect(try verdict("\u{FEFF}\(digits)\r\n".utf8).get() == .hexadecimal)
    for text in [digits + "\r\n", "0x" + digits] {
      let units = ("\u{FEFF}" + text).utf16
      #expect(try verdict(units.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }).get() == .hexadecimal)
      #expect(try verdict(units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }).get() == .hexadecimal)
    }
    #expect(try form("\u{FEFF}\u{FEFF}" + digits) == nil)
  }

  @Test("64 hexadecimal digits are refused, not taken for 64 raw bytes")
  func halfKey() throws {
    let digits = String(Self.hexadecimal.prefix(64))
    for text in [digits, digits.uppercased(), digits + "\n", digits + "\r\n", "0x" + digits, "\u{FEFF}" + digits] {
      #expect(throws: KeyFormError.self) { try verdict(text.utf8).get() }
      guard case .failure(let error) = try verdict(text.utf8) else { continue }
      #expect(error.description.hasPrefix("64 hexadecimal digits are 32 bytes; a Realm key has 64"))
    }
    #expect(try verdict(Array(digits.utf8.dropLast()) + [UInt8(ascii: "g")]).get() == .raw)
  }

  @Test("an array of numbers, also signed ones")
  func numbers() throws {
    let unsigned = Self.bytes.map { "\($0)" }, signed = Self.bytes.map { "\(Int8(bitPattern: $0))" }
    for list in [unsigned, signed] {
      #expect(try form("[" + list.joined(separator: ",") + "]") == .numbers)
      #expect(try form(" [ " + list.joined(separator: " ,\n ") + " ]\n") == .numbers)
      #expect(try form("[" + list.dropLast().joined(separator: ",") + "]") == nil)
      #expect(try form("[" + (list + ["1"]).joined(separator: ",") + "]") == nil)
      #expect(try form("[" + list.joined(separator: ",") + ",]") == nil)
      #expect(try form("[" + list.joined(separator: ",")) == nil)
      #expect(try form("[" + list.joined(separator: ",") + "]]") == nil)
      #expect(try form(list.joined(separator: ",") + "]") == nil)
      #expect(try form("[" + list.joined(separator: " ") + "]") == nil)
      for wrong in ["256", "-129", "--1", "- 1", "1 2", "", "x", "99999999999999999999"] {
        #expect(try form("[" + ([wrong] + list.dropFirst()).joined(separator: ",") + "]") == nil, "\(wrong)")
      }
    }
  }

  @Test("64 bytes are raw, also if they look like base64")
  func rawDigits() throws { #expect(try form(String(Self.base64.prefix(64))) == .raw) }

  @Test(
    "an invalid key is described but not printed",
    arguments: [
      ("", "nothing found"), ("0123456789", "10 hexadecimal digits found"), ("not a key", "9 bytes found"),
      (String(repeating: "ab", count: 63), "126 hexadecimal digits found"),
      (String(repeating: "ab", count: 65), "130 hexadecimal digits found"),
      (String(repeating: "k", count: 5000), "more than 4096 bytes found"),
    ]
  )
  func noKey(text: String, message: String) throws {
    guard case .failure(let error) = try verdict(text.utf8) else {
      Issue.record("taken for a key")
      return
    }
    #expect(error.description.hasPrefix(message))
    #expect(text.isEmpty || !error.description.contains(text))
  }
}
