// Sources of the encryption key: a file, standard input, a descriptor, a command or the environment; never argv.
import Glibc
import RealmPages

/// The source of the key given on the command line.
enum KeySource {
  case file(String)
  case descriptor(Int32)
  case command(String)
  case environment(String)

  /// Creates the source given by the arguments; nil if there is none. With `isNew`, it is the source of the new key.
  init?(_ arguments: Arguments, isNew: Bool = false) throws {
    if let path = arguments.value(isNew ? .newKeyFile : .keyFile) {
      self = StandardInput.isNamed(by: path) ? .descriptor(STDIN_FILENO) : .file(path)
    } else if let text = arguments.value(isNew ? .newKeyDescriptor : .keyDescriptor) {
      guard let number = Int32(text), number >= 0 else {
        throw arguments.usage("option --\(isNew ? "new-" : "")key-fd: '\(text)' is not a file descriptor")
      }
      self = .descriptor(number)
    } else if let command = arguments.value(isNew ? .newKeyCommand : .keyCommand) {
      self = .command(command)
    } else if let name = arguments.value(isNew ? .newKeyVariable : .keyVariable) {
      self = .environment(name)
    } else {
      return nil
    }
  }

  /// A description of the source for messages.
  var description: String {
    switch self {
    case .file(let path): "key file \(path)"
    case .descriptor(STDIN_FILENO): "standard input"
    case .descriptor(let number): "file descriptor \(number)"
    case .command: "output of the key command"
    case .environment(let name): "environment variable \(name)"
    }
  }

  /// Reads the key.
  ///
  /// Wipes every buffer that contained the key.
  func read(verbose: Bool) throws -> EncryptionKey {
    if case .descriptor(STDIN_FILENO) = self { try StandardInput.take(as: "the key") }
    var secret = SecretBuffer()
    switch self {
    case .file(let path): try Self.read(&secret, file: path)
    case .descriptor(let number):
      let code = secret.read(from: number)
      close(number)
      // If this was a standard descriptor, the realm file must not be opened with its number.
      System.occupyStandardDescriptors()
      if code != 0 { throw unreadable(System.message(code)) }
    case .command(let command): try read(&secret, command: command)
    case .environment(let name):
      if !secret.takeEnvironment(name) { throw unreadable("it is not set") }
    }
    do {
      let (key, form, isUniform) = try KeyForm.key(in: secret)
      if isUniform { Log.notice("\(description): all 64 bytes of the key are the same, so anyone can guess it") }
      if verbose { Log.notice("\(description): key read, \(form.rawValue)") }
      return key
    } catch {
      throw CommandFailure(.keyNeeded, "\(description): \(error)")
    }
  }

  private static func read(_ secret: inout SecretBuffer, file path: String) throws {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    let code = descriptor < 0 ? errno : secret.read(from: descriptor)
    if descriptor >= 0 { close(descriptor) }
    if code != 0 { throw Self.file(path).unreadable(System.message(code)) }
  }

  private func read(_ secret: inout SecretBuffer, command: String) throws {
    guard let pipe = unsafe popen(command, "r") else { throw unreadable(System.message(errno)) }
    // Read from the descriptor itself, so that stdio keeps no copy of the key.
    let code = unsafe secret.read(from: fileno(pipe))
    let status = unsafe pclose(pipe)
    if code != 0 { throw unreadable(System.message(code)) }
    // A command that wrote too much may have been ended by the closed pipe; the length is then the error to report.
    guard status == 0 || secret.overflowed else {
      let signal = status & 0x7F
      let end = signal == 0 ? "exit status \((status >> 8) & 0xFF)" : "signal \(signal)"
      throw unreadable("the command ended with \(end)")
    }
  }

  private func unreadable(_ reason: String) -> CommandFailure {
    CommandFailure(.keyNeeded, "cannot read the key from \(description): \(reason)")
  }
}
