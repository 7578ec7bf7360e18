// What differs between two versions as lines, and the files that show it: `.changes` of a snapshot and `.diff` of a
// transaction.

import RealmJSON
import RealmPages

/// Lines of what differs between two versions.
final class DifferenceLines: LineSource {
  let snapshots: [Snapshot]
  private let holds: [VersionHold]
  private let lines: ChangeLines

  var place: LinePlace { .change(lines.place) }

  /// The lines between two versions that are held.
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

extension TreeContext {
  /// Opens a file whose lines tell what differs between a version that is held and the newest.
  ///
  /// `name` is that of the file; `what` names what was damaged if the versions cannot be read.
  func openDifference(
    _ inode: InodeNumber,
    _ name: String,
    since old: VersionHold,
    of what: String
  ) throws(FileTreeError) -> OpenFile {
    let time = try read { view in view.modified }
    let new: VersionHold
    do throws(EngineError) { new = try realm.hold() } catch { throw .unavailable(error) }
    let lines: ChangeLines
    do throws(EngineError) {
      lines = try ChangeLines(
        from: old.snapshot,
        to: new.snapshot,
        time: time,
        classes: options.classes,
        style: options.json
      )
    } catch { throw .damaged(what, error) }
    let stream = StreamedText(DifferenceLines(old, new, lines), place: name, realm, log: damageLog)
    return OpenFile(inode, openFiles.openStream(inode, nil), stream: stream)
  }
}
