// The versions that remain in a file that does not open: those whose root can be read, for helpful messages.

/// A version that may remain in a file, whatever its header contains.
public struct RemainingVersion: Sendable {
  /// A description of how its root was found.
  public let origin: String
  /// The version number; 1 if none is stored.
  public let version: UInt64
  /// The file format as which it is read.
  public let format: Int
  /// The ref of its root.
  public let ref: Int
  /// The file size that this version requires, in bytes.
  public let logicalSize: Int
  /// The classes whose tables can be read, in slot order.
  public let classes: [String]
  /// Descriptions of known losses.
  public let problems: [String]
  /// True if the file is at least that long.
  public let isComplete: Bool

  /// The versions in a file, the one that its header selects first.
  ///
  /// Cost: like `RealmRecovery`, it checks every eighth byte of the file; nothing is kept in memory.
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
