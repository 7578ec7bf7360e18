// Parses the command line against the option table. Options and operands can be in any order, `--` ends the options,
// and an option that is not in the table is a usage error.

import RealmPages

/// The arguments of one command, checked against the option table.
struct Arguments: Sendable {
  let command: CommandName
  private(set) var operands: [String] = []
  private var values: [OptionName: [String]] = [:]
  /// The `-o` options in the order given, their values nil for flags.
  private(set) var mountOptions: [(spec: MountOptionSpec, value: String?)] = []

  /// Returns how often an option was given.
  func count(_ option: OptionName) -> Int { values[option]?.count ?? 0 }

  /// Returns true if an option was given.
  func has(_ option: OptionName) -> Bool { count(option) > 0 }

  /// Returns the value of an option, or nil if it was not given.
  func value(_ option: OptionName) -> String? { values[option]?.last }

  /// Returns all values of an option that may repeat.
  func allValues(_ option: OptionName) -> [String] { values[option] ?? [] }

  /// Returns the value of a mount option of realmfs: empty for a flag, nil if it was not given.
  func mountOption(_ name: MountOptionName) -> String? {
    mountOptions.last { $0.spec.kind == .own(name) }.map { $0.value ?? "" }
  }

  /// The operands that are files.
  var files: [String] {
    zip(Options.command(command)?.arguments ?? [], operands).compactMap { spec, operand in
      if case .file = spec.completion { operand } else { nil }
    }
  }

  /// These arguments without the first operand, for commands that have an action before FILE.
  var withoutFirstOperand: Arguments {
    var rest = self
    rest.operands.removeFirst()
    return rest
  }

  /// Returns a usage error of this command.
  func usage(_ message: String) -> CommandFailure { .usage(message, command: command) }
}

extension Arguments {
  /// Parses the words after the command name.
  ///
  /// If `--help` is given, no other argument is checked, because the command only prints its help.
  init(_ command: CommandName, _ words: [String]) throws {
    self.command = command
    var rest = words[...]
    var onlyOperands = false
    while let word = rest.popFirst() {
      if onlyOperands || !word.hasPrefix("-") || word == "-" {
        operands.append(word)
      } else if word == "--" {
        onlyOperands = true
      } else if word.hasPrefix("--") {
        try takeLong(word.dropFirst(2), &rest)
      } else {
        try takeShort(word.dropFirst(), &rest)
      }
    }
    if has(.help) { return }
    try checkGroups()
    try checkOperands()
  }

  private mutating func takeLong(_ word: Substring, _ rest: inout ArraySlice<String>) throws {
    // Split by scalars: a combining mark at the start of a value forms one character with the `=`.
    let parts = word.unicodeScalars.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      .map { Substring($0) }
    guard let spec = spec(where: { $0.name.rawValue == parts[0] }) else {
      throw usage("unknown option --\(parts[0])\(suggestion(String(parts[0])))")
    }
    guard spec.value != nil else {
      if parts.count > 1 { throw usage("option --\(parts[0]) takes no value") }
      return try take(spec, value: "")
    }
    guard let value = parts.count > 1 ? String(parts[1]) : rest.popFirst() else {
      throw usage("option --\(parts[0]) needs a value")
    }
    try take(spec, value: value)
  }

  /// Parses a cluster of short options. The value of the first one with a value is the rest of the word, or the next
  /// word.
  private mutating func takeShort(_ word: Substring, _ rest: inout ArraySlice<String>) throws {
    var letters = word
    while let letter = letters.popFirst() {
      guard let spec = spec(where: { $0.short == letter }) else { throw usage("unknown option -\(letter)") }
      guard spec.value != nil else {
        try take(spec, value: "")
        continue
      }
      guard let value = letters.isEmpty ? rest.popFirst() : String(letters) else {
        throw usage("option -\(letter) needs a value")
      }
      return try take(spec, value: value)
    }
  }

  private func spec(where matches: (OptionSpec) -> Bool) -> OptionSpec? {
    Options.options.first { $0.commands.contains(command) && matches($0) }
  }

  private mutating func take(_ spec: OptionSpec, value: String) throws {
    if has(spec.name) && !spec.mayRepeat { throw usage("option --\(spec.name.rawValue) is given twice") }
    if case .words(let words) = spec.completion, !words.contains(value) {
      throw usage("option --\(spec.name.rawValue): unknown value '\(value)'; use \(words.joined(separator: ", "))")
    }
    if spec.name == .classes { try checkClasses(value, separator: ",", option: "--class") }
    values[spec.name, default: []].append(value)
    guard spec.name == .options else { return }
    for item in value.split(unescaped: ",") { try takeMountOption(item) }
  }

  private mutating func takeMountOption(_ item: String) throws {
    let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    let value = parts.count > 1 ? String(parts[1]) : nil
    guard let spec = Options.mountOptions.first(where: { $0.name == name && $0.commands.contains(command) }) else {
      let known = Options.mountOptions.filter { $0.commands.contains(command) }.map(\.name)
      let hint = KnownNames(known).nearest(to: name).map { "; did you mean \($0)?" } ?? ""
      throw usage("unknown mount option -o \(name)\(hint)")
    }
    if case .refused(let reason) = spec.kind { throw usage("mount option -o \(name) is refused: \(reason)") }
    if spec.value != nil && (value ?? "").isEmpty { throw usage("mount option -o \(name) needs a value") }
    if spec.value == nil && value != nil { throw usage("mount option -o \(name) takes no value") }
    if spec.kind == .own(.classes) { try checkClasses(value ?? "", separator: ":", option: "mount option -o class") }
    mountOptions.append((spec, value))
  }

  /// Options of other programs, and their equivalents here.
  private static let guesses: [(names: [String], commands: [CommandName], use: String)] = [
    (["max-rows", "top", "head"], [.query, .cat], "--limit N"),
    (["order", "order-by", "sort-by"], [.query, .cat], "--sort PATH, or --sort 'PATH DESC'"),
    (["filter", "query"], [.query, .cat], "--where QUERY"),
    (["key", "password", "passphrase", "encryption-key"], CommandName.allCases, "--key-file FILE"),
  ]

  /// Returns a hint with the option of this command nearest to `name`, or an empty string.
  private func suggestion(_ name: String) -> String {
    if let guess = Self.guesses.first(where: { $0.names.contains(name) && $0.commands.contains(command) }) {
      return "; use \(guess.use)"
    }
    let known = Options.options(of: command).map(\.name.rawValue)
    return KnownNames(known).nearest(to: name).map { "; did you mean --\($0)?" } ?? ""
  }

  /// Rejects an empty class name, as in an empty list, which would select nothing.
  private func checkClasses(_ value: String, separator: Character, option: String) throws {
    if value.parts(unescaped: separator).contains("") {
      throw usage("\(option): '\(value)' has an empty class name; names are separated by '\(separator)'")
    }
  }

  private func checkGroups() throws {
    for spec in Options.options where spec.group != nil && has(spec.name) {
      if let other = Options.options.first(where: { $0.group == spec.group && $0.name != spec.name && has($0.name) }) {
        throw usage("options --\(spec.name.rawValue) and --\(other.name.rawValue) exclude each other")
      }
    }
    for spec in Options.options where spec.commands.contains(command) && has(spec.name) {
      if let other = spec.excludes.first(where: { has($0) }) {
        throw usage("options --\(spec.name.rawValue) and --\(other.rawValue) exclude each other")
      }
    }
  }

  private func checkOperands() throws {
    guard let all = Options.command(command)?.arguments else { return }
    let expected = all.filter { argument in !argument.absentWith.contains { has($0) } }
    if operands.count > expected.count, expected.last?.mayRepeat != true {
      throw usage("unexpected argument '\(operands[expected.count])'\(hint(operands[expected.count]))")
    }
    // The first argument of merge is optional.
    if operands.count < expected.count(where: { !$0.isOptional }) {
      let missing = expected.filter { !$0.isOptional }[operands.count]
      let instead = missing.absentWith.map { "--\($0.rawValue)" }.joined(separator: " or ")
      throw usage("\(missing.name) is missing" + (instead.isEmpty ? "" : ", or \(instead)"))
    }
  }

  /// Returns a hint for an unexpected argument, or an empty string.
  private func hint(_ word: String) -> String {
    if command == .cat { return "; did you mean '\(operands[1])/\(word)'?" }
    return command == .schema ? "; for one class: --class \(word)" : ""
  }
}
