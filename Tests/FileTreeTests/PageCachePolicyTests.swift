// The page cache use of a new handle, for each state of its text and of the other handles.

import Testing

@testable import FileTree

@Suite("page cache policy")
struct PageCachePolicyTests {
  private typealias Others = PageCachePolicy.Others
  private let policy = PageCachePolicy(seeds: true)

  private func use(
    _ volatility: PageCachePolicy.Volatility,
    _ others: Others = Others(),
    size: Int = 100
  ) -> PageCachePolicy.Use { policy.use(ofSize: size, volatility, beside: others) }

  @Test("a single handle keeps, refreshes or bypasses the cache, depending on the time of the last change")
  func alone() {
    #expect(use(.unchanged) == .init(caching: .keep, maySeed: true))
    #expect(use(.quiet) == .init(caching: .refresh, maySeed: false))
    #expect(use(.live) == .init(caching: .bypass, maySeed: true))
  }

  @Test("empty texts and large cached ones are not stored")
  func sizes() {
    for volatility in [PageCachePolicy.Volatility.unchanged, .quiet, .live] {
      #expect(!use(volatility, size: 0).maySeed)
    }
    let most = PageCachePolicy.largestSeed
    #expect(use(.unchanged, size: most).maySeed && !use(.unchanged, size: most + 1).maySeed)
    #expect(use(.live, size: most + 1).maySeed, "the end of the text")
  }

  @Test("handles share the cache only if they have the same text and there is no writer")
  func others() {
    let reader = Others(handles: 1), other = Others(handles: 1, cacheAnotherText: true)
    #expect(use(.unchanged, reader) == .init(caching: .keep, maySeed: false))
    #expect(use(.live, reader) == .init(caching: .bypass, maySeed: false))
    for volatility in [PageCachePolicy.Volatility.unchanged, .quiet, .live] {
      #expect(use(volatility, other) == .init(caching: .bypass, maySeed: false))
    }
    let writer = Others(handles: 1, writers: 1), updater = Others(handles: 1, writers: 1, anyWriterReads: true)
    #expect(use(.unchanged, writer) == .init(caching: .bypass, maySeed: true))
    #expect(use(.unchanged, updater) == .init(caching: .bypass, maySeed: false))
    #expect(use(.unchanged, Others(handles: 2, writers: 1)) == .init(caching: .bypass, maySeed: false))
  }

  @Test("a tree whose inode numbers the kernel does not know stores nothing")
  func withoutSeeds() {
    let policy = PageCachePolicy(seeds: false)
    for volatility in [PageCachePolicy.Volatility.unchanged, .quiet, .live] {
      #expect(!policy.use(ofSize: 100, volatility, beside: Others()).maySeed)
    }
  }
}
