// Compresses and expands zlib streams, which message bodies can be. Source: docs/format/7-sync.md 7.2.

import CZlib

/// The zlib compression of message bodies.
package enum Compression {
  /// The maximum expansion of a zlib stream.
  private static let maximumRatio = 1040

  /// Returns the `size` bytes that `stream` expands to; nil if it is damaged or its expanded size differs.
  package static func expand(_ stream: ArraySlice<UInt8>, size: Int) -> [UInt8]? {
    if size < 0 || size / maximumRatio > stream.count { return nil }
    var state = unsafe z_stream()
    guard unsafe realmfs_inflate_begin(&state) == Z_OK else { return nil }
    defer { unsafe inflateEnd(&state) }
    var isWhole = false
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { output, count in
      unsafe stream.withUnsafeBufferPointer { input in
        unsafe state.next_in = unsafe UnsafeMutablePointer(mutating: input.baseAddress)
        unsafe state.avail_in = UInt32(clamping: input.count)
        unsafe state.next_out = output.baseAddress
        unsafe state.avail_out = UInt32(clamping: size)
        isWhole = unsafe inflate(&state, Z_FINISH) == Z_STREAM_END && Int(state.total_out) == size
        count = unsafe Int(state.total_out)
      }
    }
    return isWhole ? bytes : nil
  }

  /// Returns the zlib stream of `bytes`; nil if it would not be smaller.
  package static func compress(_ bytes: [UInt8]) -> [UInt8]? {
    var length = compressBound(UInt(bytes.count)), status = Z_OK
    let stream = unsafe [UInt8](unsafeUninitializedCapacity: Int(length)) { output, count in
      unsafe bytes.withUnsafeBufferPointer { input in
        status = unsafe compress2(output.baseAddress, &length, input.baseAddress, UInt(input.count), 1)
      }
      count = status == Z_OK ? Int(length) : 0
    }
    return status == Z_OK && stream.count < bytes.count ? stream : nil
  }
}
