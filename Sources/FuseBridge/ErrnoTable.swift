// The errno that a failed operation returns: the only place where an errno is chosen for an error of the tree.

import FileTree
import Glibc

extension FileTreeError {
  /// The errno that stands for this error.
  var errno: Int32 {
    switch self {
    case .notFound: ENOENT
    // The kernel looks the name up again, and tells ENOENT or opens what has taken the place.
    case .stale: ESTALE
    case .notADirectory: ENOTDIR
    case .isADirectory: EISDIR
    case .readOnly: EROFS
    case .noSuchAttribute: ENODATA
    // ls asks once and remembers.
    case .unsupportedAttribute: EOPNOTSUPP
    case .busy: EAGAIN
    // The file was encrypted, or encrypted with another key, since it was mounted.
    case .unavailable where needsKey: ENOKEY
    case .unavailable where hasOtherKey: EKEYEXPIRED
    // A folder that was locked by its encryption, or by its mode.
    case .unavailable: isLockedOut ? EACCES : EIO
    case .damaged: EIO
    case .noSuchClass: ENOENT
    case .refused(let refusal, _): refusal.errno
    }
  }
}

extension Refusal {
  /// The errno that stands for this kind of refusal.
  fileprivate var errno: Int32 {
    switch self {
    case .invalid: EINVAL
    case .outOfRange: ERANGE
    case .exists: EEXIST
    case .tooLarge: EFBIG
    case .nameTooLong: ENAMETOOLONG
    case .forbidden: EPERM
    case .notEmpty: ENOTEMPTY
    case .noSpace: ENOSPC
    case .busy: EAGAIN
    case .moved, .conflict: ESTALE
    case .otherTree: EXDEV
    case .inUse: EBUSY
    case .noAccess: EACCES
    case .inputOutput: EIO
    case .unsupported: EOPNOTSUPP
    case .timedOut: ETIMEDOUT
    case .offline: ENETDOWN
    case .readOnly: EROFS
    }
  }
}
