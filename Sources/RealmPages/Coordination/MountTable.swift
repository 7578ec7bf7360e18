// The mounts that this process sees, from /proc/self/mountinfo (proc(5)).

/// One line of the mount table.
package struct MountEntry: Equatable {
  package let mountPoint: String
  package let type: String
  package let source: String
  /// `major:minor` in decimal, as the file system itself reports it.
  package let device: String

  package init(mountPoint: String, type: String, source: String, device: String) {
    (self.mountPoint, self.type, self.source, self.device) = (mountPoint, type, source, device)
  }

  /// True for a realmfs mount.
  package var isOurs: Bool { type == "fuse.realmfs" }
}

/// The mount table.
package enum MountTable {
  /// All mounts, later ones over earlier ones.
  ///
  /// Empty without /proc.
  package static func entries() -> [MountEntry] { parse(KernelText.of("/proc/self/mountinfo") ?? "") }

  /// All mounts that another process sees, by the paths that it has for them; none if that cannot be read.
  package static func entries(of process: Int32) -> [MountEntry] {
    parse(KernelText.of("/proc/\(process)/mountinfo") ?? "")
  }

  /// The uppermost mount at exactly this real path.
  package static func entry(at path: String) -> MountEntry? { entries().last { $0.mountPoint == path } }

  /// The uppermost mount that contains a real path.
  package static func entry(containing path: String) -> MountEntry? {
    var best: MountEntry?
    for entry in entries() where isPath(path, atOrBelow: entry.mountPoint) {
      if entry.mountPoint.utf8.count >= (best?.mountPoint.utf8.count ?? 0) { best = entry }
    }
    return best
  }

  /// Parses lines such as `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw`.
  package static func parse(_ text: String) -> [MountEntry] {
    text.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ")
      guard let dash = fields.firstIndex(of: "-"), dash >= 6, fields.count > dash + 2 else { return nil }
      return MountEntry(
        mountPoint: unescaped(fields[4]),
        type: String(fields[dash + 1]),
        source: unescaped(fields[dash + 2]),
        device: String(fields[2])
      )
    }
  }

  /// True if an absolute path is `directory` itself or is below it.
  package static func isPath(_ path: String, atOrBelow directory: String) -> Bool {
    path.isExactly(directory) || path.hasPrefix(directory.hasSuffix("/") ? directory : directory + "/")
  }

  /// Decodes the three octal digits that represent white space or a backslash.
  private static func unescaped(_ field: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(field.utf8)[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(3)
      if byte == UInt8(ascii: "\\"), digits.count == 3,
        let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
      {
        bytes.append(code)
        rest = rest.dropFirst(3)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
