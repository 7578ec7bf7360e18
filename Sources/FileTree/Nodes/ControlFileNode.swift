// A file of `.realm` whose text is computed. Writing some of these files changes the realm.

import RealmPages
import Synchronization

/// A computed file.
struct ControlFileNode: FileNode {
  /// Generates the text for a version.
  typealias Text = @Sendable (VersionView, TreeContext) throws(FileTreeError) -> [UInt8]

  let inode: InodeNumber
  let name: StaticString
  /// The target that saving the file changes; nil for a read-only file.
  let target: (any DraftTarget)?
  /// True if the text is cheap enough to generate for a listing.
  let isCheap: Bool
  /// True if the text depends only on the version.
  private let isSteady: Bool
  /// True if the text comes from the realm file. Other texts remain readable if the realm file cannot be read, and
  /// report why.
  private let needsRealm: Bool
  private let text: Text

  init(
    _ inode: InodeNumber,
    _ name: StaticString,
    _ text: @escaping Text,
    target: (any DraftTarget)? = nil,
    isCheap: Bool = true,
    isSteady: Bool = true,
    needsRealm: Bool = true
  ) {
    self.inode = inode
    self.name = name
    self.target = target
    self.isCheap = isCheap
    self.isSteady = isSteady
    self.needsRealm = needsRealm
    self.text = text
  }

  private func text(_ view: VersionView, _ tree: TreeContext) throws(FileTreeError) -> [UInt8] {
    if !isSteady, !tree.options.isFrozen { return try text(view, tree) }
    return try view.controlText(inode) { () throws(FileTreeError) in try text(view, tree) }
  }

  /// Runs `body` on the newest view, or on the last known view for a text that does not come from the realm file.
  private func reading<T>(
    _ tree: TreeContext,
    _ body: (VersionView) throws(FileTreeError) -> T
  ) throws(FileTreeError) -> T {
    try needsRealm ? tree.read(body) : tree.readable(body)
  }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try reading(tree) { view throws(FileTreeError) in
      var attributes = view.rules.file(inode, size: try text(view, tree).count, view.modified)
      attributes.isCacheable = isSteady
      return target == nil ? attributes.readOnly : attributes
    }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { ".realm/\(name)" }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    if !needsRealm, !access.writes, !access.truncates {
      let bytes: [UInt8] = try reading(tree) { view throws(FileTreeError) in try text(view, tree) }
      return OpenFile(inode, tree.handles.openFiles.open(inode, bytes, .live, for: caller.process), text: bytes)
    }
    return try openComputed(access, by: caller, tree) { view throws(FileTreeError) in try text(view, tree) }
  }

  func draftTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget {
    guard let target else { throw .refused(.forbidden, ".realm/\(name) is computed") }
    return target
  }
}

extension FileNode {
  /// Opens a file whose text is computed, for reading or for writing to its target.
  ///
  /// The text differs between versions and is rarely read, so the kernel does not cache it.
  func openComputed(
    _ access: OpenAccess,
    by caller: Caller,
    _ tree: TreeContext,
    _ text: (VersionView) throws(FileTreeError) -> [UInt8]
  ) throws(FileTreeError) -> OpenFile {
    if access.writes || access.truncates {
      guard tree.drafts.saver != nil else { throw .readOnly }
      let target = try draftTarget(tree)
      return try tree.drafts.openDraft(of: inode, [], target, access, by: caller) { () throws(FileTreeError) in
        try tree.read(text)
      }
    }
    let text = try tree.read(text)
    return OpenFile(inode, tree.handles.openFiles.open(inode, text, .live, for: caller.process), text: text)
  }
}

extension VersionView {
  /// The control text of `inode`, if it was generated.
  func knownControlText(_ inode: InodeNumber) -> [UInt8]? { controlTexts.withLock { $0[inode] } }

  /// The control text of `inode`, generated at the first call.
  func controlText(
    _ inode: InodeNumber,
    _ make: () throws(FileTreeError) -> [UInt8]
  ) throws(FileTreeError) -> [UInt8] {
    if let text = knownControlText(inode) { return text }
    let text = try make()
    controlTexts.withLock { $0[inode] = text }
    return text
  }
}
