// Opens an encrypted realm and counts its objects, or explains why it cannot: encrypted-realm FILE KEY
//
// KEY is a file with the 64 bytes of the key. The realm is created if it does not exist.

import Glibc
import RealmPages

/// Returns the bytes of a file, at most 65.
func bytes(ofFile path: String) -> [UInt8] {
  guard let file = fopen(path, "rb") else { return [] }
  defer { fclose(file) }
  var bytes = [UInt8](repeating: 0, count: EncryptionKey.size + 1)
  let count = fread(&bytes, 1, bytes.count, file)
  return Array(bytes.prefix(count))
}

let (path, keyPath) = (CommandLine.arguments[1], CommandLine.arguments[2])
guard let key = EncryptionKey(bytes(ofFile: keyPath)) else {
  print("\(keyPath): a key has \(EncryptionKey.size) bytes")
  exit(2)
}

do {
  let writer = try RealmWriter(Configuration(path: path, encryptionKey: key), create: true)
  try writer.write { transaction in
    if try transaction.tableKey(named: "class_Visit") == nil {
      _ = try transaction.addClass("Visit", [ColumnSpec("place", .string)])
    }
    _ = try transaction.create("Visit", ["place": .text("Lund")])
  }
  try writer.realm.read { snapshot in print("visits: \(try snapshot.table(ofClass: "Visit").objectCount)") }
} catch let error as EngineError {
  // The description names the file, the problem and its cause; the reason is for decisions.
  print(error)
  switch error.reason {
  case .wrongKey: exit(6)
  case .file(ENOSPC): exit(9)
  default: exit(1)
  }
}
