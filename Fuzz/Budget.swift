// What an input may cost, as docs/RELIABILITY.md states it: the heap that is in use at one time, all heap that is asked
// for, and processor time: each a fixed amount, and so much for each byte of the input. An input that costs more ends
// the fuzzer, as one that crashes does.

import Glibc

/// The bounds of one target.
struct Budget {
  /// A fixed amount, and so much for each byte.
  struct Bound {
    let fixed: Int
    let perByte: Int

    /// What an input of `size` bytes may cost.
    func limit(_ size: Int) -> Int { fixed + perByte * size }
  }

  /// Bytes of heap in use at one time, beyond what was in use before.
  let heap: Bound
  /// Bytes of heap asked for, all requests together: what work that makes nothing permanent comes to.
  let requests: Bound
  /// Microseconds of processor time. Instrumented code takes a multiple of what the program takes.
  let time: Bound

  /// Runs `body` on an input of `size` bytes, and aborts if it takes more.
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

/// Aborts if an input cost more than it may. With FUZZ_COSTS set, tells the largest share of each bound so far.
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

/// Counts what is asked of the heap, by hooks that the address sanitizer calls.
private enum Heap {
  // The fuzzer has one thread that takes inputs; that of libFuzzer allocates nothing to speak of.
  nonisolated(unsafe) static var largest: [String: Int] = [:]
  nonisolated(unsafe) private static var counts = false
  nonisolated(unsafe) private static var used = 0
  nonisolated(unsafe) private static var peak = 0
  nonisolated(unsafe) private static var requested = 0

  /// Installs the hooks, once.
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
