// The fuzzer's target: takes any bytes for a realm file, opens it, reads all that it shows and verifies it. Nothing may
// crash, hang or be read out of bounds. Half of the inputs are changed in the ways that hurt a reader of this
// format, the others as libFuzzer likes.

import Glibc
import RealmPages

/// Values that are read of one input: enough for every object of the seeds.
private let valueLimit = 20_000

/// libFuzzer calls this with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOpen(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  do throws(EngineError) {
    let snapshot = try Realm.snapshot(of: UnsafeRawBufferPointer(start: data, count: size))
    var walk = ObjectWalk(limit: valueLimit)
    walk.run(snapshot)
    _ = Verifier(snapshot).run(limit: 20) { problem in
      // Problems are read too.
      if problem.description.isEmpty { abort() }
    }
  } catch {
    if error.description.isEmpty { abort() }
  }
  return 0
}

@_silgen_name("LLVMFuzzerMutate")
private func libFuzzerMutate(_ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ maximum: Int) -> Int

/// libFuzzer calls this to make a new input out of an old one.
@_cdecl("LLVMFuzzerCustomMutator")
public func fuzzMutate(_ data: UnsafeMutablePointer<UInt8>, _ size: Int, _ maximum: Int, _ seed: CUnsignedInt) -> Int {
  if seed & 1 == 0 || size == 0 { return libFuzzerMutate(data, size, maximum) }
  let mutant = Mutator(Array(UnsafeBufferPointer(start: data, count: size))).mutant(seed: UInt64(seed))
  let count = min(mutant.count, maximum)
  mutant.withUnsafeBufferPointer { mutant in
    if let start = mutant.baseAddress { data.update(from: start, count: count) }
  }
  return count
}
