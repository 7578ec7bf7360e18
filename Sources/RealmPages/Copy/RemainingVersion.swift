// What is still there in a file that does not open: the versions whose root can be read, for a message that helps.

/// A version that may still be in a file, whatever its header says.
public struct RemainingVersion: Sendable {
  /// How its root was found, in words.
  public let origin: String
  /// Its number; 1 if it has none.
  public let version: UInt64
  /// The file format that it is read as.
  public let format: Int
  /// Where its root begins.
  public let ref: Int
  /// Where the file would end, in bytes.
  public let logicalSize: Int
  /// The classes whose tables can be read, in slot order.
  public let classes: [String]
  /// What is known to be lost, in words.
  public let problems: [String]
  /// Whether the file is as long as this version needs it to be.
  public let isComplete: Bool

  /// The versions in a file, the one that its header selects first.
  ///
  /// Cost: as `RealmRecovery`, a look at every eighth byte of the file; nothing is kept of it.
  public static func all(in configuration: Configuration) throws(EngineError) -> [RemainingVersion] {
    let file = try RescuedRealm(configuration)
    return file.roots.map { root in
      let (tables, problems) = file.tables(of: root)
      return RemainingVersion(
        origin: root.origin.rawValue,
        version: root.version,
        format: root.format,
        ref: root.ref,
        logicalSize: root.logicalSize,
        classes: tables.compactMap { Table.className(ofTable: $0.name) },
        problems: problems,
        isComplete: root.logicalSize <= file.size
      )
    }
  }
}
