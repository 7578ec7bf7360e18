// What `info` says of a file that does not open: what it looks like from outside, and which versions are still in it.
// The file is only read, and a file that cannot be read is no reason to say nothing.
import Glibc
import RealmJSON
import RealmPages

/// What can be told of a file that does not open.
struct FileDiagnosis {
  private let path: String
  private let size: Int?
  private let kind: String
  /// The selected slot and the root in it; nil without a header.
  private let header: (slot: Int, root: UInt64, format: Int)?
  private let versions: [RemainingVersion]
  private let advice: String?

  /// Looks at the file that `configuration` names, which did not open because of `failure`.
  init(_ configuration: Configuration, _ failure: CommandFailure) {
    path = configuration.path
    let (size, mode, head) = Self.look(at: path)
    self.size = size
    let isEncrypted = configuration.encryptionKey != nil
    header = Self.header(head)
    kind = Self.kind(mode, size, head, hasHeader: header != nil)
    // Without a key nothing can be found in an encrypted file, and searching what is no realm tells nothing.
    let isWorthLooking = failure.code == .damaged && (isEncrypted || header != nil)
    // A file in which nothing can be found has no versions to tell of.
    let found = isWorthLooking ? try? RemainingVersion.all(in: configuration) : nil
    versions = found ?? []
    advice = Self.advice(failure.code, versions, kind, hasHeader: header != nil || isEncrypted)
  }

  /// Lines for people.
  func lines(_ holders: [LockHolder]) -> [(String, String)] {
    var lines = [("file", path), ("looks like", kind)]
    if let size { lines.append(("file size", "\(size) bytes")) }
    if let header {
      lines.append(("format", "\(header.format)"))
      let root = header.root == .max ? "at the end of the file, as in a copy" : "at \(header.root)"
      lines.append(("root", "\(root), by slot \(header.slot) of the header"))
    }
    for version in versions {
      let state = version.isComplete ? "" : ", but the file ends before \(version.logicalSize)"
      let classes = version.classes.isEmpty ? "no classes" : version.classes.joined(separator: ", ")
      let lost = version.problems.isEmpty ? "" : "; \(version.problems.joined(separator: "; "))"
      let root = "root at \(version.ref), by \(version.origin)"
      lines.append(("version \(version.version)", "\(root)\(state): \(classes)\(lost)"))
    }
    lines.append(("in use by", holders.isEmpty ? "nobody" : holders.map(\.description).joined(separator: ", ")))
    if let advice { lines.append(("advice", advice)) }
    return lines
  }

  /// Members of JSON, behind those of the error.
  func json(_ holders: [LockHolder]) -> [(String, JSONValue)] {
    [
      ("looksLike", .string(kind)),
      ("fileSize", size.map { .number($0) } ?? .null),
      ("format", header.map { .number($0.format) } ?? .null),
      ("rootSlot", header.map { .number($0.slot) } ?? .null),
      (
        "versions",
        .array(
          versions.map { version in
            .object([
              ("version", .number(Int(clamping: version.version))), ("root", .number(version.ref)),
              ("foundBy", .string(version.origin)), ("logicalSize", .number(version.logicalSize)),
              ("complete", .bool(version.isComplete)), ("classes", .array(version.classes.map { .string($0) })),
            ])
          }
        )
      ),
      (
        "lockHolders",
        .array(holders.map { .object([("pid", .number(Int($0.processID))), ("name", .string($0.name))]) })
      ),
      ("advice", advice.map { .string($0) } ?? .null),
    ]
  }

  // MARK: looking

  private static let headSize = 4096
  private static let encryptedForm = "an encrypted realm: its first page has the form of one"

  /// Size, mode and first bytes; nil and nothing where the system refuses.
  private static func look(at path: String) -> (size: Int?, mode: mode_t?, head: [UInt8]) {
    guard case .success(let status) = System.status(path) else { return (nil, nil, []) }
    guard status.st_mode & S_IFMT == S_IFREG else { return (nil, status.st_mode, []) }
    var head = [UInt8](repeating: 0, count: headSize)
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    let count = descriptor < 0 ? 0 : pread(descriptor, &head, headSize, 0)
    if descriptor >= 0 { close(descriptor) }
    return (Int(status.st_size), status.st_mode, Array(head.prefix(max(0, count))))
  }

  /// The header, if the signature stands where it should.
  private static func header(_ head: [UInt8]) -> (slot: Int, root: UInt64, format: Int)? {
    guard head.count >= 24, head[16..<20].elementsEqual("T-DB".utf8) else { return nil }
    let slot = Int(head[23] & 1)
    let root = head[8 * slot..<8 * slot + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return (slot, root, Int(head[20 + slot]))
  }

  private static let signatures: [(bytes: [UInt8], kind: String)] = [
    (Array("SQLite format 3\0".utf8), "a SQLite database"),
    ([0x1F, 0x8B], "a gzip archive: unpack it first"),
    (Array("PK\u{3}\u{4}".utf8), "a zip archive: unpack it first"),
    ([0x28, 0xB5, 0x2F, 0xFD], "a zstd archive: unpack it first"),
    ([0xFD, 0x37, 0x7A, 0x58, 0x5A], "an xz archive: unpack it first"),
    (Array("Salted__".utf8), "encrypted by openssl, not by Realm"),
    (Array("age-encryption.org".utf8), "encrypted by age, not by Realm"),
  ]

  private static func kind(_ mode: mode_t?, _ size: Int?, _ head: [UInt8], hasHeader: Bool) -> String {
    guard let mode else { return "nothing: it is missing or cannot be looked at" }
    switch mode & S_IFMT {
    case S_IFDIR: return "a directory"
    case S_IFREG: break
    default: return "no regular file"
    }
    guard let size else { return "a file" }
    if size == 0 { return "an empty file" }
    if head.isEmpty { return "a file that you may not read" }
    if hasHeader { return "a Realm file" }
    if let known = signatures.first(where: { head.starts(with: $0.bytes) }) { return known.kind }
    if head.allSatisfy({ $0 == 0 }) { return "a file that begins with zeros" }
    if size >= 8192, size % 4096 == 0, hasEncryptedForm(head, size) {
      return encryptedForm
    }
    let isText = head.allSatisfy { $0 >= 0x20 && $0 < 0x7F || $0 >= 0x80 || (9...13).contains($0) }
    return isText ? "a text" : "no realm: nothing in it tells one"
  }

  /// Whether the first page can be that of an encrypted realm: 64 slots, each with a counter and a MAC twice. A page
  /// that was written has a counter that is not 0, the former one is smaller, and slots beyond the end are empty.
  private static func hasEncryptedForm(_ head: [UInt8], _ size: Int) -> Bool {
    guard head.count == headSize else { return false }
    func counter(_ offset: Int) -> Int {
      (0..<4).reduce(0) { $0 | Int(head[offset + $1]) << (8 * $1) }
    }
    let pages = min(64, size / 4096 - 1)
    for slot in 0..<64 {
      let (now, former) = (counter(64 * slot), counter(64 * slot + 32))
      if slot >= pages, now != 0 { return false }
      if now > 1 << 28 || former > now { return false }
    }
    return counter(0) != 0
  }

  private static func advice(
    _ code: ExitCode,
    _ versions: [RemainingVersion],
    _ kind: String,
    hasHeader: Bool
  ) -> String? {
    switch code {
    case .damaged where !versions.isEmpty: "'realmfs recover' saves what can be reached"
    case .damaged where hasHeader: "use a backup: no root is left that 'realmfs recover' could start from"
    case .keyNeeded where kind == encryptedForm: "give the key: --key-file, --key-command, --key-env or --key-fd"
    case .upgradeNeeded: "look for a newer realmfs; no release of Realm wrote formats 12 to 19"
    case .inUse: "close the program that has the realm open, or read with --immutable"
    default: nil
    }
  }
}
