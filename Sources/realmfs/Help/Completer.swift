// `realmfs __complete`, which the completion scripts call: lists the candidates for the word being typed.
//
// The output consists of the kind of candidate (files, directories or names) and the names, each terminated by a NUL.
// The realm is opened as by `realmfs cat`, without leaving a trace. After a failure, the output contains fewer names;
// there is no message.
import Glibc
import RealmJSON
import RealmNames
import RealmPages
import Threads

/// The words of a command line, and the candidates for its last word.
struct Completer {
  /// The hidden command.
  static let command = "__complete"

  private let spec: CommandSpec
  private var operands: [String] = []
  private var values: [OptionName: [String]] = [:]
  /// The option whose value is the last word; nil if the last word is not a value.
  private var option: OptionSpec?
  /// The last word, without the name of its option.
  private let typed: String
  /// `--columns=`, if the last word begins with it.
  private let optionPrefix: String

  /// Handles `words WORD...` (the words after the program's name) or `bash WORD LINE` (the part of the line that bash
  /// replaces, and the line up to the cursor).
  static func run(_ words: ArraySlice<String>) -> Int32 {
    // The shell waits for the output, so the time is limited. Nothing is written before the output is complete.
    Thread {
      sleep(secondsAtMost)
      _exit(0)
    }?
    .detach()
    guard let (kind, names) = answer(Array(words)) else { return 0 }
    let output = ([kind] + names).map { $0 + "\0" }.joined()
    _ = StandardOutput.write(Array(output.utf8), to: STDOUT_FILENO)
    return 0
  }

  private static let secondsAtMost: UInt32 = 2

  private static func answer(_ words: [String]) -> (kind: String, names: [String])? {
    if words.first == "words", let completer = Completer(Array(words.dropFirst())) {
      return completer.answer(keepingOption: false)
    }
    guard words.first == "bash", words.count == 3 else { return nil }
    let (text, line) = (words[1], words[2])
    var typed = ShellWords(line).words
    // The program's name may follow variable assignments, or be a path.
    let program = typed.firstIndex { $0 == "realmfs" || $0.hasSuffix("/realmfs") } ?? 0
    typed.removeFirst(min(program + 1, typed.count))
    let head = ShellWords(line.hasSuffix(text) ? String(line.dropLast(text.count)) : line)
    guard let (kind, names) = Completer(typed)?.answer(keepingOption: true) else { return nil }
    let start = head.words.last ?? ""
    let rest = names.filter { $0.hasPrefix(start) }.map { head.quoted(String($0.dropFirst(start.count))) }
    return (kind, rest)
  }

  /// Parses the words after the program's name; nil unless they are a known command and at least one more word.
  private init?(_ words: [String]) {
    guard words.count > 1, let name = CommandName(rawValue: words[0]), let spec = Options.command(name),
      let last = words.last
    else { return nil }
    self.spec = spec
    let all = Options.options(of: name)
    var rest = words[1..<(words.count - 1)], onlyOperands = false
    while let word = rest.popFirst() {
      if onlyOperands || !word.hasPrefix("-") || word == "-" {
        operands.append(word)
      } else if word == "--" {
        onlyOperands = true
      } else if let (found, value) = Self.option(word, among: all) {
        if let value = value ?? (found.value == nil ? "" : rest.popFirst()) {
          values[found.name, default: []].append(value)
        } else {
          option = found
        }
      }
    }
    if option == nil, !onlyOperands, last.hasPrefix("--"), let equals = last.firstIndex(of: "="),
      let (found, value) = Self.option(last, among: all), found.value != nil
    {
      option = found
      (typed, optionPrefix) = (value ?? "", String(last[...equals]))
    } else {
      (typed, optionPrefix) = (last, "")
    }
  }

  /// Returns the option in a word, and its value if the word contains one.
  private static func option(_ word: String, among all: [OptionSpec]) -> (OptionSpec, String?)? {
    if word.hasPrefix("--") {
      let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let found = all.first(where: { $0.name.rawValue == parts[0] }) else { return nil }
      return (found, parts.count > 1 ? String(parts[1]) : nil)
    }
    // A cluster of short flags: the value of the first flag with a value is the rest of the word.
    for (index, letter) in word.dropFirst().enumerated() {
      guard let found = all.first(where: { $0.short == letter }), found.value != nil else { continue }
      let value = word.dropFirst(index + 2)
      return (found, value.isEmpty ? nil : String(value))
    }
    return nil
  }

  /// The operands from FILE on.
  private var operandsFromFile: ArraySlice<String> {
    let index = spec.arguments.firstIndex { if case .file = $0.completion { true } else { false } } ?? 0
    return operands.dropFirst(index)
  }

  private func answer(keepingOption: Bool) -> (kind: String, names: [String]) {
    var place = option?.completion
    if option == nil {
      let argument = operands.count < spec.arguments.count ? spec.arguments[operands.count] : spec.arguments.last
      if operands.count < spec.arguments.count || argument?.mayRepeat == true { place = argument?.completion }
    }
    switch place {
    case .file: return ("files", [])
    case .directory: return ("directories", [])
    case .names(let kind):
      let all = names(kind), same = all.filter { $0.hasPrefix(typed) }
      let found = same.isEmpty ? all.filter { $0.lowercased().hasPrefix(typed.lowercased()) } : same
      return ("names", keepingOption ? found.map { optionPrefix + $0 } : found)
    case .words(let words) where option == nil: return ("names", words.filter { $0.hasPrefix(typed) })
    case .nothing, .command, .words, nil: return ("nothing", [])
    }
  }

  // MARK: names of the realm

  /// Returns all candidates of a kind, regardless of the part already typed; none if the realm cannot be read.
  private func names(_ kind: RealmNameKind) -> [String] {
    guard let configuration = configuration() else { return [] }
    do {
      let source = try RealmSource(configuration)
      return try source.onNewest(attempts: 10) { snapshot in
        try located(source.path) { try names(kind, snapshot) }
      }
    } catch { return [] }
  }

  /// Returns the configuration to open the realm with. The key is read only from a file or a variable: running a
  /// command or reading a descriptor could consume input that the command being typed needs.
  private func configuration() -> Configuration? {
    guard let file = operandsFromFile.first.flatMap(Self.regularFile) else { return nil }
    let source: KeySource
    if let path = values[.keyFile]?.last {
      guard let keyFile = Self.regularFile(path) else { return nil }
      source = .file(keyFile)
    } else if let variable = values[.keyVariable]?.last {
      source = .environment(variable)
    } else {
      return Configuration(path: file, mode: .immutable)
    }
    do {
      return Configuration(path: file, encryptionKey: try source.read(verbose: false), mode: .immutable)
    } catch { return nil }
  }

  /// Returns the path of the regular file that a word refers to, as typed or with a leading ~ or variable expanded.
  /// Other kinds of files are ignored, because opening them may block.
  private static func regularFile(_ word: String) -> String? {
    var candidates = [word]
    if word.hasPrefix("~/") { candidates.append("$HOME" + word.dropFirst()) }
    for path in candidates.map(ShellWords.withVariable) + candidates {
      if case .success(let status) = System.status(path), status.st_mode & S_IFMT == S_IFREG { return path }
    }
    return nil
  }

  private func names(_ kind: RealmNameKind, _ snapshot: Snapshot) throws(EngineError) -> [String] {
    let changesSchema = [.class, .property].contains(spec.name)
    let classes = try snapshot.classes().filter { changesSchema || $0.kind != .embedded }
    switch kind {
    case .classes:
      return try listed { _ in classes.compactMap(\.className).map { $0.replacing(",", with: "\\,") } }
    case .oneClass: return classes.compactMap { $0.className.map(NameEscaping.directory(of:)) }
    case .object: return try objects(classes, afterClass: "/")
    case .classOrObject: return try objects(classes, afterClass: "")
    case .objectsOrQuery:
      if operands.count > 1, !operands[1].contains("/") { return try query(asked(classes), snapshot) }
      return try objects(classes, afterClass: "")
    case .assignment:
      guard !typed.contains("="), let table = asked(classes) else { return [] }
      let given = operands.dropFirst(2).compactMap { $0.split(separator: "=").first.map(String.init) }
      return table.columns.map(\.name).filter { !given.contains($0) }.map { $0 + "=" }
    case .paths:
      return try listed { (part) throws(EngineError) in
        guard let table = asked(classes) else { return [] }
        return try paths(from: table, typed: part, isAlone: true, snapshot).map { $0.replacing(",", with: "\\,") }
      }
    case .query: return try query(asked(classes), snapshot)
    case .property: return asked(classes)?.columns.map(\.name) ?? []
    }
  }

  /// Returns the class that the command refers to: the operand after FILE, or the value of --class.
  private func asked(_ classes: [Table]) -> Table? {
    guard let word = spec.name == .export ? values[.classes]?.last : operandsFromFile.dropFirst().first else {
      return nil
    }
    let name = String(word.prefix { $0 != "/" })
    let decoded = NameEscaping.className(ofDirectory: Array(name.utf8))
    return classes.first { $0.className == name } ?? classes.first { $0.className == decoded }
  }

  /// Returns the typed list with its last element replaced with each name that is not yet in the list.
  private func listed(_ names: (String) throws(EngineError) -> [String]) throws(EngineError) -> [String] {
    var parts = typed.parts(unescaped: ",")
    let last = parts.removeLast()
    let head = String(typed.dropLast(last.replacing(",", with: "\\,").count))
    return try names(last).filter { name in !parts.contains { $0.replacing(",", with: "\\,") == name } }
      .map { head + $0 }
  }

  /// Returns the classes, or after `CLASS/` the objects of that class.
  private func objects(_ classes: [Table], afterClass end: String) throws(EngineError) -> [String] {
    guard let slash = typed.firstIndex(of: "/") else {
      return classes.compactMap { $0.className.map { NameEscaping.directory(of: $0) + end } }
    }
    let directory = typed[..<slash]
    let table = classes.first { $0.className.map(NameEscaping.directory(of:)) ?? "" == directory }
    guard let table, table.objectCount <= Self.maxObjects else { return [] }
    let cursor = ObjectCursor(table), name = OutputBuffer()
    var names: [String] = []
    while try cursor.next() {
      name.reset()
      try NameEscaping.append(fileOf: cursor, column: table.primaryKeyIndex, to: name)
      let stem = name.string.dropLast(NameEscaping.suffix.count)
      // A name that itself ends in the suffix keeps it; without it, the name would denote another object.
      names.append("\(directory)/\(stem.hasSuffix(NameEscaping.suffix) ? name.string[...] : stem)")
    }
    return names
  }

  /// The objects of larger classes are not offered: some of the names would appear to be all of them.
  private static let maxObjects = 50_000

  /// Returns continuations of the typed query that end in a property name.
  private func query(_ table: Table?, _ snapshot: Snapshot) throws(EngineError) -> [String] {
    guard let table else { return [] }
    var start = typed.endIndex
    while start > typed.startIndex {
      let before = typed.index(before: start), character = typed[before]
      let isEscaped = before > typed.startIndex && typed[typed.index(before: before)] == "\\"
      guard character == "." || character == "\\" || isEscaped || Self.isNameCharacter(character) else { break }
      start = before
    }
    let head = typed[..<start]
    return try paths(from: table, typed: String(typed[start...]), isAlone: false, snapshot).map { head + $0 }
  }

  /// Returns the property paths that begin with the links already typed. If `isAlone`, a single property name may
  /// contain any character; all other names are escaped as in a query.
  private func paths(
    from table: Table,
    typed: String,
    isAlone: Bool,
    _ snapshot: Snapshot
  ) throws(EngineError) -> [String] {
    var table = table, head = ""
    var steps = typed.split(separator: ".", omittingEmptySubsequences: false)
    // A property name that contains a dot is not a path.
    let isName = isAlone && table.columns.contains { $0.name.hasPrefix(typed) }
    if isName || steps.count < 2 {
      return table.columns.map(\.name).compactMap { isAlone ? $0 : Self.inQuery($0) }
    }
    steps.removeLast()
    for step in steps {
      let column = table.columns.first { Self.inQuery($0.name).map { $0 == step } ?? false }
      guard let target = column?.targetTable, let next = try snapshot.table(target) else { return [] }
      table = next
      head += step + "."
    }
    return table.columns.compactMap { Self.inQuery($0.name) }.map { head + $0 }
  }

  /// Returns the name of a property as written in a query; nil if a query cannot contain it.
  private static func inQuery(_ name: String) -> String? {
    guard let first = name.first, isNameCharacter(first), !first.isNumber, first != "-",
      name.allSatisfy({ isNameCharacter($0) || " \n\r\t".contains($0) })
    else { return nil }
    let lines = name.replacing("\n", with: "\\n").replacing("\r", with: "\\r").replacing("\t", with: "\\t")
    return lines.replacing(" ", with: "\\ ")
  }

  private static func isNameCharacter(_ character: Character) -> Bool {
    !character.isASCII || character.isLetter || character.isNumber || "_$-".contains(character)
  }
}
