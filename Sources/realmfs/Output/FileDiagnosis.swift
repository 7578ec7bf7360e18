// The diagnosis that `info` prints for a file that cannot be opened: its external attributes, and the versions still in
// it. The file is only read, and a read error does not end the diagnosis.
import Glibc
import RealmJSON
import RealmPages

/// A diagnosis of a file that cannot be opened.
struct FileDiagnosis {
  private let path: String
  private let size: Int?
  private let kind: String
  /// The selected slot, its root and its file format; nil without a header.
  private let header: (slot: Int, root: UInt64, format: Int)?
  private let versions: [Found]
  private let advice: String?

  /// A version that remains in the file.
  private struct Found {
    let version: RemainingVersion
    let classes: [String]
    /// Descriptions of known losses.
    let problems: [String]
    /// True if the file is as long as the version requires.
    let isComplete: Bool
  }

  /// `realmfs versions` lists more.
  private static let maxVersions = 8

  /// Examines the file in `configuration`, which could not be opened because of `failure`.
  init(_ configuration: Configuration, _ failure: CommandFailure) {
    path = configuration.path
    let (size, mode, head) = Self.look(at: path)
    self.size = size
    let isEncrypted = configuration.encryptionKey != nil
    header = Self.header(head)
    let (kind, family) = Self.look(mode, size, head)
    // An encrypted file cannot be searched without its key, and a file that is not a realm is not worth searching.
    let isRealm = isEncrypted || family == .realm || family == .headless
    let isWorthLooking = failure.code == .damaged && isRealm
    // A file that cannot be searched has no versions to list.
    versions = (isWorthLooking ? try? Self.versions(configuration) : nil) ?? []
    self.kind = isEncrypted && !versions.isEmpty ? "an encrypted realm: parts of it decrypt with this key" : kind
    let isReadable = family != nil && family != .empty && failure.code == .damaged
    let realms = isReadable ? Transfer.realms(in: path) : []
    if isReadable, let transfer = Transfer.of(path, realms: realms) {
      advice = "\(transfer.description): 'realmfs recover' reverts that"
    } else if realms.count > 1 {
      let places = realms.map { "\($0.lowerBound)" }.joined(separator: ", ")
      advice = "realms begin at bytes \(places): 'realmfs recover --offset N' extracts one"
    } else {
      advice = Self.advice(failure.code, versions, family, isRealm: isRealm)
    }
  }

  private static func versions(_ configuration: Configuration) throws(EngineError) -> [Found] {
    let timeline = try VersionTimeline(damaged: configuration)
    return timeline.versions.prefix(maxVersions).map { version in
      let (classes, problems) = timeline.contents(of: version, counts: false)
      return Found(
        version: version,
        classes: classes.map(\.name),
        problems: problems,
        isComplete: version.logicalSize <= timeline.fileSize
      )
    }
  }

  /// The diagnosis as lines of text.
  func lines(_ holders: [LockHolder]) -> [(String, String)] {
    var lines = [("file", path), ("looks like", kind)]
    if let size { lines.append(("file size", "\(size) bytes")) }
    if let header {
      lines.append(("format", "\(header.format)"))
      let root = header.root == .max ? "at the end of the file, as in a copy" : "at \(header.root)"
      lines.append(("root", "\(root), from slot \(header.slot) of the header"))
    }
    for found in versions {
      let version = found.version
      let state = found.isComplete ? "" : ", but the file ends before \(version.logicalSize)"
      let classes = found.classes.isEmpty ? "no classes" : found.classes.joined(separator: ", ")
      let lost = found.problems.isEmpty ? "" : "; \(found.problems.joined(separator: "; "))"
      let root = "root at \(version.ref), via \(version.origin)"
      lines.append(("version \(version.version)", "\(root)\(state): \(classes)\(lost)"))
    }
    lines.append(("in use by", LockHolders.inWords(holders)))
    if let advice { lines.append(("advice", advice)) }
    return lines
  }

  /// The diagnosis as JSON members, which follow those of the error.
  func json(_ holders: [LockHolder]) -> [(String, JSONValue)] {
    [
      ("looksLike", .string(kind)),
      ("fileSize", size.map { .number($0) } ?? .null),
      ("format", header.map { .number($0.format) } ?? .null),
      ("rootSlot", header.map { .number($0.slot) } ?? .null),
      (
        "versions",
        .array(
          versions.map { found in
            .object([
              ("version", .number(Int(clamping: found.version.version))), ("root", .number(found.version.ref)),
              ("foundBy", .string(found.version.origin)), ("logicalSize", .number(found.version.logicalSize)),
              ("complete", .bool(found.isComplete)), ("classes", .array(found.classes.map { .string($0) })),
            ])
          }
        )
      ),
      ("lockHolders", LockHolders.json(holders)),
      ("advice", advice.map { .string($0) } ?? .null),
    ]
  }

  // MARK: examining

  /// True if a file has the signature of an unencrypted realm.
  static func isPlain(_ path: String) -> Bool { header(look(at: path).head) != nil }

  /// Returns the size, mode and first bytes of a file; nil or empty where access is denied.
  private static func look(at path: String) -> (size: Int?, mode: mode_t?, head: [UInt8]) {
    guard case .success(let status) = System.status(path) else { return (nil, nil, []) }
    guard status.st_mode & S_IFMT == S_IFREG else { return (nil, status.st_mode, []) }
    var head = [UInt8](repeating: 0, count: FileKind.headSize)
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    let count = unsafe descriptor < 0 ? 0 : pread(descriptor, &head, FileKind.headSize, 0)
    if descriptor >= 0 { close(descriptor) }
    return (Int(status.st_size), status.st_mode, Array(head.prefix(max(0, count))))
  }

  /// Returns the header, if it contains the signature.
  private static func header(_ head: [UInt8]) -> (slot: Int, root: UInt64, format: Int)? {
    guard head.count >= 24, head[16..<20].elementsEqual("T-DB".utf8) else { return nil }
    let slot = Int(head[23] & 1)
    let root = head[8 * slot..<8 * slot + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return (slot, root, Int(head[20 + slot]))
  }

  /// Describes a file by its external attributes, and returns its family if it can be read.
  private static func look(_ mode: mode_t?, _ size: Int?, _ head: [UInt8]) -> (words: String, FileKind.Family?) {
    guard let mode else { return ("no such file, or no permission to read it", nil) }
    switch mode & S_IFMT {
    case S_IFDIR: return ("a directory", nil)
    case S_IFREG: break
    default: return ("not a regular file", nil)
    }
    guard let size else { return ("a file", nil) }
    if size > 0, head.isEmpty { return ("a file that you cannot read", nil) }
    let kind = FileKind(head, size: size)
    return (kind.words, kind.family)
  }

  private static func advice(
    _ code: ExitCode,
    _ versions: [Found],
    _ family: FileKind.Family?,
    isRealm: Bool
  ) -> String? {
    switch code {
    case .damaged where !versions.isEmpty: "'realmfs recover' saves what can be reached"
    case .damaged where isRealm: "use a backup: the file has no root left from which 'realmfs recover' could start"
    case .keyNeeded where family == .encrypted: "give the key: --key-file, --key-command, --key-env or --key-fd"
    case .upgradeNeeded: "look for a newer realmfs; no release of Realm wrote formats 12 to 19"
    case .inUse: "close the program that has the realm open, or read with --immutable"
    default: nil
    }
  }
}
