// Reports the result of commands that write a new realm file, as a line or as JSON.
import RealmJSON
import RealmPages

/// The outcome of a command that wrote a realm file.
struct CopyReport {
  let path: String
  let sizes: RealmCopy.Sizes
  let isNew: Bool
  var notes: [String] = []
  var facts: [(String, JSONValue)] = []

  func print(_ arguments: Arguments) throws {
    let output = StandardOutput()
    if arguments.has(.json) {
      let members: [(String, JSONValue)] = [
        ("file", .string(path)), ("sizeBefore", .number(sizes.before)), ("sizeAfter", .number(sizes.after)),
      ]
      output.print(JSONValue.object(members + facts).text)
    } else {
      output.line(isNew ? "wrote \(path) (\(sizes.after) bytes)" : "\(path): \(sizes.after) bytes, was \(sizes.before)")
      for note in notes { output.line("\(path): \(note)") }
    }
    try output.flush()
  }
}
