// Arguments that determine the mounted tree: value notation, classes, owner, and modes.
import FileTree
import Glibc
import RealmJSON

extension Arguments {
  /// Returns the notation of values, from --json-style or -o json=; plain without either.
  func jsonStyle() throws -> JSONStyle {
    let long = value(.jsonStyle)
    let short = mountOption(.json)
    if let long, let short, long != short { throw usage("options --json-style \(long) and -o json=\(short) disagree") }
    guard let name = long ?? short else { return .plain }
    guard let style = JSONStyle(rawValue: name) else {
      throw usage("mount option -o json: '\(name)' is not one of \(Options.jsonStyles.joined(separator: ", "))")
    }
    return style
  }

  /// Returns the classes to show, from --class A,B and -o class=A:B combined; nil for all.
  func shownClasses() -> [String]? {
    guard has(.classes) || mountOption(.classes) != nil else { return nil }
    let long = allValues(.classes).flatMap { $0.split(unescaped: ",") }
    let short = mountOptions.filter { $0.spec.kind == .own(.classes) }.flatMap {
      ($0.value ?? "").split(unescaped: ":")
    }
    return long + short
  }

  /// Returns the query that selects the listed objects of each class, from --query 'CLASS: QUERY'.
  func shownObjects() throws -> [String: String] {
    var queries: [String: String] = [:]
    for text in allValues(.shownObjects) {
      guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else {
        throw usage("option --query: '\(text)' is not CLASS: QUERY, such as 'Person: age > 30'")
      }
      let name = String(text[..<colon]), query = text[text.index(after: colon)...].drop { $0 == " " }
      if query.isEmpty { throw usage("option --query: no query after '\(name):'") }
      if queries.updateValue(String(query), forKey: name) != nil {
        throw usage("option --query: class \(name) has two queries; join them with 'and' or 'or'")
      }
    }
    return queries
  }

  /// Returns the options of the tree.
  func treeOptions() throws -> TreeOptions {
    var options = TreeOptions()
    options.json = try jsonStyle()
    options.classes = shownClasses()
    options.queries = try shownObjects()
    options.showControl = mountOption(.showControl) != nil
    options.isFrozen = mountOption(.frozen) != nil
    options.uid = try userID()
    options.gid = try groupID()
    options.umask = try mode(.umask)
    options.fmask = try mode(.fmask)
    options.dmask = try mode(.dmask)
    options.admitsOtherUsers = kernelOptions().contains("allow_other")
    options.write = try writeMode()
    options.createsClasses = mountOption(.createClasses) != nil
    options.groupCommit = try number(.groupCommit, "milliseconds", 0...60_000) ?? 0
    if let timeout = try seconds(.lockTimeout) { options.lockTimeout = timeout }
    if let timeout = try seconds(.queryTimeout) { options.queryTimeout = timeout }
    options.productVersion = Options.version
    options.log = { Log.error($0) }
    return options
  }

  /// Returns the options that are passed to libfuse and the kernel, as `NAME` or `NAME=VALUE`.
  func kernelOptions() -> [String] {
    mountOptions.filter { $0.spec.kind == .kernel }.map { option in
      option.spec.name + (option.value.map { "=\($0)" } ?? "")
    }
  }

  private func writeMode() throws -> WriteMode {
    guard let name = mountOption(.write) else { return .patch }
    guard let mode = WriteMode(rawValue: name) else {
      throw usage("mount option -o write: '\(name)' is neither patch nor replace")
    }
    return mode
  }

  /// Returns how many microseconds a thread polls for the next request; nil for the default.
  func busyPoll() throws -> Int? { try number(.busyPoll, "microseconds", 0...10_000) }

  private func number(
    _ name: MountOptionName,
    _ unit: String,
    _ range: ClosedRange<Int>
  ) throws -> Int? {
    guard let text = mountOption(name) else { return nil }
    guard let count = Int(text), range.contains(count) else {
      throw usage(
        "mount option -o \(name.rawValue): '\(text)' is not a number of \(unit) from \(range.lowerBound) to "
          + "\(range.upperBound)"
      )
    }
    return count
  }

  private func seconds(_ name: MountOptionName) throws -> Duration? {
    guard let text = mountOption(name) else { return nil }
    guard let count = Double(text), (0...3600).contains(count) else {
      throw usage("mount option -o \(name.rawValue): '\(text)' is not a number of seconds from 0 to 3600")
    }
    return .seconds(count)
  }

  private func mode(_ name: MountOptionName) throws -> UInt32? {
    guard let text = mountOption(name) else { return nil }
    guard let mode = UInt32(text, radix: 8), mode <= 0o777 else {
      throw usage("mount option -o \(name.rawValue): '\(text)' is not an octal mode from 0 to 777")
    }
    return mode
  }

  private func userID() throws -> UInt32? {
    guard let text = mountOption(.uid) else { return nil }
    if let number = UInt32(text) { return number }
    guard let id = unsafe getpwnam(text)?.pointee.pw_uid else {
      throw usage("mount option -o uid: there is no user '\(text)'")
    }
    return id
  }

  private func groupID() throws -> UInt32? {
    guard let text = mountOption(.gid) else { return nil }
    if let number = UInt32(text) { return number }
    guard let id = unsafe getgrnam(text)?.pointee.gr_gid else {
      throw usage("mount option -o gid: there is no group '\(text)'")
    }
    return id
  }
}
