// The locations of the realm files used in tests.

public import Foundation
public import RealmPages

/// A realm file that tests read.
public struct Fixture: Sendable, CustomStringConvertible {
  /// The realm file.
  public let url: URL

  /// The file's name without its extension.
  public var name: String { url.deletingPathExtension().lastPathComponent }
  /// The name with the name of its directory.
  public var description: String { url.deletingLastPathComponent().lastPathComponent + "/" + name }
  /// True if the file requires the key of the fixtures.
  public var isEncrypted: Bool { name.hasSuffix("-encrypted") }

  /// The directory of the package.
  public static let package = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  /// A directory next to the package, for files that are too large for it; may not exist.
  public static let shared = package.deletingLastPathComponent().appendingPathComponent("shared")

  /// The files of the package.
  public static let own = realms(in: package.appendingPathComponent("Tests/Fixtures"))
  /// Files of the package that old releases of Realm's engine wrote, formats 2 to 10.
  public static let old = realms(in: package.appendingPathComponent("Tests/Fixtures/old"))
  /// Malicious and damaged files of the package, without expected trees.
  public static let damaged = realms(in: package.appendingPathComponent("Tests/Fixtures/damaged"))
  /// Larger files created in the same way; empty if they do not exist.
  public static let large = realms(in: shared.appendingPathComponent("fixtures/made")).filter { file in
    !own.contains { $0.name == file.name }
  }
  /// Files written by Realm's SDKs, formats 2 to 24; empty if they do not exist.
  public static let sdk = realms(in: shared.appendingPathComponent("fixtures/sdk"))
  /// All fixtures except the damaged files.
  public static let all = own + old + large + sdk

  /// The fixture of the package with this name.
  public static func named(_ name: String) -> Fixture {
    Fixture(url: package.appendingPathComponent("Tests/Fixtures/\(name).realm"))
  }

  /// The format with which the name begins or ends, as in `v9-name` and `name-v10`; 24 if the name contains none.
  public var format: Int {
    let parts = name.split(separator: "-")
    for part in [parts.first, parts.last] {
      if let part, part.first == "v", let format = Int(part.dropFirst().prefix { $0.isNumber }) { return format }
    }
    return 24
  }

  /// The bytes of the file.
  public func bytes() throws -> [UInt8] { [UInt8](try Data(contentsOf: url)) }

  /// The key of the encrypted fixtures.
  public static func key() throws -> EncryptionKey? {
    let url = package.appendingPathComponent("Tests/Fixtures/encrypted.key.hex")
    let digits = try String(contentsOf: url, encoding: .utf8).compactMap(\.hexDigitValue)
    return EncryptionKey(stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
  }

  /// Returns the configuration for opening the fixture.
  public func configuration() throws -> Configuration {
    Configuration(path: url.path, encryptionKey: isEncrypted ? try Self.key() : nil, mode: .immutable)
  }

  /// Returns the newest version.
  public func snapshot() throws -> Snapshot { try Realm(try configuration()).latest() }

  private static func realms(in folder: URL) -> [Fixture] {
    // A missing directory contains no files; tests that need them report it.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.sorted().filter { $0.hasSuffix(".realm") }.map { Fixture(url: folder.appendingPathComponent($0)) }
  }
}
