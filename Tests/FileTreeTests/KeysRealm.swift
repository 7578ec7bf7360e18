// A realm file made byte by byte: one class `Thing` without primary key and without properties, and objects with any
// keys.

import Foundation

enum KeysRealm {
  /// The bytes of a realm whose class `Thing` has objects with these ascending keys.
  static func bytes(_ keys: [Int64]) -> [UInt8] {
    var file = Builder()
    let clusters = file.refs([file.ints(keys)])
    let names = file.names([])
    let spec = file.refs([file.ints([]), names, file.ints([]), 0, 0, file.ints([])])
    let table = file.refs([spec, 0, clusters, 1, file.refs([]), 1, 1, file.ints([]), file.ints([]), 1, 0, 0, 1, 0])
    return file.finish(names: file.names(["class_Thing"]), tables: file.refs([table]))
  }

  private struct Builder {
    private var bytes = [UInt8](repeating: 0, count: 24)

    mutating func ints(_ values: [Int64]) -> Int64 { node(7, values.count, values.flatMap(Self.word)) }
    mutating func refs(_ values: [Int64]) -> Int64 { node(0x47, values.count, values.flatMap(Self.word)) }

    mutating func names(_ names: [String]) -> Int64 {
      let cells = names.flatMap { name -> [UInt8] in
        Array(name.utf8) + [UInt8](repeating: 0, count: 63 - name.utf8.count) + [UInt8(63 - name.utf8.count)]
      }
      return node(0x0F, names.count, cells)
    }

    /// Every node header declares 64-bit elements.
    private mutating func node(_ head: UInt8, _ count: Int, _ payload: [UInt8]) -> Int64 {
      defer {
        bytes += [0x41, 0x41, 0x41, 0x41, head, 0, UInt8(count >> 8), UInt8(count & 255)] + payload
      }
      return Int64(bytes.count)
    }

    mutating func finish(names: Int64, tables: Int64) -> [UInt8] {
      let top = Int64(bytes.count)
      _ = refs([names, tables, (top + 32) << 1 | 1])
      bytes.replaceSubrange(0..<8, with: Self.word(top))
      bytes.replaceSubrange(16..<24, with: Array("T-DB".utf8) + [24, 0, 0, 0])
      return bytes + [UInt8](repeating: 0, count: (4096 - bytes.count % 4096) % 4096)
    }

    private static func word(_ value: Int64) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { [UInt8]($0) } }
  }
}
