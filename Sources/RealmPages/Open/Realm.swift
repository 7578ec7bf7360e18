// An open realm file and the way to its newest version.

import CLinux
import Glibc
import Synchronization

/// An open realm file.
///
/// It takes no place in the lock file, so a writer in another process may reuse space that an older version refers to:
/// readers work on `latest()`, ask `isCurrent` afterwards, and start again when the answer is no.
public final class Realm: Sendable {
  public let configuration: Configuration

  private struct State {
    var file: FileHandle
    var space: PageSpace
    var header: Header
    var snapshot: Snapshot
    /// For an encrypted file: what distinguishes one content of page 0 from another.
    var slot: PageSlot?
    var calls = 0
  }

  private let state: Mutex<State>

  /// The formats that are read.
  public static let readableFormats: Set<Int> = Set(2...11).union(20...24)

  /// Opens a file for reading. Reads the header and the top array, nothing else.
  public init(_ configuration: Configuration) throws(OpenError) {
    self.configuration = configuration
    state = Mutex(try Self.load(configuration))
  }

  /// The newest version. Cheap when nothing changed: it compares the header with the one it knows.
  /// A file that was replaced by rename is opened again. While a file is being cut or rewritten by somebody else, the
  /// error says what was found.
  public func latest() throws(OpenError) -> Snapshot {
    try state.withLock { state throws(OpenError) -> Snapshot in
      state.calls += 1
      if state.calls & 511 == 0 { Self.limitResidentPages(state.space) }
      if !state.space.isSpent && !state.file.wasReplaced() && Self.shows(state) { return state.snapshot }
      if state.file.wasReplaced() {
        state = try Self.load(configuration)
        return state.snapshot
      }
      // A commit may be under way: look again until two looks agree.
      var attempt = 0
      while true {
        do throws(OpenError) {
          state = try Self.load(configuration, reusing: state)
          return state.snapshot
        } catch {
          attempt += 1
          if attempt == 20 { throw error }
          usleep(useconds_t(200 * attempt))
        }
      }
    }
  }

  /// Whether `snapshot` is still the newest version, so that no writer can have reused what it refers to. A reader that
  /// holds no place in the lock file calls this after reading and discards what it read when the answer is no.
  public func isCurrent(_ snapshot: Snapshot) -> Bool {
    clinux_acquire_fence()
    return state.withLock { state in
      state.snapshot === snapshot && Self.shows(state) && !(state.space is MappedFile && state.space.isSpent)
    }
  }

  /// Size, times, mode and owner of the realm file itself.
  public func fileStatus() throws(OpenError) -> FileStatus {
    let file = state.withLock { $0.file }
    do throws(FileError) { return try file.status() } catch { throw OpenError(error) }
  }

  /// Whether the header of the file still leads to the state's snapshot.
  private static func shows(_ state: State) -> Bool {
    if let slot = state.slot { return slot == PageSlot(state.file) }
    let path = state.file.path
    guard let header = try? Header(state.space, path: path, isEncrypted: false)  // an unreadable header is a changed one
    else { return false }
    if header.topRef != state.header.topRef || header.format != state.header.format { return false }
    if header.topRef == 0 { return true }
    // The same place can hold the top array of a later version.
    let arena = Arena(state.space, limit: state.space.size, format: header.format)
    guard let top = try? TopArray(arena, header.topRef) else { return false }  // likewise
    return top.version == state.snapshot.version
  }

  /// Opens the file, or takes a second look at one that is open.
  private static func load(_ configuration: Configuration, reusing old: State? = nil) throws(OpenError) -> State {
    let path = configuration.path
    let file: FileHandle, size: Int
    do throws(FileError) {
      if let old { file = old.file } else { file = try FileHandle(path: path) }
      size = try file.status().size
    } catch {
      throw OpenError(error)
    }
    if size == 0 { throw OpenError(.notARealm, "\(path): an empty file, not a Realm file") }
    if let key = configuration.encryptionKey { return try loadEncrypted(file, size, key) }
    if let old, old.space.size == size, !old.space.isSpent {
      return try finish(file, old.space, isEncrypted: false, slot: nil)
    }
    let mapped: MappedFile
    do throws(FileError) { mapped = try MappedFile(file, size: size) } catch { throw OpenError(error) }
    return try finish(file, mapped, isEncrypted: false, slot: nil)
  }

  private static func loadEncrypted(_ file: FileHandle, _ size: Int, _ key: EncryptionKey) throws(OpenError) -> State {
    let path = file.path, pages: DecryptedPages, slot: PageSlot
    if isPlain(file) {
      throw OpenError(.notEncrypted, "\(path): the file is not encrypted: leave the key out")
    }
    if size < 2 * PageCipher.pageSize || size % PageCipher.pageSize != 0 {
      throw OpenError(
        .damaged,
        "\(path): \(size) bytes: an encrypted realm has at least 8192, in steps of 4096: cut short, or not a realm")
    }
    do throws(FileError) {
      // The slot is read before the page: a change in between is noticed at the next look.
      slot = PageSlot(file)
      pages = try DecryptedPages(file, key: key, physicalSize: size)
    } catch { throw OpenError(error) }
    switch pages.fill(0) {
    case .good, .previousContent: return try finish(file, pages, isEncrypted: true, slot: slot)
    case .beyondEnd: throw OpenError(.damaged, "\(path): cut short: the first encrypted page is not there")
    case .bad, .neverWritten, .interrupted, .zeroed:
      throw OpenError(encryptedFileIsDamaged: pages.anyPageVerifies(), path: path)
    }
  }

  private static func finish(
    _ file: FileHandle, _ space: PageSpace, isEncrypted: Bool, slot: PageSlot?
  ) throws(OpenError) -> State {
    let (header, snapshot) = try Self.snapshot(space, path: file.path, isEncrypted: isEncrypted)
    return State(file: file, space: space, header: header, snapshot: snapshot, slot: slot)
  }

  /// The version that the header of `space` selects. `path` shapes the messages.
  private static func snapshot(
    _ space: PageSpace, path: String, isEncrypted: Bool
  ) throws(OpenError) -> (Header, Snapshot) {
    let header = try Header(space, path: path, isEncrypted: isEncrypted)
    guard readableFormats.contains(header.format) || header.format == 0 && header.topRef == 0 else {
      throw OpenError(
        .unsupportedFormat(header.format),
        "\(path): file format \(header.format): this version reads formats 2 to 11 and 20 to 24")
    }
    do throws(FormatError) { return (header, try Snapshot(space, header)) } catch {
      throw OpenError(.damaged, "\(path): \(error): the file is damaged or cut short")
    }
  }

  /// The newest version in a copy of the bytes of a realm that is not encrypted. `name` shapes the messages.
  public static func snapshot(of bytes: UnsafeRawBufferPointer, name: String = "memory") throws(OpenError) -> Snapshot {
    try snapshot(MemoryPages(bytes), path: name, isEncrypted: false).1
  }

  /// Whether the raw bytes bear the signature of a plain realm.
  private static func isPlain(_ file: FileHandle) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 4)
    let count = bytes.withUnsafeMutableBytes { (try? file.read(into: $0, at: 16)) ?? 0 }  // unreadable: said by the next read
    return count == 4 && bytes == [0x54, 0x2d, 0x44, 0x42]
  }

  /// Keeps the mapped pages that count as this process's memory below about 24 MiB.
  private static func limitResidentPages(_ space: PageSpace) {
    guard let mapped = space as? MappedFile, mapped.size > 24 << 20 else { return }
    if clinux_resident_file_bytes() > 24 << 20 { mapped.dropResidentPages() }
  }
}

/// The metadata slot of page 0 of an encrypted file: it changes with every write of the header.
struct PageSlot: Hashable {
  private let words: [UInt64]

  /// All zeros if it cannot be read.
  init(_ file: FileHandle) {
    var words = [UInt64](repeating: 0, count: EncryptedLayout.slotSize / 8)
    let count = words.withUnsafeMutableBytes { buffer in
      (try? file.read(into: buffer, at: EncryptedLayout.slotOffset(0))) ?? 0  // unreadable: equal to nothing that was read
    }
    self.words = count == EncryptedLayout.slotSize ? words : []
  }
}
