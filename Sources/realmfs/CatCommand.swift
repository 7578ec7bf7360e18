// `realmfs cat`: objects as JSON without a mount.
//
// Objects are printed batch by batch. No place in the lock file protects a batch from a writer in another program, so
// it is printed only if the version it was read from is still the newest; otherwise it is read again from the new one.
import FileTree
import Glibc
import RealmJSON
import RealmNames
import RealmPages
import RealmTransfer

/// The command `cat`.
enum CatCommand {
  static func run(_ arguments: Arguments) throws(CommandFailure) -> ExitCode {
    let style = try arguments.jsonStyle()
    let source = try RealmSource(arguments)
    let target = arguments.operands[1]
    if let slash = target.firstIndex(of: "/"), slash != target.index(before: target.endIndex) {
      try printFile(target, of: source, style: style)
      return .done
    }
    var stream = ClassStream(source, className: String(target.prefix { $0 != "/" }), style: style)
    return try stream.print() ? .done : .damaged
  }

  /// One file of the tree, exactly as a mount shows it.
  private static func printFile(
    _ target: String,
    of source: RealmSource,
    style: JSONStyle
  ) throws(CommandFailure) {
    var options = TreeOptions()
    options.json = style
    options.productVersion = Options.version
    let output = StandardOutput()
    do throws(FileTreeError) {
      let file = try open(target, in: try FileTree(source.realm, options: options))
      file.read(from: 0, count: file.size) { bytes in bytes.withUnsafeBytes { output.buffer.append($0) } }
    } catch {
      throw CommandFailure(error, path: "\(source.path): \(target)")
    }
    try output.flush()
  }

  private static func open(_ target: String, in tree: FileTree) throws(FileTreeError) -> OpenFile {
    let names = target.split(separator: "/").map { Array($0.utf8) }
    var inode = InodeNumber.root
    for (index, name) in names.enumerated() {
      do throws(FileTreeError) {
        inode = try tree.lookup(inode, name).inode
      } catch .notFound where index == names.count - 1 {
        // `Person/4` for `Person/4.json`.
        inode = try tree.lookup(inode, name + Array(NameEscaping.suffix.utf8)).inode
      }
    }
    return try tree.open(inode)
  }
}

/// Prints all objects of one class in key order.
private struct ClassStream {
  private let source: RealmSource
  private let className: String
  private let style: JSONStyle
  private let output = StandardOutput()
  /// The last object whose text is on its way to standard output.
  private var printed = ObjKey.none
  private var problems = 0

  init(_ source: RealmSource, className: String, style: JSONStyle) {
    self.source = source
    self.className = className
    self.style = style
  }

  /// Prints the class; false if something was damaged.
  mutating func print() throws(CommandFailure) -> Bool {
    var attempts = 0
    while true {
      let snapshot = try source.latest()
      if try print(snapshot) { return problems == 0 }
      attempts += 1
      if attempts > RealmSource.attempts { throw source.tooBusy }
    }
  }

  /// Prints what follows `printed` in one version; false if the version was overtaken by a newer one.
  private mutating func print(_ snapshot: Snapshot) throws(CommandFailure) -> Bool {
    let opened = Result { () throws(CommandFailure) in try snapshot.table(ofClass: className, in: source.path) }
    guard source.realm.isCurrent(snapshot) else { return false }
    let table = try opened.get()
    if table.kind == .embedded {
      throw CommandFailure(
        .unreadable,
        "\(source.path): \(className) is an embedded class; its objects are printed inside their parents"
      )
    }
    let renderer = ObjectRenderer(snapshot, style: style)
    let reader = RescuingCursor(table, after: printed)
    while true {
      var complaints: [String] = []
      let isEnd = fill(reader, renderer, &complaints)
      guard source.realm.isCurrent(snapshot) else {
        output.buffer.reset()
        return false
      }
      problems += complaints.count
      for complaint in complaints { Log.error("\(source.path): \(complaint)") }
      try output.flush()
      printed = reader.last
      if isEnd { return true }
    }
  }

  /// Renders objects until the buffer is full; true at the end of the class.
  private func fill(_ reader: RescuingCursor, _ renderer: ObjectRenderer, _ complaints: inout [String]) -> Bool {
    while !output.isFull {
      guard reader.next(&complaints) else { return true }
      do throws(RenderError) {
        try renderer.render(reader.cursor, layout: .compact, into: output.buffer)
      } catch {
        complaints.append(error.description)
      }
    }
    return false
  }
}
