// Realms that were transferred as texts, or that have something in front of them, and damage that many objects share.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import realmfs

@Suite("Transferred realms")
struct TransferTests {
  private static func rescue(_ name: String) -> String {
    Fixture.package.appendingPathComponent("Tests/Fixtures/rescue/\(name)").path
  }

  @Test(
    "the damage from a transfer is recognized",
    arguments: [
      ("bom.realm", Transfer.offset(3, end: 8195)), ("offset-512.realm", .offset(512, end: 8704)),
      ("offset-777.realm", .offset(777, end: 8969)), ("latin1-as-utf8.realm", .latin1),
      ("powershell-utf16.realm", .utf16(.ibm437)),
    ]
  )
  func found(name: String, transfer: Transfer) { #expect(Transfer.of(Self.rescue(name)) == transfer) }

  @Test("files without transfer damage are not misdiagnosed")
  func nothing() {
    for name in [
      "empty-header", "cut-copy-half", "no-roots", "git-lfs-pointer", "adb-cat", "link-as-text", "tls-alert",
    ] {
      #expect(Transfer.of(Self.rescue("\(name).realm")) == nil, "\(name)")
    }
    for fixture in Fixture.all {
      #expect(Transfer.of(fixture.url.path).map { $0 == .lineEndings } ?? true, "\(fixture)")
    }
  }

  @Test("realms embedded in another file are found")
  func image() throws {
    let path = Self.rescue("image-two-realms.bin")
    #expect(Transfer.realms(in: path).map(\.lowerBound) == [1000, 12192])
    #expect(Transfer.of(path) == nil)
  }

  @Test("a realm is restored exactly", arguments: ["bom", "latin1-as-utf8", "offset-512", "offset-777"])
  func restored(name: String) throws {
    let original = try Fixture.named("people").bytes()
    try withTemporaryPath { target in
      let configuration = Configuration(path: Self.rescue("\(name).realm"))
      try Transfer.undoing(configuration, for: target) { (source, transfer) in
        #expect(transfer != nil && FileManager.default.contents(atPath: source.path) == Data(original))
      }
    }
  }

  @Test(
    "a realm that PowerShell wrote as UTF-16 is restored from any code page",
    arguments: [
      (CodePage.ibm437, String.Encoding(rawValue: 0x8000_0400)), (.ibm850, String.Encoding(rawValue: 0x8000_0410)),
      (.windows1252, .windowsCP1252),
    ]
  )
  func codePages(page: CodePage, encoding: String.Encoding) throws {
    // PowerShell turns a lone carriage return into a line end, which cannot be undone; this file has none.
    let original = try Fixture.named("name-limits").bytes() + (0...255).filter { $0 != 0x0D }
    #expect(!original.contains(0x0D))
    var text: [UInt8] = [0xFF, 0xFE]
    for byte in original {
      // Bytes without a character are the control characters with that number.
      let character = byte < 128 ? nil : String(bytes: [byte], encoding: encoding)
      let found = character?.utf16.first ?? UInt16(byte)
      // Windows has the micro sign here, other systems the Greek letter.
      let unit = found == 0x3BC ? 0xB5 : found
      if byte == 0x0A { text += [0x0D, 0] }
      text += [UInt8(unit & 0xFF), UInt8(unit >> 8)]
    }
    try withTemporaryPath { source in
      try Data(text).write(to: URL(fileURLWithPath: source))
      #expect(Transfer.of(source) == .utf16(page))
      try withTemporaryPath { target in
        try Transfer.undoing(Configuration(path: source), for: target) { restored, _ in
          #expect(FileManager.default.contents(atPath: restored.path) == Data(original))
        }
      }
    }
  }

  @Test(
    "text files in place of a realm are identified",
    arguments: [
      ("git-lfs-pointer", "git lfs pull"), ("adb-cat", "No such file or directory"), ("adb-run-as", "not debuggable"),
      ("link-as-text", "'../shared/default.realm'"), ("powershell-utf16", "PowerShell"), ("bom", "byte order mark"),
    ]
  )
  func texts(name: String, words: String) throws {
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: Self.rescue("\(name).realm"))))
    let kind = FileKind(Array(bytes.prefix(FileKind.headSize)), size: bytes.count)
    #expect(kind.family == .other && kind.words.contains(words), "\(kind.words)")
  }

  @Test("problems at one damaged node are reported once")
  func complaints() {
    var complaints = Complaints()
    for key in 0..<256 { complaints.add("Item/\(key), property sku: damaged: node at 348832: short string \(key)") }
    complaints.add("Item/300: damaged: node at 34883: too long")
    complaints.add("Item/301 links to nothing")
    #expect(complaints.count == 258)
    #expect(
      complaints.lines == [
        "Item/0, property sku: damaged: node at 348832: short string 0; 255 more problems at this node",
        "Item/300: damaged: node at 34883: too long", "Item/301 links to nothing",
      ]
    )
  }
}
