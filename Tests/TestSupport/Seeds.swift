// The seeds of random tests: the same in every run, unless the environment specifies others.

import Foundation

/// `SEED` repeats one run; `FIRST_SEED` changes the first seed, for long runs that look for new failures.
public enum Seeds {
  private static let environment = ProcessInfo.processInfo.environment

  /// The only seed to try; nil if none is specified.
  public static let only = environment["SEED"].flatMap { UInt64($0) }
  /// The first seed to try.
  public static let first = only ?? environment["FIRST_SEED"].flatMap { UInt64($0) } ?? 1
}
