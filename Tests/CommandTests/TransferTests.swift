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
      ("powershell-utf16.realm", .utf16),
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
