// Expectations of tests of damaged bytes.

import RealmPages
import Testing

/// Expects that `body` finds bytes that break a rule of the format.
func expectDamaged<R>(sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> R) {
  let error = #expect(throws: EngineError.self, sourceLocation: sourceLocation) { _ = try body() }
  #expect(error?.reason == .damaged, sourceLocation: sourceLocation)
}
