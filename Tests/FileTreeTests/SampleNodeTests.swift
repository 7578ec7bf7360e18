// A new kind of node needs one type, and one line where it is created: here, a directory in the root whose entries are
// the numbers from 1 to 3, each a file with its square. No other part of the tree refers to it.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

/// A directory of numbers.
private struct SquaresNode: DirectoryNode {
  let inode: InodeNumber

  private func file(_ number: Int, _ tree: TreeContext) -> SquareNode {
    let identity = NodeIdentity(SquareNode.self, UInt64(number))
    return SquareNode(
      inode: tree.namespace.nodes.inode(of: identity) { SquareNode(inode: $0, number: number) },
      number: number
    )
  }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view in view.rules.directory(inode, subdirectories: 0, view.modified) }
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    guard let number = Int(String(decoding: name, as: UTF8.self)), (1...3).contains(number) else { throw .notFound }
    return try file(number, tree).attributes(tree)
  }

  func list<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    var listing = ShortListing(of: inode, in: .root, from: position, into: &sink)
    for number in 1...3 {
      let file = file(number, tree)
      try listing.add("\(number)".utf8, file.inode, .file, index: number, to: &sink) { () throws(FileTreeError) in
        attributes ? try file.attributes(tree) : nil
      }
    }
  }
}

/// A file with the square of a number.
private struct SquareNode: FileNode {
  let inode: InodeNumber
  let number: Int

  private var text: [UInt8] { Array("\(number * number)\n".utf8) }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view in view.rules.file(inode, size: text.count, view.modified) }
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    try openComputed(access, by: caller, tree) { _ in text }
  }
}

@Suite("A node of a new kind")
struct SampleNodeTests {
  private func make() throws -> (tree: FileTree, squares: InodeNumber, scratch: ScratchRealm) {
    let scratch = try ScratchRealm("people")
    let tree = try FileTree(RealmWriter(Configuration(path: scratch.file.path)), options: TreeOptions())
    let squares = tree.tree.namespace.nodes.inode(of: NodeIdentity(SquaresNode.self)) { SquaresNode(inode: $0) }
    return (tree, squares, scratch)
  }

  @Test("a new kind of node is listed, looked up and read like any other")
  func reading() throws {
    let (tree, squares, _) = try make()
    let entries = try tree.list(tree.openDirectory(squares), attributes: true)
    #expect(entries.map(\.name) == [".", "..", "1", "2", "3"])
    #expect(try tree.list(tree.openDirectory(squares), batch: 1).map(\.name) == [".", "..", "1", "2", "3"])
    let file = try tree.lookup(squares, Array("3".utf8))
    #expect(file.size == 2 && file.inode == entries.last?.inode)
    let open = try tree.open(file.inode)
    #expect(open.wholeText == "9\n")
    tree.release(open)
    #expect(failure { try tree.lookup(squares, Array("4".utf8)) }?.kind == "notFound")
  }

  @Test("operations that it does not implement are refused by the defaults")
  func refusing() throws {
    let (tree, squares, _) = try make()
    let me = Caller(user: 0, group: 0), file = try tree.lookup(squares, Array("2".utf8)).inode
    var writes = OpenAccess()
    writes.writes = true
    #expect(failure { try tree.open(squares) }?.kind == "isADirectory")
    #expect(failure { try tree.openDirectory(file) }?.kind == "notADirectory")
    #expect(failure { try tree.lookup(file, [49]) }?.kind == "notADirectory")
    #expect(failure { try tree.open(file, writes) }?.kind == "refused forbidden")
    #expect(failure { try tree.destination(file) }?.kind == "refused invalid")
    #expect(
      failure {
        try tree.create(squares, [49, 50], permissions: 0o644, writes, isExclusive: true, by: me)
      }?.kind == "refused forbidden"
    )
    #expect(failure { try tree.unlink(squares, [49]) }?.kind == "refused forbidden")
    #expect(failure { try tree.unlink(squares, [57]) }?.kind == "notFound")
    #expect(failure { try tree.makeDirectory(squares, [57]) }?.kind == "refused forbidden")
    #expect(failure { try tree.removeDirectory(squares, [49]) }?.kind == "refused forbidden")
    #expect(
      failure { try tree.rename(squares, [49], to: .root, [50], .replace, by: me) }?.kind == "refused forbidden"
    )
  }
}
