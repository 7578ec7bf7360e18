// The cost limits of an input, as stated in docs/RELIABILITY.md: heap in use at one time, total heap requested, and
// processor time. Each limit is a fixed amount plus an amount for each byte of the input. An input that exceeds a limit
// ends the fuzzer, like an input that crashes it.

import Glibc

/// The limits of one target.
struct Budget {
  /// A fixed amount plus an amount for each byte of the input.
  struct Bound {
    let fixed: Int
    let perByte: Int

    /// Returns the limit for an input of `size` bytes.
    func limit(_ size: Int) -> Int { fixed + perByte * size }
  }

  /// Bytes of heap in use at one time, beyond what was in use before.
  let heap: Bound
  /// Bytes of heap requested in total, which also measures work whose memory is freed again.
  let requests: Bound
  /// Microseconds of processor time. Instrumented code takes a multiple of the normal time.
  let time: Bound

  /// Runs `body` on an input of `size` bytes, and aborts if it exceeds a limit.
  func run(_ size: Int, _ body: () throws -> Void) rethrows {
    _ = Heap.isCounted
    let start = Self.processorTime()
    Heap.begin()
    defer {
      let cost = Heap.end()
      expect(cost.peak, heap.limit(size), "bytes of heap")
      expect(cost.requested, requests.limit(size), "bytes requested")
      expect(Self.processorTime() - start, time.limit(size), "microseconds")
    }
    try body()
  }

  private static func processorTime() -> Int {
    var now = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
    return now.tv_sec * 1_000_000 + now.tv_nsec / 1000
  }
}

/// Aborts if a cost exceeds its limit. With FUZZ_COSTS set, prints each new maximum of a cost relative to its limit.
func expect(_ cost: Int, _ limit: Int, _ unit: String) {
  if cost > limit {
    print("bound broken: \(cost) \(unit), of \(limit)")
    fflush(nil)
    abort()
  }
  if showsCosts, cost * 1000 / limit > Heap.largest[unit] ?? 0 {
    Heap.largest[unit] = cost * 1000 / limit
    print("cost: \(cost) \(unit), of \(limit)")
  }
}

private let showsCosts = getenv("FUZZ_COSTS") != nil

/// Counts heap requests, through hooks that the address sanitizer calls.
private enum Heap {
  // One thread of the fuzzer takes inputs; libFuzzer's own thread allocates next to nothing.
  nonisolated(unsafe) static var largest: [String: Int] = [:]
  nonisolated(unsafe) private static var counts = false
  nonisolated(unsafe) private static var used = 0
  nonisolated(unsafe) private static var peak = 0
  nonisolated(unsafe) private static var requested = 0

  /// Installs the hooks once.
  static let isCounted: Void = {
    let installed = installHooks(
      { _, size in
        if !Heap.counts { return }
        Heap.used += size
        Heap.requested += size
        if Heap.used > Heap.peak { Heap.peak = Heap.used }
      },
      { pointer in
        if Heap.counts, let pointer { Heap.used -= allocatedSize(pointer) }
      }
    )
    if installed == 0 { abort() }
  }()

  static func begin() { (used, peak, requested, counts) = (0, 0, 0, true) }

  static func end() -> (peak: Int, requested: Int) {
    counts = false
    return (peak, requested)
  }
}

@_silgen_name("__sanitizer_install_malloc_and_free_hooks")
private func installHooks(
  _ allocated: @convention(c) (UnsafeRawPointer?, Int) -> Void,
  _ freed: @convention(c) (UnsafeRawPointer?) -> Void
) -> CInt

@_silgen_name("__sanitizer_get_allocated_size")
private func allocatedSize(_ pointer: UnsafeRawPointer) -> Int
