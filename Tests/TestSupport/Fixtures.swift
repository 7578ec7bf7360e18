// Where the realm files of the tests are.

public import Foundation
public import RealmPages

/// A realm file that tests read.
public struct Fixture: Sendable, CustomStringConvertible {
  /// The realm file.
  public let url: URL

  /// The file's name without its extension.
  public var name: String { url.deletingPathExtension().lastPathComponent }
  /// The name, with the folder that it is in.
  public var description: String { url.deletingLastPathComponent().lastPathComponent + "/" + name }
  /// Whether the file needs the fixtures' key.
  public var isEncrypted: Bool { name.hasSuffix("-encrypted") }

  /// The folder of the package.
  public static let package = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  /// Folders beside the package, with more files than it can hold; perhaps absent.
  public static let shared = package.deletingLastPathComponent().appendingPathComponent("shared")

  /// The files of the package.
  public static let own = realms(in: package.appendingPathComponent("Tests/Fixtures"))
  /// Files of the package that old releases of Realm's engine wrote, formats 2 to 10.
  public static let old = realms(in: package.appendingPathComponent("Tests/Fixtures/old"))
  /// Hostile and broken files of the package, without trees.
  public static let damaged = realms(in: package.appendingPathComponent("Tests/Fixtures/damaged"))
  /// Larger files that were made in the same way; empty where they are absent.
  public static let large = realms(in: shared.appendingPathComponent("fixtures/made")).filter { file in
    !own.contains { $0.name == file.name }
  }
  /// Files that Realm's SDKs wrote, formats 2 to 24; empty where they are absent.
  public static let sdk = realms(in: shared.appendingPathComponent("fixtures/sdk"))
  /// All of them.
  public static let all = own + old + large + sdk

  /// The fixture of the package with this name.
  public static func named(_ name: String) -> Fixture {
    Fixture(url: package.appendingPathComponent("Tests/Fixtures/\(name).realm"))
  }

  /// The format that the name begins or ends with, as in `v9-name` and `name-v10`; 24 where it tells none.
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

  /// How the fixture is opened.
  public func configuration() throws -> Configuration {
    Configuration(path: url.path, encryptionKey: isEncrypted ? try Self.key() : nil, mode: .immutable)
  }

  /// The newest version.
  public func snapshot() throws -> Snapshot { try Realm(try configuration()).latest() }

  private static func realms(in folder: URL) -> [Fixture] {
    // A folder that is absent has no files; what needs it says so.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.sorted().filter { $0.hasSuffix(".realm") }.map { Fixture(url: folder.appendingPathComponent($0)) }
  }
}
