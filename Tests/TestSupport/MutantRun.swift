// How many mutants of which files a test run tries.

import Foundation

/// Which mutants a test run tries: MUTANTS, SEED and FIXTURES in the environment.
public enum MutantRun {
  private static let environment = ProcessInfo.processInfo.environment
  private static let count = environment["MUTANTS"].flatMap { Int($0) }
  private static let firstSeed = environment["SEED"].flatMap { UInt64($0) } ?? 1

  /// Those of `fixtures` that the run keeps to.
  public static func chosen(_ fixtures: [Fixture]) -> [Fixture] {
    guard let texts = environment["FIXTURES"]?.split(separator: ",") else { return fixtures }
    return fixtures.filter { fixture in texts.contains { "\(fixture)".contains($0) } }
  }

  /// As many seeds as the run tries of each file, or `number`.
  public static func seeds(_ number: Int) -> Range<UInt64> { firstSeed..<firstSeed + UInt64(count ?? number) }
}
