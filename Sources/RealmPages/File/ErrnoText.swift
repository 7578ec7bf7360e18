// The words of messages for an errno: the system's, and what to do where these do not suggest it.

import Glibc

/// What a message says of a system call that failed.
public enum ErrnoText {
  /// The text of `code`.
  public static func of(_ code: Int32) -> String {
    let text = unsafe String(cString: strerror(code))
    return code == EFBIG ? "\(text): beyond the size that 'ulimit -f' or the file system allows; raise the limit" : text
  }
}
