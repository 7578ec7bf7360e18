// The pipes that `.realm/changes` links to. Each program that follows the link receives its own named pipe, outside the
// mount. A waiting reader therefore blocks in the kernel, not in this server: it can be frozen, killed or polled while
// the server itself is frozen, and it reads end of file when the server ends, however it ends.

import Glibc
import RealmJSON
import RealmPages
import Threads

/// All pipes of a mount, and the thread that writes to them.
final class ChangePipes: @unchecked Sendable {
  // Unchecked: variables are accessed only under the monitor's lock.
  private let monitor = Monitor()
  /// In order of creation.
  private var pipes: [ChangePipe] = []
  private var folder: PipeFolder?
  private var thread: Thread?
  private var isEnding = false
  private var lastNumber: UInt64 = 0

  /// The interval at which the thread checks for commits and readers while there are pipes.
  private static let interval = Duration.milliseconds(20)
  /// The maximum number of unopened pipes: reading the link creates a pipe even if it is never opened.
  private static let maxUnopened = 16
  /// The maximum number of pipes: each uses a file descriptor.
  private static let maxPipes = 256

  /// Returns a number that was never returned before.
  func newNumber() -> UInt64 {
    monitor.locked {
      lastNumber += 1
      return lastNumber
    }
  }

  /// Creates a pipe that delivers the lines of `feed` to the program that opens it, and returns its path. Programs that
  /// may read files of the tree under `rules` can open it, if they can reach the runtime directory of this user.
  ///
  /// - Throws: `inputOutput` or `noSpace` if the system cannot create a pipe or a thread.
  func make(_ feed: sending ChangeFeed, _ rules: AccessRules) throws(FileTreeError) -> [UInt8] {
    let folder = try usableFolder()
    let pipe: ChangePipe
    do { pipe = try ChangePipe(in: folder, feed, rules) } catch {
      throw .refused(error.code == EMFILE ? .noSpace : .inputOutput, "no pipe for .realm/changes: \(error)")
    }
    let isServed = monitor.locked {
      if isEnding || pipes.count >= Self.maxPipes { return false }
      if !thread.start({ [self] in run() }) { return false }
      pipes.append(pipe)
      let unopened = pipes.filter { !$0.isOpened && !$0.hasReader }
      if unopened.count > Self.maxUnopened, let oldest = unopened.first { pipes.removeAll { $0 === oldest } }
      monitor.wakeAll()
      return true
    }
    if isServed { return Array(pipe.path.utf8) }
    throw .refused(.noSpace, "too many programs read .realm/changes, or no thread can be started")
  }

  /// Ends the thread and all pipes: their readers see end of file after the data already written.
  func stop() {
    monitor.locked {
      isEnding = true
      monitor.wakeAll()
      return thread.take()
    }?.join()
    monitor.locked {
      for pipe in pipes { _ = pipe.serve() }
      pipes = []
      folder = nil
    }
  }

  /// The directory of the pipes; created for the first pipe.
  private func usableFolder() throws(FileTreeError) -> String {
    let made: Result<String, EngineError> = monitor.locked {
      // A runtime directory is removed with the last session of its user, but a mount may remain.
      if let folder, folder.exists { return .success(folder.path) }
      do throws(EngineError) {
        let made = try PipeFolder()
        folder = made
        return .success(made.path)
      } catch { return .failure(error) }
    }
    do { return try made.get() } catch {
      throw .refused(.inputOutput, "no folder for the pipes of .realm/changes: \(error)")
    }
  }

  private func run() {
    var isRunning = true
    // The full pipes. A reader that is faster than the interval must not have to wait for it.
    var full: [pollfd] = []
    while isRunning {
      if !full.isEmpty { unsafe _ = poll(&full, nfds_t(full.count), Int32(Self.interval / .milliseconds(1))) }
      isRunning = monitor.locked {
        if !isEnding, full.isEmpty {
          monitor.wait(until: pipes.isEmpty ? nil : MonotonicTime.now.advanced(by: Self.interval))
        }
        pipes.removeAll { !$0.serve() }
        full = pipes.compactMap(\.fullEnd)
        return !isEnding
      }
    }
  }
}

/// One named pipe and the data to write to it. Used by one thread at a time.
private final class ChangePipe {
  let path: String
  /// True once a program has opened the pipe.
  private(set) var isOpened = false
  private let writeEnd: Int32
  private let feed: ChangeFeed
  /// The time at which the pipe is removed if no program has opened it; until then, its feed holds the newest version.
  private let expiry = MonotonicTime.now.advanced(by: .seconds(10))
  /// Data from the feed that is not yet written to the pipe.
  private var rest: ArraySlice<UInt8> = []

  /// The number of bytes taken from the feed at once.
  private static let block = 16 << 10

  init(in folder: String, _ feed: sending ChangeFeed, _ rules: AccessRules) throws(EngineError) {
    path = folder + "/" + String(UInt64.random(in: .min ... .max), radix: 36)
    self.feed = feed
    // Only this process writes, so the mode has no write bits.
    let mode = rules.filePermissions & 0o444
    guard unsafe mkfifo(path, 0o600) == 0 else { throw .failed("mkfifo", path, errno) }
    // A pipe can be opened for writing only while it is open for reading.
    let readEnd = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    writeEnd = unsafe open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
    let code = errno
    if readEnd >= 0 { close(readEnd) }
    guard readEnd >= 0, writeEnd >= 0 else {
      unsafe unlink(path)
      throw .failed("open", path, code)
    }
    // Only root can change the owner. If the group cannot be set, its members are given no access.
    let isOwned = fchown(writeEnd, rules.owner, rules.group) == 0 || fchown(writeEnd, uid_t.max, rules.group) == 0
    fchmod(writeEnd, isOwned ? mode : mode & ~0o070)
  }

  deinit {
    close(writeEnd)
    if !isOpened { unsafe unlink(path) }
  }

  /// True if a program has the pipe open for reading.
  var hasReader: Bool {
    var state = pollfd(fd: writeEnd, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&state, 1, 0) >= 0 && state.revents & Int16(POLLERR) == 0
  }

  /// The write end, to be polled if the pipe is full and there is more to write.
  var fullEnd: pollfd? { rest.isEmpty ? nil : pollfd(fd: writeEnd, events: Int16(POLLOUT), revents: 0) }

  /// Writes the changes of new commits until the pipe is full. Returns false if its reader has closed it.
  func serve() -> Bool {
    if hasReader {
      if !isOpened {
        isOpened = true
        unsafe unlink(path)
      }
      return write()
    }
    if isOpened || MonotonicTime.now >= expiry { return false }
    // A program that opens the pipe for writing, which only root can do, receives EPIPE instead of waiting for a
    // reader. Data it has already written is discarded.
    let readEnd = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    if readEnd >= 0 {
      var discarded = [UInt8](repeating: 0, count: 4096)
      unsafe _ = read(readEnd, &discarded, discarded.count)
      close(readEnd)
    }
    advance()
    return true
  }

  private func write() -> Bool {
    while true {
      if rest.isEmpty {
        advance()
        rest = feed.take(Self.block)[...]
      }
      if rest.isEmpty { return true }
      let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(writeEnd, $0.baseAddress, $0.count) }
      let code = errno
      if count < 0, code == EINTR { continue }
      if count < 0 {
        advance()
        return code == EAGAIN
      }
      rest = rest.dropFirst(count)
    }
  }

  /// Generates the lines of new commits. Commits that cannot be read now are retried at the next check; a gap line
  /// reports those that were missed.
  private func advance() { try? feed.advance() }
}
