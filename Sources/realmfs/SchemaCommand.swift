// `realmfs schema`: the schema as JSON.
import RealmJSON
import RealmPages

/// The command `schema`.
enum SchemaCommand {
  static func run(_ arguments: Arguments) throws(CommandFailure) -> ExitCode {
    let source = try RealmSource(arguments)
    let classes = arguments.allValues(.classes).flatMap { $0.split(unescaped: ",") }
    let output = StandardOutput()
    try source.onNewest { (snapshot) throws(CommandFailure) in
      output.buffer.reset()
      do throws(RenderError) {
        if classes.isEmpty { return try SchemaRenderer.render(snapshot, into: output.buffer) }
      } catch {
        throw CommandFailure(.damaged, "\(source.path): \(error)")
      }
      for name in classes { try print(name, snapshot, source.path, output) }
    }
    try output.flush()
    return .done
  }

  /// One class; several follow each other as JSON texts, as `jq` reads them.
  private static func print(
    _ name: String,
    _ snapshot: Snapshot,
    _ path: String,
    _ output: StandardOutput
  ) throws(CommandFailure) {
    let table = try snapshot.table(ofClass: name, in: path)
    do throws(RenderError) {
      try SchemaRenderer.render(table, of: snapshot, into: output.buffer)
    } catch {
      throw CommandFailure(.damaged, "\(path): \(error)")
    }
  }
}
