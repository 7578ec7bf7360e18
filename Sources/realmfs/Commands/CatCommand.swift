// `realmfs cat`: prints objects as JSON without a mount.
//
// Objects are printed in batches. The command has no entry in the lock file, so a writer in another program may
// overwrite the version that a batch is read from. A batch is printed only if that version is still the newest;
// otherwise it is read again from the new version.
import FileTree
import Glibc
import RealmJSON
import RealmNames
import RealmPages
import RealmTransfer

/// The command `cat`.
enum CatCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let style = try arguments.jsonStyle()
    let source = try RealmSource(arguments)
    guard arguments.operands.count > 1 else {
      try refuseSelection(arguments, "needs a class")
      return try listClasses(source)
    }
    let target = arguments.operands[1]
    // Search bytes, not characters: a combining mark after the slash would form one character with it.
    if let slash = target.utf8.firstIndex(of: UInt8(ascii: "/")), target.utf8.index(after: slash) != target.endIndex {
      try refuseSelection(arguments, "is for a class, not for one object")
      try printFile(target, of: source, style: style)
      return .done
    }
    let query = try arguments.condition(at: nil)
    return try ObjectRows(source, arguments, className: String(target.prefix { $0 != "/" }), query: query).run()
  }

  /// Throws if an option selects or orders the objects of a class.
  private static func refuseSelection(_ arguments: Arguments, _ reason: String) throws {
    guard let option = [OptionName.filter, .sort, .limit].first(where: { arguments.has($0) }) else { return }
    throw arguments.usage("--\(option.rawValue) \(reason)")
  }

  /// Prints the names of the printable classes; on a terminal also their object counts and a usage hint.
  private static func listClasses(_ source: RealmSource) throws -> ExitCode {
    let classes = try source.onNewest { snapshot in
      try located(source.path) { try snapshot.classes().filter { $0.kind != .embedded } }
    }
    let output = StandardOutput()
    let isTerminal = isatty(STDOUT_FILENO) != 0
    let width = classes.map { ($0.className ?? "").displayWidth }.max() ?? 0
    for table in classes {
      let name = table.className ?? ""
      let objects = isTerminal ? "  " + (table.damage == nil ? counted(table.objectCount, "object") : "damaged") : ""
      output.print(name + (isTerminal ? String(repeating: " ", count: width - name.displayWidth) : "") + objects + "\n")
    }
    try output.flush()
    if isTerminal, let first = classes.first?.className {
      Log.notice("print a class with 'realmfs cat \(source.path) \(first)'")
    }
    return .done
  }

  /// Prints one file of the tree exactly as a mount shows it.
  private static func printFile(
    _ target: String,
    of source: RealmSource,
    style: JSONStyle
  ) throws {
    var options = TreeOptions()
    options.json = style
    options.productVersion = Options.version
    let output = StandardOutput()
    let stream = try located("\(source.path): \(target)") {
      let file = try open(target, in: try FileTree(source.realm, options: options))
      try file.read(from: 0, count: file.size) { bytes in
        output.buffer.append(bytes, in: 0..<bytes.byteCount)
      }
      return file.stream
    }
    try output.flush()
    if let stream { try print(stream, target, of: source, to: output) }
  }

  /// Prints a streamed text to its end.
  private static func print(
    _ stream: StreamedText,
    _ target: String,
    of source: RealmSource,
    to output: StandardOutput
  ) throws {
    var offset = 0
    while true {
      let bytes: [UInt8]
      do { bytes = try stream.read(from: offset, count: 256 << 10) } catch {
        // The version cannot be pinned without an entry in the lock file.
        if case FileTreeError.stale = error { throw source.tooBusy }
        throw CommandFailure(error, path: "\(source.path): \(target)")
      }
      if bytes.isEmpty { return }
      output.buffer.append(bytes)
      offset += bytes.count
      try output.flush()
    }
  }

  private static func open(_ target: String, in tree: FileTree) throws -> OpenFile {
    let names = target.utf8.split(separator: UInt8(ascii: "/")).map { Array($0) }
    var inode = InodeNumber.root, kind = NodeKind.directory
    for (index, name) in names.enumerated() {
      do {
        let entry = try tree.lookup(inode, name)
        (inode, kind) = (entry.inode, entry.kind)
      } catch {
        guard case .notFound = error, index == names.count - 1 else { throw error }
        // `Person/4` is accepted for `Person/4.json`.
        inode = try tree.lookup(inode, name + Array(NameEscaping.suffix.utf8)).inode
      }
    }
    if kind == .symbolicLink {
      throw FileTreeError.refused(
        .unsupported,
        "it is a symbolic link that works only in a mount; 'realmfs watch --changes' prints commits"
      )
    }
    return try tree.open(inode)
  }
}
