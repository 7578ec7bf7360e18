// Maps errors of the tree to errno values. Only this file chooses an errno for such errors.

import FileTree
import Glibc

extension FileTreeError {
  /// The errno for this error.
  var errno: Int32 {
    switch self {
    case .notFound: ENOENT
    // The kernel looks the name up again, and then returns ENOENT or opens the file that replaced it.
    case .stale: ESTALE
    case .notADirectory: ENOTDIR
    case .isADirectory: EISDIR
    case .readOnly: EROFS
    case .noSuchAttribute: ENODATA
    // ls tries only once after this errno.
    case .unsupportedAttribute: EOPNOTSUPP
    case .busy: EAGAIN
    // The file was encrypted, or its key was changed, since it was mounted.
    case .unavailable where needsKey: ENOKEY
    case .unavailable where hasOtherKey: EKEYEXPIRED
    // The encryption or mode of a directory denies access.
    case .unavailable: isLockedOut ? EACCES : EIO
    case .damaged: EIO
    case .noSuchClass: ENOENT
    case .refused(let refusal, _): refusal.errno
    }
  }
}

extension Refusal {
  /// The errno for this kind of refusal.
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
