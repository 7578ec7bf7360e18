// Extended attributes: what an object is in Realm's terms.

import Glibc
import RealmPages

extension FileTree {
  private static let classAttribute = "user.realm.class"
  private static let keyAttribute = "user.realm.key"
  private static let versionAttribute = "user.realm.version"
  private static let errorAttribute = "user.realmfs.error"
  /// The process that serves the mount; `realmfs umount` waits for its end.
  package static let processAttribute = "user.realmfs.pid"

  /// The value of an extended attribute, as text.
  ///
  /// - Throws: `unsupportedAttribute` outside of namespace `user`, without looking at the file; `noSuchAttribute`.
  public func extendedAttribute(_ inode: InodeNumber, _ name: String) throws(FileTreeError) -> String {
    guard name.hasPrefix("user.") else { throw .unsupportedAttribute }
    guard let value = try extendedAttributes(inode).first(where: { $0.name == name })?.value else {
      throw .noSuchAttribute
    }
    return value
  }

  /// The names of the extended attributes of a node.
  public func extendedAttributeNames(_ inode: InodeNumber) throws(FileTreeError) -> [String] {
    try extendedAttributes(inode).map(\.name)
  }

  private func extendedAttributes(_ inode: InodeNumber) throws(FileTreeError) -> [(name: String, value: String)] {
    let reason = try refusalPath(inode).flatMap { refusals.reason(of: $0) }
    return try realmAttributes(inode) + (reason.map { [(Self.errorAttribute, $0)] } ?? [])
  }

  /// The path under which refusals of a file are noted; nil if there are none.
  private func refusalPath(_ inode: InodeNumber) throws(FileTreeError) -> String? {
    if refusals.isEmpty { return nil }
    switch try node(inode) {
    case .object(let ordinal, let key): return shownPath(ordinal, key)
    case .fixed(.schema): return ".realm/schema.json"
    case .fixed(.compact): return ".realm/compact"
    case .memory:
      guard let place = overlay.place(of: inode) else { return nil }
      let name = String(decoding: place.name, as: UTF8.self)
      switch place.directory.spelledNode {
      case .table(let ordinal), .rejectedDirectory(let ordinal):
        return try read { view throws(FileTreeError) in try view.existing(ordinal).shownName } + "/" + name
      default: return name
      }
    default: return nil
    }
  }

  private func realmAttributes(_ inode: InodeNumber) throws(FileTreeError) -> [(name: String, value: String)] {
    let node = try node(inode)
    return try read { view throws(FileTreeError) in
      let version = (name: Self.versionAttribute, value: String(view.snapshot.version))
      switch node {
      case .fixed(.root): return [version, (Self.processAttribute, String(getpid()))]
      case .fixed, .memory, .rejectedDirectory: return []
      case .schemaFile(let ordinal): return [Self.className(try view.existing(ordinal)), version]
      case .table(let ordinal): return [Self.className(try view.existing(ordinal)), version]
      case .object(let ordinal, let key):
        let directory = try view.existing(ordinal)
        let exists: Bool
        do throws(FormatError) { exists = try directory.table.contains(key) } catch {
          throw self.damaged(directory, error)
        }
        guard exists else { throw .stale }
        return [Self.className(directory), (Self.keyAttribute, String(key.value)), version]
      }
    }
  }

  private static func className(_ directory: TableDirectory) -> (name: String, value: String) {
    (classAttribute, directory.table.className ?? directory.table.name)
  }
}
