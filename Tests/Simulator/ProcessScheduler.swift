// Real programs under a scheduler: two to five of them share a realm, and one of them at a time takes one step. The
// seed determines which, which call fails, which program is killed, and which is stopped. After each step that reports
// something, all acknowledged commits must exist.

import Foundation
import RealmPages
import TestSupport

/// A program that the scheduler runs.
private final class Program {
  let number: Int
  let process: Int32
  let input: Int32
  let output: Int32
  /// True if it waits for a byte.
  var isParked = false
  /// Its next step.
  var step = ""
  /// The commits that were on disk when it began its current operation.
  var floor: (numbers: [Int64], version: UInt64) = ([], 0)
  /// The number of steps for which it is not chosen.
  var stopped = 0
  private var buffer: [UInt8] = []

  init(_ number: Int, _ process: Int32, input: Int32, output: Int32) {
    (self.number, self.process, self.input, self.output) = (number, process, input, output)
  }

  /// Reads its output; returns false if it has ended.
  func receive() -> Bool {
    var bytes = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(output, &bytes, bytes.count)
      guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
      buffer += bytes[0..<count]
    }
  }

  /// The next complete line.
  func nextLine() -> String? {
    guard let end = buffer.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    defer { buffer.removeFirst(end + 1) }
    return String(decoding: buffer[..<end], as: UTF8.self)
  }

  /// True if all its threads sleep: it waits for another program.
  var isAsleep: Bool {
    let folder = "/proc/\(process)/task"
    // A process that has ended does not sleep.
    guard let threads = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return false }
    return threads.allSatisfy { thread in
      let text = (try? String(contentsOfFile: "\(folder)/\(thread)/stat", encoding: .utf8)) ?? ""  // likewise
      guard let end = text.lastIndex(of: ")") else { return true }
      return text[end...].dropFirst(2).first == "S"
    }
  }
}

/// One seed.
struct ProcessSimulation {
  private let seed: UInt64
  private let limit: Int
  private let count: Int
  private let path: String
  private let keyName: String
  private let key: EncryptionKey?
  private var random: SplitMix64
  private var programs: [Program] = []
  /// The last commit of each program that is on disk, and its version.
  private var acknowledged = [Int64](repeating: 0, count: SharedContents.programs)
  private var version: UInt64 = 0
  private(set) var steps = 0
  private(set) var kills = 0
  private(set) var faults = 0
  private(set) var commits = 0
  private(set) var reads = 0
  private var log: [String] = []

  /// The time for which all programs may wait for one another.
  private static let timeout: Int32 = 20_000

  init(seed: UInt64, steps limit: Int, programs count: Int? = nil, in folder: TemporaryFolder) throws {
    (self.seed, self.limit) = (seed, limit)
    random = SplitMix64(seed: seed)
    let drawn = 2 + random.below(4)
    self.count = count ?? drawn
    path = folder.path("\(seed).realm")
    keyName = random.below(3) == 0 ? "key" : "plain"
    key = keyName == "key" ? try Fixture.key() : nil
  }

  /// Runs to the end; throws a violation.
  mutating func run() throws {
    defer {
      for program in programs { end(program) }
      for suffix in ["", ".lock", ".note"] { unlink(path + suffix) }
      rmdir(path + ".management")
    }
    do {
      for number in 0..<count { try start(number) }
      while steps < limit { try step() }
      try finish()
    } catch {
      let story = log.suffix(30).joined(separator: "\n  ")
      throw Violation(description: "seed \(seed), step \(steps), \(count) programs: \(error)\n  \(story)")
    }
  }

  private mutating func start(_ number: Int) throws {
    var toProgram: [Int32] = [0, 0], fromProgram: [Int32] = [0, 0]
    guard pipe(&toProgram) == 0, pipe(&fromProgram) == 0 else { throw Violation(description: "pipe") }
    for fd in [toProgram[1], fromProgram[0]] { _ = fcntl(fd, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, toProgram[0], 0)
    posix_spawn_file_actions_adddup2(&actions, fromProgram[1], 1)
    for fd in [toProgram[0], fromProgram[1]] { posix_spawn_file_actions_addclose(&actions, fd) }
    let words = ["/proc/self/exe", "participant", path, "\(number)", "\(random.next())", keyName]
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    var process: pid_t = 0
    let code = posix_spawn(&process, words[0], &actions, nil, &arguments, environ)
    for argument in arguments { free(argument) }
    posix_spawn_file_actions_destroy(&actions)
    close(toProgram[0])
    close(fromProgram[1])
    if code != 0 { throw Violation(description: "posix_spawn: \(code)") }
    _ = fcntl(fromProgram[0], F_SETFL, O_NONBLOCK)
    let program = Program(number, process, input: toProgram[1], output: fromProgram[0])
    programs.append(program)
    try settle(program)
  }

  private func end(_ program: Program) {
    kill(program.process, SIGKILL)
    var status: Int32 = 0
    waitpid(program.process, &status, 0)
    close(program.input)
    close(program.output)
  }

  // MARK: steps

  private mutating func step() throws {
    steps += 1
    // Programs that waited for another one may have been released.
    for program in programs where !program.isParked { try listen(to: program, milliseconds: 0) }
    var ready = programs.filter { $0.isParked && $0.stopped == 0 }
    if ready.isEmpty {
      for program in programs { program.stopped = 0 }
      ready = programs.filter(\.isParked)
    }
    if ready.isEmpty { return try awaitAny() }
    for program in programs where program.stopped > 0 { program.stopped -= 1 }
    let program = ready[random.below(ready.count)]
    switch random.below(400) {
    case 0..<3:
      // Any of them, including one that waits.
      try killOne(programs[random.below(programs.count)])
    case 3 where random.below(4) == 0: try killAll()
    case 4..<7: program.stopped = 50 + random.below(400)
    case 7..<9 where program.step != "act" && program.step != "synced":
      faults += 1
      try go(program, ["i", "n", "h"][random.below(program.step == "pwrite" ? 3 : 2)])
    default: try go(program, "g")
    }
  }

  private mutating func go(_ program: Program, _ how: String) throws {
    note(program, "\(program.step) \(how)")
    program.isParked = false
    if program.step == "act" { program.floor = (acknowledged, version) }
    if write(program.input, how, 1) != 1 { throw Violation(description: "program \(program.number) has ended") }
    try settle(program)
  }

  private mutating func note(_ program: Program, _ text: String) {
    log.append("\(program.number): \(text)")
    if log.count > 200 { log.removeFirst(100) }
  }

  /// Waits until a program is at its next step, or waits for another one.
  private mutating func settle(_ program: Program) throws {
    var looks = 0
    while true {
      try listen(to: program, milliseconds: looks == 0 ? 1 : 2)
      if program.isParked { return }
      looks += 1
      if program.isAsleep {
        // It may just have been woken.
        try listen(to: program, milliseconds: 1)
        if program.isParked || program.isAsleep { return }
      }
      if looks > 10_000 { throw Violation(description: "program \(program.number) runs for ever") }
    }
  }

  private mutating func listen(to program: Program, milliseconds: Int32) throws {
    var descriptor = pollfd(fd: program.output, events: Int16(POLLIN), revents: 0)
    if poll(&descriptor, 1, milliseconds) <= 0 { return }
    let isThere = program.receive()
    while let line = program.nextLine() { try take(line, program) }
    if !isThere { throw Violation(description: "program \(program.number) has ended by itself") }
  }

  private mutating func awaitAny() throws {
    var descriptors = programs.map { pollfd(fd: $0.output, events: Int16(POLLIN), revents: 0) }
    if poll(&descriptors, nfds_t(descriptors.count), Self.timeout) <= 0 {
      if let seconds = ProcessInfo.processInfo.environment["SIMULATOR_HOLD"].flatMap(UInt32.init) {
        // For a debugger.
        say("seed \(seed): programs \(programs.map(\.process)) wait for ever")
        sleep(seconds)
      }
      throw Violation(description: "all programs wait for ever")
    }
  }

  private mutating func take(_ line: String, _ program: Program) throws {
    let words = line.split(separator: " ")
    switch words.first {
    case "s": (program.isParked, program.step) = (true, words.dropFirst().joined(separator: " "))
    case "a":
      note(program, line)
      commits += 1
      guard let number = Int64(words[1]), let made = UInt64(words[2]) else { throw Violation(description: line) }
      // Lines of waiting programs may be late.
      if made <= program.floor.version {
        throw Violation(description: "version \(made) after \(program.floor.version) was on disk")
      }
      acknowledged[program.number] = max(acknowledged[program.number], number)
      version = max(version, made)
    case "r":
      note(program, line)
      reads += 1
      guard let shown = UInt64(words[1]) else { throw Violation(description: line) }
      let numbers = words.dropFirst(2).compactMap { Int64($0) }
      try check(shown, numbers, "program \(program.number)", floor: program.floor)
    case "e": note(program, String(line.prefix(160)))
    default: throw Violation(description: "program \(program.number): \(line)")
    }
  }

  private func check(
    _ shown: UInt64,
    _ numbers: [Int64],
    _ reader: String,
    floor: (numbers: [Int64], version: UInt64)
  ) throws {
    for (number, (found, wanted)) in zip(numbers, floor.numbers).enumerated() where found < wanted {
      throw Violation(description: "\(reader) sees commit \(found) of program \(number), and \(wanted) was on disk")
    }
    if shown < floor.version {
      throw Violation(description: "\(reader) sees version \(shown), and \(floor.version) was on disk")
    }
  }

  // MARK: kills

  private mutating func killOne(_ program: Program) throws {
    kills += 1
    note(program, "killed at \(program.isParked ? program.step : "a lock")")
    end(program)
    programs.removeAll { $0 === program }
    try start(program.number)
  }

  /// Kills all, and checks the file.
  private mutating func killAll() throws {
    for program in programs {
      kills += 1
      note(program, "killed with all others at \(program.isParked ? program.step : "a lock")")
      end(program)
    }
    programs = []
    try checkFile()
    for number in 0..<count { try start(number) }
  }

  private mutating func checkFile() throws {
    if version == 0 { return }
    let snapshot = try Realm(Configuration(path: path, encryptionKey: key, mode: .immutable)).latest()
    let contents = try SharedContents(snapshot)
    try check(contents.version, contents.numbers, "the file", floor: (acknowledged, version))
    // Compaction begins with a new version list, not with a new version.
    version = max(version, contents.version)
  }

  /// Runs all programs to their end.
  private mutating func finish() throws {
    var rounds = 0
    while !programs.isEmpty {
      rounds += 1
      for program in programs where program.isParked {
        program.isParked = false
        _ = write(program.input, program.step == "act" ? "q" : "g", 1)
      }
      var descriptors = programs.map { pollfd(fd: $0.output, events: Int16(POLLIN), revents: 0) }
      if poll(&descriptors, nfds_t(descriptors.count), Self.timeout) <= 0 || rounds > 100_000 {
        throw Violation(description: "a program does not end")
      }
      for program in programs {
        let isThere = program.receive()
        while let line = program.nextLine() { try take(line, program) }
        if !isThere {
          end(program)
          programs.removeAll { $0 === program }
        }
      }
    }
    try checkFile()
  }
}
