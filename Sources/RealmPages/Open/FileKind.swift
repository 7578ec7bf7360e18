// Identifies files without the signature of a realm. An encrypted realm has no marker, but the form of its first page
// is unlike that of other files: counters and MACs of the pages that follow.
// Source: docs/format/4-encryption.md 4.2, 4.4.

import Glibc

/// The kind of a file, determined from its first bytes.
package struct FileKind {
  /// The kinds that messages distinguish.
  package enum Family {
    case empty
    /// Has the signature of a realm.
    case realm
    /// Its first page has the form of an encrypted realm's first page.
    case encrypted
    /// Nodes of a realm after an invalid header.
    case headless
    /// Another recognized kind of file.
    case other
    case unknown
  }

  package let family: Family
  /// The name of the kind with an article, such as `a SQLite database`.
  package let words: String
  /// True if no encrypted realm has this size.
  let isCut: Bool

  /// The number of bytes examined.
  package static let headSize = 4096

  /// Examines `head`, the first bytes (up to `headSize`) of a file of `size` bytes.
  package init(_ head: [UInt8], size: Int) {
    isCut = size % EncryptedLayout.page != 0 || size < 2 * EncryptedLayout.page
    (family, words) = Self.look(head, size)
  }

  /// The kind of an open file. Bytes that cannot be read count as missing.
  init(_ file: FileHandle, size: Int) {
    self.init((try? file.bytes(Self.headSize, at: 0)) ?? [], size: size)  // unreadable counts as empty
  }

  private static func look(_ head: [UInt8], _ size: Int) -> (Family, String) {
    if size == 0 { return (.empty, "an empty file") }
    if head.count >= 24, head[16..<20].elementsEqual("T-DB".utf8) { return (.realm, "a Realm file") }
    if hasEncryptedForm(head) {
      return (.encrypted, "an encrypted realm: the first page looks like one")
    }
    if let known = signatures.first(where: { head.dropFirst($0.offset).starts(with: $0.bytes) }) {
      return (.other, known.words)
    }
    if head.count >= 24, head[1] == 40, head[2] == 48, head[0] <= 1 { return (.other, "the lock file of a realm") }
    if head.allSatisfy({ $0 == 0 }) { return (.other, "a file that begins with zeros") }
    if head.starts(with: [0xFF, 0xFE]) || head.starts(with: [0xFE, 0xFF]) { return (.other, utf16Words(head)) }
    let isText = head.allSatisfy { $0 >= 0x20 && $0 != 0x7F || (9...13).contains($0) }
    if isText && isUTF8(head) { return (.other, textWords(head, size)) }
    if head.starts(with: byteOrderMark), head.dropFirst(3 + 16).starts(with: "T-DB".utf8) {
      return (.other, "a Realm file with a byte order mark in front: 'realmfs recover' removes it")
    }
    if hasNodes(head) { return (.headless, "a Realm file with a damaged header") }
    return (.unknown, "not a realm: no part of it looks like one")
  }

  private static let signatures: [(offset: Int, bytes: [UInt8], words: String)] = [
    (0, Array("SQLite format 3\0".utf8), "a SQLite database"),
    (0, [0x1F, 0x8B], "a gzip archive: unpack it first"),
    (0, Array("PK\u{3}\u{4}".utf8), "a zip archive: unpack it first"),
    (0, Array("PK\u{5}\u{6}".utf8), "an empty zip archive"),
    (0, [0x28, 0xB5, 0x2F, 0xFD], "a zstd archive: unpack it first"),
    (0, [0xFD, 0x37, 0x7A, 0x58, 0x5A], "an xz archive: unpack it first"),
    (0, Array("BZh".utf8), "a bzip2 archive: unpack it first"),
    (0, [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C], "a 7-Zip archive: unpack it first"),
    (257, Array("ustar".utf8), "a tar archive: unpack it first"),
    (0, Array("ANDROID BACKUP\n".utf8), "an Android backup: unpack it first"),
    (0, [0x7F] + Array("ELF".utf8), "an ELF program or library"),
    (0, Array("%PDF-".utf8), "a PDF document"),
    (0, [0x89] + Array("PNG".utf8), "a PNG image"),
    (0, [0xFF, 0xD8, 0xFF], "a JPEG image"),
    (0, Array("bplist00".utf8), "a binary property list"),
    (0, Array("Salted__".utf8), "encrypted by openssl, not by Realm"),
    (0, Array("age-encryption.org".utf8), "encrypted by age, not by Realm"),
    (0, Array("LUKS".utf8), "an encrypted disk (LUKS)"),
  ]

  // MARK: text files in place of a realm

  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
  /// The beginnings of error messages from tools that copy files from devices.
  private static let toolNames = [
    "adb:", "run-as:", "cat:", "cp:", "dd:", "sh:", "su:", "/system/bin/sh:", "error:", "- exec", "Permission denied",
  ]

  private static func utf16Words(_ head: [UInt8]) -> String {
    let isRealm = head.starts(with: [0xFF, 0xFE]) && head.dropFirst(2 + 32).prefix(40).contains(UInt8(ascii: "T"))
    let remedy =
      isRealm
      ? "'realmfs recover' undoes most of it; fetch the file again without PowerShell's '>', such as with 'adb pull'"
      : "name the realm itself"
    return "UTF-16 text, as '>' in PowerShell writes it: \(remedy)"
  }

  /// Describes a text file, quoting its first line if that is informative.
  private static func textWords(_ head: [UInt8], _ size: Int) -> String {
    let text = String(decoding: head.starts(with: byteOrderMark) ? head.dropFirst(3) : head[...], as: UTF8.self)
    if text.hasPrefix("version https://git-lfs.github.com/spec/") {
      return "a Git LFS pointer: fetch the realm itself with 'git lfs pull'"
    }
    let lines = text.split(maxSplits: 1, whereSeparator: \.isNewline)
    guard size < headSize, let first = lines.first, first.unicodeScalars.allSatisfy({ $0.isASCII && $0.value >= 32 })
    else {
      return "a text file"
    }
    if toolNames.contains(where: { first.hasPrefix($0) }) {
      return "the error message of a command, '\(first.prefix(200))': run that command again so that it succeeds"
    }
    let isPath = lines.count == 1 && !first.contains(" ") && (first.contains("/") || first.hasSuffix(".realm"))
    if isPath {
      return "the text of a symbolic link, as git writes it with core.symlinks=false: name the file that it leads to, "
        + "'\(first.prefix(200))'"
    }
    return "a text file"
  }

  /// True if the first page can be that of an encrypted realm: 64 slots, each with two pairs of counter and MAC. The
  /// previous counter is not above the current one, the MAC of a slot in use consists of random bytes, and the first
  /// slot is in use.
  private static func hasEncryptedForm(_ head: [UInt8]) -> Bool {
    guard head.count == headSize else { return false }
    func counter(_ offset: Int) -> Int { (0..<4).reduce(0) { $0 | Int(head[offset + $1]) << (8 * $1) } }
    for slot in stride(from: 0, to: headSize, by: EncryptedLayout.slotSize) {
      let now = counter(slot), former = counter(slot + 32)
      if now > 1 << 28 || former > now { return false }
      // 28 random bytes practically never have fewer than 12 distinct values.
      if now > 0, Set(head[slot + 4..<slot + 32]).count < 12 { return false }
    }
    return counter(0) > 0
  }

  /// True if nodes begin at offsets where nodes can begin: each starts with "AAAA".
  private static func hasNodes(_ head: [UInt8]) -> Bool {
    stride(from: 24, through: head.count - 8, by: 8).count { head[$0..<$0 + 4].allSatisfy { $0 == 0x41 } } >= 3
  }

  /// True if the bytes are UTF-8, except for a character cut off at the end.
  private static func isUTF8(_ bytes: [UInt8]) -> Bool {
    for cut in 0...min(3, bytes.count) where String(validating: bytes.dropLast(cut), as: UTF8.self) != nil {
      return true
    }
    return false
  }
}

extension EngineError {
  /// The error for a file without the signature of a realm that was opened without a key.
  init(_ kind: FileKind, path: String) {
    switch kind.family {
    case .encrypted:
      let cut = kind.isCut ? "looks like a truncated encrypted realm" : "looks encrypted"
      self.init(.keyNeeded, "\(path): \(cut): give its key, for example with --key-file")
    case .headless, .realm:
      self.init(.damaged, "\(path): the header is damaged: 'realmfs recover' looks for what is left")
    case .empty:
      self.init(.notARealm, "\(path): an empty file, not a Realm file; an app makes a new realm of it")
    case .other: self.init(.notARealm, "\(path): not a Realm file: it is \(kind.words)")
    case .unknown:
      self.init(
        .notARealm,
        "\(path): not a Realm file, and not an encrypted one either, unless its first page is damaged"
      )
    }
  }
}
