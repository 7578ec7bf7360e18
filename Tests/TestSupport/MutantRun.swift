// The number of mutants that a test run tries, and of which files.

import Foundation

/// Selects the mutants that a test run tries, from MUTANTS, SEED and FIXTURES in the environment.
public enum MutantRun {
  private static let environment = ProcessInfo.processInfo.environment
  private static let count = environment["MUTANTS"].flatMap { Int($0) }
  private static let firstSeed = environment["SEED"].flatMap { UInt64($0) } ?? 1

  /// Returns those of `fixtures` to which the run is restricted.
  public static func chosen(_ fixtures: [Fixture]) -> [Fixture] {
    guard let texts = environment["FIXTURES"]?.split(separator: ",") else { return fixtures }
    return fixtures.filter { fixture in texts.contains { "\(fixture)".contains($0) } }
  }

  /// Returns the seeds to try for each file: as many as the environment requests, or `number`.
  public static func seeds(_ number: Int) -> Range<UInt64> { firstSeed..<firstSeed + UInt64(count ?? number) }
}
