// Expands a part of a ZIP archive, piece by piece, and checks its size and checksum.

import CZlib
import Glibc
import RealmJSON

/// The expanded bytes of a part.
@safe final class ZipStream {
  // Safe: owns the state, which has a fixed address, because zlib refers to it.
  private let archive: ZipArchive
  private let entry: ZipArchive.Entry
  private let state: UnsafeMutablePointer<z_stream>
  private var isBegun = false
  private var position: Int
  /// Compressed bytes that were read.
  private var input: [UInt8] = []
  private var consumed = 0
  private var total = 0
  private var checksum: UInt
  private var isAtEnd = false

  private static let chunkSize = 1 << 16

  init(_ archive: ZipArchive, _ entry: ZipArchive.Entry) throws {
    (self.archive, self.entry, position) = (archive, entry, entry.range.lowerBound)
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(to: z_stream())
    checksum = crc32(0, nil, 0)
    if entry.method == 8 {
      if unsafe realmfs_inflate_raw_begin(state) != Z_OK { throw TransferError.file(archive.name, ENOMEM) }
      isBegun = true
    }
  }

  deinit {
    if isBegun { unsafe inflateEnd(state) }
    unsafe state.deallocate()
  }

  private var damaged: TransferError { archive.error("\(entry.name.printable): damaged") }

  /// Returns the next bytes; nil at the end.
  func next() throws -> [UInt8]? {
    while !isAtEnd {
      if consumed == input.count {
        let end = min(position + Self.chunkSize, entry.range.upperBound)
        input = try archive.bytes(position..<end)
        (position, consumed) = (end, 0)
      }
      let output = try entry.method == 8 ? inflate() : stored()
      total += output.count
      if total > entry.size { throw archive.error("\(entry.name.printable): larger than the archive says") }
      checksum = unsafe output.withUnsafeBufferPointer { unsafe crc32(checksum, $0.baseAddress, UInt32($0.count)) }
      if isAtEnd, total != entry.size || checksum != UInt(entry.checksum) { throw damaged }
      if !output.isEmpty { return output }
    }
    return nil
  }

  private func stored() -> [UInt8] {
    defer { (consumed, isAtEnd) = (input.count, position == entry.range.upperBound) }
    return Array(input[consumed...])
  }

  private func inflate() throws -> [UInt8] {
    var status = Z_OK
    let output = unsafe [UInt8](unsafeUninitializedCapacity: Self.chunkSize) { output, count in
      unsafe input.withUnsafeBufferPointer { input in
        unsafe state.pointee.next_in = unsafe UnsafeMutablePointer(
          mutating: input.baseAddress.map { unsafe $0 + consumed }
        )
        unsafe state.pointee.avail_in = UInt32(input.count - consumed)
        unsafe state.pointee.next_out = output.baseAddress
        unsafe state.pointee.avail_out = UInt32(Self.chunkSize)
        status = unsafe CZlib.inflate(state, Z_NO_FLUSH)
        consumed = unsafe input.count - Int(state.pointee.avail_in)
        count = unsafe Self.chunkSize - Int(state.pointee.avail_out)
      }
    }
    switch status {
    case Z_STREAM_END: isAtEnd = true
    case Z_OK: break
    // No progress without more input.
    case Z_BUF_ERROR where position < entry.range.upperBound: break
    default: throw damaged
    }
    if !isAtEnd, output.isEmpty, consumed == input.count, position == entry.range.upperBound { throw damaged }
    return output
  }
}
