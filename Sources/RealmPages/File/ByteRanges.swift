// Sets of bytes of a file, such as the free space of a version.

/// Sorted byte ranges that neither overlap nor touch.
struct ByteRanges: Sendable {
  private(set) var ranges: [Range<Int>] = []

  init() {}

  var isEmpty: Bool { ranges.isEmpty }

  /// The union of `ranges`, in any order.
  init(_ ranges: [Range<Int>]) {
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) where !range.isEmpty {
      if let last = self.ranges.last, range.lowerBound <= last.upperBound {
        self.ranges[self.ranges.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        self.ranges.append(range)
      }
    }
  }

  /// True if any byte of `range` is in one of the ranges. Cost: O(log n).
  func overlaps(_ range: Range<Int>) -> Bool {
    let index = first(endingAfter: range.lowerBound)
    return index < ranges.count && ranges[index].lowerBound < range.upperBound
  }

  /// True if one range contains all bytes of `range`. Cost: O(log n).
  func contains(_ range: Range<Int>) -> Bool {
    let index = first(endingAfter: range.lowerBound)
    return index < ranges.count && ranges[index].lowerBound <= range.lowerBound
      && ranges[index].upperBound >= range.upperBound
  }

  /// The union of both.
  func union(_ others: ByteRanges) -> ByteRanges { ByteRanges(ranges + others.ranges) }

  /// The parts that `others` do not contain.
  func subtracting(_ others: ByteRanges) -> ByteRanges {
    var left: [Range<Int>] = [], index = 0
    for range in ranges {
      var start = range.lowerBound
      while index < others.ranges.count, others.ranges[index].upperBound <= start { index += 1 }
      var next = index
      while next < others.ranges.count, others.ranges[next].lowerBound < range.upperBound {
        if start < others.ranges[next].lowerBound { left.append(start..<others.ranges[next].lowerBound) }
        start = max(start, others.ranges[next].upperBound)
        next += 1
      }
      if start < range.upperBound { left.append(start..<range.upperBound) }
    }
    return ByteRanges(left)
  }

  private func first(endingAfter offset: Int) -> Int {
    var low = 0, high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound > offset { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// The pages of encrypted files that contain any byte of the ranges: such a page is written as a whole, with zeros in
  /// unused parts.
  var encryptedPages: ByteRanges {
    let page = PageCipher.pageSize
    return ByteRanges(
      ranges.map { range in
        let end = range.upperBound > Int.max - page ? Int.max : (range.upperBound + page - 1) / page * page
        return range.lowerBound / page * page..<end
      }
    )
  }
}

extension PageSpace {
  /// The bytes that a program changes when it writes `ranges`: whole pages of an encrypted file.
  func changed(byWriting ranges: ByteRanges) -> ByteRanges { fillsOnDemand ? ranges.encryptedPages : ranges }
}
