// The files of `realmfs mcp`. Each call opens its file again, as a command does, so that other programs can compact,
// replace or encrypt it between calls.
import RealmPages

/// A file that tools read and change.
struct ServedFile: Sendable {
  /// The name that calls use: the last component of the path, or the path if files share that name.
  let name: String
  /// How the file is opened to read it; it contains the key.
  let configuration: Configuration

  var path: String { configuration.path }

  /// Returns the files of the command. Throws if one cannot be opened.
  static func all(_ arguments: Arguments) throws -> [ServedFile] {
    let paths = arguments.operands
    if let twice = paths.first(where: { path in paths.count { $0.isExactly(path) } > 1 }) {
      throw arguments.usage("\(twice) is given twice")
    }
    let names = paths.map { $0.split(separator: "/").last.map(String.init) ?? $0 }
    let common = try RealmSource.configuration(path: paths[0], arguments, .immutable)
    var files: [ServedFile] = []
    for (path, name) in zip(paths, names) {
      var configuration = common
      configuration.path = path
      do { _ = try RealmSource(configuration) } catch {
        let reason = (error as? EngineError)?.reason
        guard paths.count > 1, reason == .wrongKey || reason == .notEncrypted else { throw error }
        // Only another file may be encrypted.
        configuration.encryptionKey = nil
        // If this one cannot be opened without a key either, the first error is reported.
        guard (try? RealmSource(configuration)) != nil else { throw error }
      }
      let isUnique = names.count { $0.isExactly(name) } == 1
      files.append(ServedFile(name: isUnique ? name : path, configuration: configuration))
    }
    return files
  }
}
