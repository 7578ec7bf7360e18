// A realm file that has several names. Programs that open it by different ones use different lock files: those of this
// package notice each other, those with Realm's engine do not.
import Glibc
import RealmPages

enum SeveralNames {
  /// Warns of hard links before something is written to the realm at `path`.
  static func warn(_ path: String) {
    guard case .success(let status) = System.status(path), status.st_nlink > 1 else { return }
    Log.notice(
      "\(path) has \(status.st_nlink) names (hard links): a program with Realm's engine that has it open by another "
        + "one does not know of this one, and overwrites its changes; use one name only"
    )
  }
}
