// Queries of damaged files return results or errors, and never crash or read out of bounds. See MutantTests for the
// variables.

import RealmPages
import RealmQuery
import TestSupport
import Testing

@Suite("Queries of damaged files", .serialized)
struct QueryMutantTests {
  @Test("a query of a damaged file returns objects or an error", arguments: Fixture.own.map(\.name))
  func mutants(file: String) throws {
    let queries = ExpectedQuery.all.filter { $0.file == file }
    if queries.isEmpty { return }
    let bytes = try Fixture.named(file).bytes(), mutator = Mutator(bytes)
    var found = 0
    for seed in MutantRun.seeds(max(3, min(60, 2_000_000 / bytes.count))) {
      var random = SplitMix64(seed: seed)
      do {
        let snapshot = try mutator.mutant(seed: seed).withUnsafeBytes { try Realm.snapshot(of: $0) }
        for _ in 0..<10 {
          let expected = queries[random.below(queries.count)]
          do {
            guard let table = try snapshot.table(named: "class_" + expected.className) else { continue }
            found += try ObjectQuery(expected.query, of: table, in: snapshot).keys().count
          } catch let error as EngineError {
            #expect(!error.problem.isEmpty)
          } catch let error as QueryFailure {
            guard case .damaged(let error) = error else { throw error }
            #expect(!error.problem.isEmpty)
          } catch let error as InputError {
            #expect(!error.problem.isEmpty)
          }
        }
      } catch let error as EngineError {
        #expect(!error.description.isEmpty)
      }
    }
    #expect(found > 0)
  }
}
