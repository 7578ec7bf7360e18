// `realmfs schema`: prints the schema as JSON, as a drawing, or as source code of model classes.
import RealmJSON
import RealmPages

/// The command `schema`.
enum SchemaCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let source = try RealmSource(arguments)
    let classes = arguments.allValues(.classes).flatMap { $0.split(unescaped: ",") }
    let form = arguments.value(.format).flatMap { SchemaForm(rawValue: $0) } ?? .json
    let output = StandardOutput()
    if form != .json {
      output.print(
        try source.onNewest { snapshot in
          let descriptions = try descriptions(classes, snapshot, source.path)
          return form.isDrawing ? SchemaDrawing.text(descriptions, form) : SchemaSource.text(descriptions, form)
        }
      )
      try output.flush()
      return .done
    }
    try source.onNewest { snapshot in
      output.buffer.reset()
      do {
        if classes.isEmpty { return try SchemaRenderer.render(snapshot, into: output.buffer) }
      } catch {
        throw CommandFailure(.damaged, "\(source.path): \(error)")
      }
      for name in classes { try print(name, snapshot, source.path, output) }
    }
    try output.flush()
    return .done
  }

  /// Returns the classes with these names, or all.
  private static func descriptions(
    _ names: [String],
    _ snapshot: Snapshot,
    _ path: String
  ) throws -> [ClassDescription] {
    let schema = try located(path) { try SchemaDescription(snapshot) }
    if names.isEmpty { return schema.classes }
    var classes: [ClassDescription] = []
    for name in names {
      let table = try snapshot.table(ofClass: name, in: path)
      if let description = schema[table.className ?? ""] { classes.append(description) }
    }
    return classes
  }

  /// Prints one class. Several classes are printed as a sequence of JSON texts, which `jq` can read.
  private static func print(
    _ name: String,
    _ snapshot: Snapshot,
    _ path: String,
    _ output: StandardOutput
  ) throws {
    let table = try snapshot.table(ofClass: name, in: path)
    do {
      try SchemaRenderer.render(table, of: snapshot, into: output.buffer)
    } catch {
      throw CommandFailure(.damaged, "\(path): \(error)")
    }
  }
}
