// The differences between two versions as JSON Lines, and the files that show them: `.changes` of a snapshot and
// `.diff` of a transaction.

import RealmJSON
import RealmPages

/// Lines of the differences between two versions.
final class DifferenceLines: LineSource {
  let snapshots: [Snapshot]
  private let holds: [VersionHold]
  private let lines: ChangeLines

  var place: LinePlace { .change(lines.place) }

  /// Creates the lines of the differences between two held versions.
  init(_ old: VersionHold, _ new: VersionHold, _ lines: ChangeLines) {
    holds = [old, new]
    snapshots = [old.snapshot, new.snapshot]
    self.lines = lines
  }

  func go(to place: LinePlace) { if case .change(let place) = place { lines.go(to: place) } }

  func next(into out: OutputBuffer) -> LineStep {
    switch lines.next(into: out) {
    case .line: .line
    case .damage(let problem): .damage(problem)
    case .end: .end
    }
  }
}

extension FileNode {
  /// Opens a file with the differences between a held version and the newest one.
  ///
  /// `name` is the name of the file; `what` is the subject of the error message if the versions are damaged.
  func openDifference(
    _ name: String,
    since old: VersionHold,
    of what: String,
    _ tree: TreeContext
  ) throws(FileTreeError) -> OpenFile {
    let time = try tree.read { view in view.modified }
    let new: VersionHold
    do { new = try tree.realm.hold() } catch { throw .unavailable(error) }
    let lines: ChangeLines
    do {
      lines = try ChangeLines(
        from: old.snapshot,
        to: new.snapshot,
        time: time,
        classes: tree.options.classes,
        style: tree.options.json
      )
    } catch { throw .damaged(what, error) }
    let stream = StreamedText(DifferenceLines(old, new, lines), place: name, tree.realm, log: tree.views.damageLog)
    return OpenFile(inode, tree.handles.openFiles.openStream(inode, nil), stream: stream)
  }
}
