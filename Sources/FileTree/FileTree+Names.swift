// Names that come, go and move. Only unlinking an object's own name deletes it; programs that save by renaming change
// the object that has the name.

import RealmNames
import RealmPages

/// What rename does when the new name exists.
public enum RenameRule: Sendable {
  /// The file there is replaced.
  case replace
  /// It is refused.
  case keep
  /// Both files exchange their names.
  case exchange
}

extension FileTree {
  // MARK: removing

  /// Removes a name: a file in memory, or an object with all that hangs from it.
  public func unlink(_ parent: InodeNumber, _ name: [UInt8]) throws(FileTreeError) {
    guard saver != nil else { throw .readOnly }
    let place = Overlay.Place(directory: parent, name: name)
    if let file = overlay.unlink(place) {
      // A program that clears up after a refusal.
      if file.isRefused { takeBack(place) }
      return
    }
    switch try node(parent) {
    case .table(let ordinal):
      try writableDirectory(parent)
      guard let key = try visibleObject(ordinal, name) else { throw .notFound }
      try delete(ordinal, key, place)
    case .fixed(.root):
      throw try isEntry(parent, name) ? .isADirectory : .notFound
    case .fixed, .rejectedDirectory:
      guard try isEntry(parent, name) else { throw .notFound }
      throw .refused(.forbidden, "files of .realm cannot be removed")
    case .schemaFile, .object, .memory: throw .notADirectory
    }
  }

  private func isEntry(_ parent: InodeNumber, _ name: [UInt8]) throws(FileTreeError) -> Bool {
    do throws(FileTreeError) {
      let attributes = try lookup(parent, name)
      forget(attributes.inode, lookups: 1)
      return true
    } catch {
      guard case .notFound = error else { throw error }
      return false
    }
  }

  /// The object of a name that is not set aside.
  private func visibleObject(_ ordinal: TableOrdinal, _ name: [UInt8]) throws(FileTreeError) -> ObjKey? {
    try read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      guard let key = try self.object(named: name, in: directory) else { return nil }
      return self.overlay.isAside(key, in: directory.inode) ? nil : key
    }
  }

  // MARK: renaming

  /// Gives a file another name. A file in memory that gets an object's name is saved as that object. An object that
  /// gets another name keeps its own, which is hidden as long as the other one stays.
  public func rename(
    _ parent: InodeNumber,
    _ name: [UInt8],
    to newParent: InodeNumber,
    _ newName: [UInt8],
    _ rule: RenameRule,
    by caller: Caller
  ) throws(FileTreeError) {
    try writableDirectory(parent)
    try writableDirectory(newParent)
    try Self.checkLength(newName)
    let source = Overlay.Place(directory: parent, name: name)
    let goal = Overlay.Place(directory: newParent, name: newName)
    if source == goal { return }
    let targetExists = try isEntry(newParent, newName)
    if rule == .keep && targetExists { throw .refused(.exists, "exists already") }
    if rule == .exchange && !targetExists { throw .notFound }
    if case .fixed(.root) = try node(newParent), overlay.file(at: goal) == nil, targetExists { throw .isADirectory }
    if rule == .exchange { return try exchange(source, goal, caller) }
    if let file = overlay.file(at: source) { return try move(file, to: goal, rule, caller) }
    guard case .table(let ordinal) = try node(parent) else {
      throw try isEntry(parent, name)
        ? .refused(.forbidden, "classes and the files of .realm are not renamed") : .notFound
    }
    guard let key = try visibleObject(ordinal, name) else { throw .notFound }
    if try target(of: newName, in: newParent) != nil {
      throw .refused(
        .forbidden,
        "an object is named by its key, which never changes; copy the text to a new name and remove this one"
      )
    }
    try setAside(ordinal, key, source, as: goal)
  }

  private func move(
    _ file: MemoryFile,
    to goal: Overlay.Place,
    _ rule: RenameRule,
    _ caller: Caller
  ) throws(FileTreeError) {
    guard let target = try target(of: goal.name, in: goal.directory) else {
      return overlay.move(file.inode, to: goal)
    }
    if file.size == 0, overlay.file(at: goal) == nil, try !isEntry(goal.directory, goal.name) {
      // Like a new file that nothing was written to yet.
      return overlay.move(file.inode, to: goal)
    }
    try file.withContents { contents throws(FileTreeError) in
      let saved: SavedAs
      do throws(FileTreeError) {
        saved = try save(contents.bytes, as: target, by: caller, mustBeNew: rule == .keep)
      } catch {
        takeBack(goal)
        throw error
      }
      _ = overlay.unlink(goal)
      became(saved, file, in: goal.directory)
      file.noteSaved(contents)
    }
  }

  private func setAside(
    _ ordinal: TableOrdinal,
    _ key: ObjKey,
    _ source: Overlay.Place,
    as goal: Overlay.Place
  ) throws(FileTreeError) {
    let (text, rules, modified) = try read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      let attributes = view.attributes(of: self.number(directory, key), in: directory, size: 0)
      return (
        try self.text(of: key, directory, view), view.rules,
        Timestamp(seconds: attributes.modifiedSeconds, nanoseconds: attributes.modifiedNanoseconds)
      )
    }
    let metadata = MemoryFile.Metadata(
      permissions: rules.filePermissions,
      owner: rules.owner,
      group: rules.group,
      modified: modified
    )
    guard let file = overlay.makeFile(at: goal, text, metadata, isKnown: false) else { throw Self.memoryIsShort }
    overlay.setAside(key, in: source.directory, as: file.inode)
    staleNames.add(goal)
  }

  /// Exchanges two files in memory, or a file in memory with an object, which takes its text.
  private func exchange(_ first: Overlay.Place, _ second: Overlay.Place, _ caller: Caller) throws(FileTreeError) {
    switch (overlay.file(at: first), overlay.file(at: second)) {
    case (let a?, let b?):
      guard try target(of: first.name, in: first.directory) == nil,
        try target(of: second.name, in: second.directory) == nil
      else { throw .refused(.forbidden, "a file that is not saved yet cannot exchange its name") }
      overlay.exchange(a.inode, b.inode)
    case (let file?, nil): try exchange(file, second, caller)
    case (nil, let file?): try exchange(file, first, caller)
    case (nil, nil):
      throw .refused(.forbidden, "an object is named by its key, which never changes")
    }
    staleNames.add(first)
    staleNames.add(second)
  }

  private func exchange(_ file: MemoryFile, _ object: Overlay.Place, _ caller: Caller) throws(FileTreeError) {
    guard case .table(let ordinal) = try node(object.directory),
      let key = try visibleObject(ordinal, object.name)
    else {
      throw .refused(.forbidden, "only objects and files in memory exchange their names")
    }
    let former = try read { view throws(FileTreeError) in try self.text(of: key, try view.existing(ordinal), view) }
    try file.withContents { contents throws(FileTreeError) in
      _ = try save(contents.bytes, as: .object(ordinal, key), by: caller, known: object.name)
    }
    try file.replace(former)
  }

  // MARK: directories

  /// Adds a class.
  public func makeDirectory(_ parent: InodeNumber, _ name: [UInt8]) throws(FileTreeError) -> FileAttributes {
    guard let saver else { throw .readOnly }
    guard case .fixed(.root) = try node(parent) else {
      throw .refused(.forbidden, "directories are classes, and only the top one holds these")
    }
    if try isEntry(parent, name) { throw .refused(.exists, "exists already") }
    guard let className = NameEscaping.className(ofDirectory: name.span.bytes) else {
      throw .refused(.invalid, "no class can have this name: a leading dot and some characters are written as %XX")
    }
    try structural("mkdir", String(decoding: name, as: UTF8.self)) { () throws(FileTreeError) in
      try saver.save(mayWait: false) { transaction throws(FileTreeError) in
        do throws(TransactionError) {
          if try transaction.tableKey(named: Table.classPrefix + className) == nil {
            _ = try transaction.addTable(Table.classPrefix + className)
            return Effect(touched: nil)
          }
        } catch {
          if error.reason == .overLimit { throw .refused(.nameTooLong, error.description) }
          throw FileTreeError(error)
        }
        throw .refused(.exists, "exists already")
      }
    }
    return try lookup(parent, name)
  }

  /// Removes a class that has no objects.
  public func removeDirectory(_ parent: InodeNumber, _ name: [UInt8]) throws(FileTreeError) {
    guard let saver else { throw .readOnly }
    guard case .fixed(.root) = try node(parent) else {
      throw try isEntry(parent, name) ? .refused(.forbidden, "directories of .realm cannot be removed") : .notFound
    }
    if TreeNode.Fixed.control.isNamed(name) { throw .refused(.forbidden, ".realm cannot be removed") }
    if overlay.file(at: Overlay.Place(directory: parent, name: name)) != nil { throw .notADirectory }
    let directory = try read { view throws(FileTreeError) in
      guard let directory = view.rootDirectory(name) else { throw .notFound }
      return directory
    }
    if directory.table.objectCount > 0 || !overlay.isEmpty(directory.inode) {
      throw .refused(.notEmpty, "the class has objects")
    }
    let key = directory.table.key
    try structural("rmdir", directory.shownName) { () throws(FileTreeError) in
      try saver.save(mayWait: false) { transaction throws(FileTreeError) in
        let isEmpty: Bool
        do throws(TransactionError) {
          isEmpty = try transaction.table(key).objectCount == 0
          if isEmpty { try transaction.removeTable(key) }
        } catch {
          if error.reason == .badSchema { throw .refused(.forbidden, error.description) }
          if error.reason == .notFound { throw .notFound }
          throw FileTreeError(error)
        }
        // An object came while this waited for its turn.
        if !isEmpty { throw .refused(.notEmpty, "the class has objects") }
        return Effect(touched: nil)
      }
    }
    overlay.remove(directory.inode)
  }

  /// Runs a change of the schema, and notes why if it is refused.
  private func structural(
    _ operation: String,
    _ path: String,
    _ body: () throws(FileTreeError) -> Void
  ) throws(FileTreeError) {
    do throws(FileTreeError) { try body() } catch {
      refusals.note(path, operation, error.description)
      options.log?("\(path): \(error)")
      throw error
    }
  }
}
