// Handles that write: their bytes are in memory, and closing or syncing them saves.
//
// A handle on an object has bytes of its own, so two programs that write to one object do not mix their texts; each
// save is a patch, and the last one wins property by property. Handles on a file in memory share its bytes.

import RealmNames
import RealmPages

/// A file that was made and opened.
public struct CreatedFile: Sendable {
  /// What it is.
  public let attributes: FileAttributes
  /// The handle.
  public let file: OpenFile
}

/// Who asks.
public struct Caller: Sendable {
  /// User id.
  public let user: UInt32
  /// Group id.
  public let group: UInt32

  /// A process of this user and group.
  public init(user: UInt32, group: UInt32) {
    self.user = user
    self.group = group
  }
}

extension FileTree {
  // MARK: opening

  /// Makes a file and opens it. It becomes an object when it is saved, if its name is one of an object.
  ///
  /// - Throws: `refused(.exists)` if there is one and `isExclusive`; `readOnly`, `forbidden`, `nameTooLong`.
  public func create(
    _ parent: InodeNumber,
    _ name: [UInt8],
    permissions: UInt32,
    _ access: OpenAccess,
    isExclusive: Bool,
    by caller: Caller
  ) throws(FileTreeError) -> CreatedFile {
    try writableDirectory(parent)
    do throws(FileTreeError) {
      let attributes = try lookup(parent, name)
      if isExclusive {
        forget(attributes.inode, lookups: 1)
        throw .refused(.exists, "exists already")
      }
      return CreatedFile(attributes: attributes, file: try open(attributes.inode, access, by: caller))
    } catch {
      guard case .notFound = error else { throw error }
    }
    // From here on the file holds what was deleted at its place.
    forgetOldDeletions()
    let place = Overlay.Place(directory: parent, name: name)
    let isObject = try target(of: name, in: parent) != nil
    let file = try makeFile(at: place, [], permissions: permissions, by: caller, isKnown: true)
    openFiles.open(file.inode, OpenFiles.Edit(memory: file, target: nil))
    return CreatedFile(
      attributes: try read { view in view.rules.file(file) },
      file: OpenFile(file.inode, file, nil, access, isWatched: isObject)
    )
  }

  /// Makes a file without opening it.
  public func makeNode(
    _ parent: InodeNumber,
    _ name: [UInt8],
    permissions: UInt32,
    by caller: Caller
  ) throws(FileTreeError) -> FileAttributes {
    let created = try create(parent, name, permissions: permissions, OpenAccess(), isExclusive: true, by: caller)
    release(created.file)
    return created.attributes
  }

  private func makeFile(
    at place: Overlay.Place,
    _ bytes: [UInt8],
    permissions: UInt32,
    by caller: Caller,
    isKnown: Bool
  ) throws(FileTreeError) -> MemoryFile {
    try Self.checkLength(place.name)
    let metadata = MemoryFile.Metadata(
      permissions: permissions & 0o7777,
      owner: caller.user,
      group: caller.group,
      modified: Clock.time()
    )
    guard let file = overlay.makeFile(at: place, bytes, metadata, isKnown: isKnown) else { throw Self.memoryIsShort }
    return file
  }

  static let memoryIsShort = FileTreeError.refused(
    .noSpace,
    "files that are being written take more memory than the mount may use for them"
  )

  /// Opens a file in any way; `release` ends it.
  ///
  /// - Throws: what opening for reading throws; `readOnly`, `forbidden`.
  public func open(
    _ inode: InodeNumber,
    _ access: OpenAccess,
    by caller: Caller = Caller(user: 0, group: 0)
  ) throws(FileTreeError) -> OpenFile {
    let node = try node(inode)
    if case .memory = node { return try openMemory(inode, access) }
    guard access.writes || access.truncates else { return try open(inode) }
    guard saver != nil else { throw .readOnly }
    let target: SaveTarget
    var shared = inode, name: [UInt8] = []
    switch node {
    case .object(let ordinal, let key):
      (shared, name) = try read { view throws(FileTreeError) in
        let directory = try view.existing(ordinal)
        try Self.checkIsWritable(directory)
        return (self.number(directory, key), try self.name(of: key, in: directory))
      }
      target = .object(ordinal, key)
    case .fixed(.schema): target = .schema
    case .fixed(.compact): target = .compact
    case .schemaFile(let ordinal):
      let name = try read { view throws(FileTreeError) in try view.existing(ordinal).name }
      target = .classSchema(name + NameEscaping.suffix.utf8)
    case .fixed(let fixed) where !fixed.isDirectory:
      throw .refused(.forbidden, ".realm/\(fixed.name) is computed")
    default: throw .isADirectory
    }
    let text = access.truncates ? [] : try currentText(shared)
    let metadata = MemoryFile.Metadata(
      permissions: 0,
      owner: caller.user,
      group: caller.group,
      modified: Clock.time()
    )
    guard let edit = overlay.detachedFile(shared, name, text, metadata) else { throw Self.memoryIsShort }
    if access.truncates { edit.truncate(to: 0) } else if access.appends { edit.watchAppending() }
    openFiles.open(shared, OpenFiles.Edit(memory: edit, target: target))
    return OpenFile(shared, edit, target, access, isWatched: target != .compact)
  }

  private func openMemory(_ inode: InodeNumber, _ access: OpenAccess) throws(FileTreeError) -> OpenFile {
    let file = try memoryFile(inode)
    if access.writes || access.truncates, isRefusedText(inode) {
      throw .refused(.forbidden, "a refused text can be read and removed; save it under its own name")
    }
    if access.truncates { file.truncate(to: 0) }
    openFiles.open(inode, OpenFiles.Edit(memory: file, target: nil))
    return OpenFile(inode, file, nil, access, isWatched: try target(nil, of: file) != nil)
  }

  private func isRefusedText(_ inode: InodeNumber) -> Bool {
    switch overlay.place(of: inode)?.directory.spelledNode {
    case .fixed(.rejected), .rejectedDirectory: true
    default: false
    }
  }

  private func currentText(_ inode: InodeNumber) throws(FileTreeError) -> [UInt8] {
    let file = try open(inode)
    if file.maySeedPageCache { pageCacheSeeded(file) }
    defer { release(file) }
    guard case .text(let text) = file.content else { return [] }
    return text
  }

  // MARK: writing

  /// Writes into a handle. Nothing is saved yet, but a command is carried out, and a text that is complete is checked:
  /// shells and most programs do not look at what `close` returns. If saving the text would be refused, the write fails
  /// in that way, the file is as it was before the write, and the refused text is kept where others are.
  public func write(
    _ file: OpenFile,
    _ bytes: [UInt8],
    at offset: Int,
    by caller: Caller? = nil
  ) throws(FileTreeError) {
    guard case .memory(let memory, let target) = file.content, file.access.writes else {
      throw .refused(.forbidden, "not open for writing")
    }
    let writing = try memory.write(bytes, at: file.access.appends ? nil : offset, isWatched: file.isWatched)
    if target == .compact { try save(memory, target, by: caller) }
    if let writing, writing.isDecided { try check(memory, target, writing, by: caller ?? memory.owner) }
  }

  /// Refuses a write that completes a text which cannot be saved.
  private func check(
    _ memory: MemoryFile,
    _ target: SaveTarget?,
    _ writing: MemoryFile.Writing,
    by caller: Caller
  ) throws(FileTreeError) {
    guard let target = try self.target(target, of: memory) else { return }
    var refusal: FileTreeError?
    do throws(FileTreeError) {
      try memory.withContents { (contents) throws(FileTreeError) -> Void in
        do throws(FileTreeError) { try rehearse(contents.bytes, as: target) } catch {
          guard error.isAboutText else { return }
          refusal = error
          memory.undo(writing, refused: error)
          if memory.isNewRefusal(contents.bytes) {
            refused(error, target, contents.bytes, by: caller, known: memory.name)
          }
        }
      }
    } catch {
      // Without room for a second copy of the text, closing the file has to judge it.
      return
    }
    if let refusal { throw refusal }
  }

  /// What saving a file changes: what its handle names, or what it is in the overlay. Nil if it is a scratch file, or
  /// is in no directory any more.
  private func target(_ given: SaveTarget?, of memory: MemoryFile) throws(FileTreeError) -> SaveTarget? {
    if let given { return given }
    if case .object(let ordinal, let key) = overlay.node(memory.inode) { return .object(ordinal, key) }
    guard let place = overlay.place(of: memory.inode) else { return nil }
    return try target(of: place.name, in: place.directory)
  }

  /// Makes room for `count` bytes from `offset` on, by growing the file if `growing`.
  public func allocate(_ file: OpenFile, offset: Int, count: Int, growing: Bool) throws(FileTreeError) {
    guard case .memory(let memory, _) = file.content, file.access.writes else {
      throw .refused(.forbidden, "not open for writing")
    }
    let (end, overflow) = offset.addingReportingOverflow(count)
    if overflow { throw .refused(.tooLarge, "no file can be that large") }
    if growing, end > memory.size { memory.truncate(to: end) }
  }

  /// Sets the size of what a handle writes, or without a handle, of a file by itself: an object then takes the text
  /// that this leaves, if it is one, and is left alone by a size of 0, as opening it with O_TRUNC would.
  func resize(_ inode: InodeNumber, _ file: OpenFile?, to size: Int, by caller: Caller) throws(FileTreeError) {
    guard saver != nil else { throw .readOnly }
    if let file, case .memory(let memory, _) = file.content { return memory.truncate(to: size) }
    if case .memory = try node(inode) { return try memoryFile(inode).truncate(to: size) }
    var access = OpenAccess()
    access.writes = true
    let file = try open(inode, access, by: caller)
    defer { release(file) }
    guard case .memory(let memory, let target?) = file.content, memory.size != size, size > 0 else { return }
    memory.truncate(to: size)
    try save(memory, target, by: caller)
  }

  // MARK: saving

  /// Saves what a handle has written, at each close of it. A file that was only emptied is not saved. What is refused
  /// is kept for `caller`, or for who opened the file.
  public func flush(_ file: OpenFile, by caller: Caller? = nil) throws(FileTreeError) {
    guard case .memory(let memory, let target) = file.content, file.access.writes else { return }
    switch memory.progress {
    case .clean, .emptied: return
    case .refused(let error):
      takeBack(memory)
      throw error
    case .written: try save(memory, target, by: caller)
    }
  }

  /// Saves what a handle has written, and waits until all that was ever saved is on disk. An empty file is refused like
  /// any other text that is none.
  public func synchronize(_ file: OpenFile, by caller: Caller? = nil) throws(FileTreeError) {
    if case .memory(let memory, let target) = file.content, file.access.writes {
      switch memory.progress {
      case .clean: break
      case .refused(let error):
        takeBack(memory)
        throw error
      case .written, .emptied: try save(memory, target, by: caller)
      }
    }
    try synchronize()
  }

  /// Waits until all that was saved is on disk.
  public func synchronize() throws(FileTreeError) { try saver?.synchronize() }

  private func save(_ memory: MemoryFile, _ target: SaveTarget?, by caller: Caller?) throws(FileTreeError) {
    guard let target = try self.target(target, of: memory) else { return memory.noteKept() }
    try memory.withContents { (contents) throws(FileTreeError) -> Void in
      do throws(FileTreeError) {
        let place = overlay.place(of: memory.inode), caller = caller ?? memory.owner
        let saved = try save(contents.bytes, as: target, by: caller, known: memory.name)
        if let place { became(saved, memory, in: place.directory) }
        memory.noteSaved(contents)
      } catch {
        memory.noteRefused(contents, error)
        takeBack(memory)
        throw error
      }
    }
  }

  /// Brings back the object that was removed to make room for a file that is refused.
  func takeBack(_ memory: MemoryFile) {
    if let place = overlay.place(of: memory.inode) { takeBack(place) }
  }

  /// Lets the realm's own file take the place of one in memory that was saved.
  func became(_ saved: SavedAs, _ memory: MemoryFile, in directory: InodeNumber) {
    switch saved {
    case .object(let ordinal, let key):
      overlay.becomeObject(memory.inode, ordinal, key)
      if let home = InodeNumber(spelling: .table(ordinal)) { overlay.takeBack(key, in: home) }
    case .schema:
      if let place = overlay.place(of: memory.inode) { _ = overlay.unlink(place) }
    case .nothing: break
    }
  }

  /// Saves what handles have written and could not be closed, before the tree goes away. What cannot be saved is told
  /// to the log.
  public func finish() {
    for edit in openFiles.unsaved {
      do throws(FileTreeError) { try save(edit.memory, edit.target, by: nil) } catch {
        options.log?("a file that was still being written could not be saved: \(error)")
      }
    }
    takeBackKept()
    do throws(FileTreeError) { try saver?.finish() } catch {
      options.log?("what was saved last is not on disk: \(error)")
    }
    for (place, file) in overlay.allFiles {
      let name = String(decoding: place.name, as: UTF8.self)
      switch place.directory.spelledNode {
      case .fixed(.rejected), .rejectedDirectory:
        options.log?("\(name): its text was refused and is lost now")
      default:
        if file.size > 0, place.name.suffix(5).elementsEqual(NameEscaping.suffix.utf8) {
          options.log?("\(name): no name of an object, so it was in memory only and is lost now")
        }
      }
    }
  }
}
