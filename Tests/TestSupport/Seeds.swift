// The seeds of random tests: the same in every run, unless the environment names others.

import Foundation

/// `SEED` repeats one run; `FIRST_SEED` begins somewhere else than usual, for long runs that look for what is new.
public enum Seeds {
  private static let environment = ProcessInfo.processInfo.environment

  /// The only one to try; nil if none is named.
  public static let only = environment["SEED"].flatMap { UInt64($0) }
  /// The first one to try.
  public static let first = only ?? environment["FIRST_SEED"].flatMap { UInt64($0) } ?? 1
}
