// The text of an errno in messages: the system's, with advice where it does not suggest a remedy.

import Glibc

/// Describes failed system calls.
public enum ErrnoText {
  /// The text of `code`.
  public static func of(_ code: Int32) -> String {
    let text = unsafe String(cString: strerror(code))
    return code == EFBIG ? "\(text): beyond the size that 'ulimit -f' or the file system allows; raise the limit" : text
  }
}
