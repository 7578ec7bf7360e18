// The changes from one list to another, and the merge of the changes of two sides, like diff3(1) on elements.

/// A change of a list: elements of the base that are replaced by others.
struct ListChange: Hashable {
  var range: Range<Int>
  var elements: [TextValue]

  /// True if there are more elements after the change than before.
  private var grows: Bool { elements.count > range.count }

  /// The number of differing elements, in both lists together, up to which a change is divided into smaller ones. The
  /// comparison needs memory proportional to its square.
  private static let comparedCount = 2000

  /// Returns the changes from `base` to `other`, in order. Each removed element is a change.
  ///
  /// Cost: O(n) and the number of differing elements times the number of changes.
  static func changes(from base: [TextValue], to other: [TextValue]) -> [ListChange] {
    let shorter = min(base.count, other.count)
    var head = 0, tail = 0
    while head < shorter, base[head] == other[head] { head += 1 }
    while tail < shorter - head, base[base.count - 1 - tail] == other[other.count - 1 - tail] { tail += 1 }
    let old = Array(base[head..<base.count - tail]), new = Array(other[head..<other.count - tail])
    if old.isEmpty, new.isEmpty { return [] }
    var removed = [Bool](repeating: true, count: old.count), inserted = [Bool](repeating: true, count: new.count)
    if old.count + new.count <= comparedCount {
      removed = [Bool](repeating: false, count: old.count)
      inserted = [Bool](repeating: false, count: new.count)
      for change in new.difference(from: old) {
        switch change {
        case .remove(let offset, _, _): removed[offset] = true
        case .insert(let offset, _, _): inserted[offset] = true
        }
      }
    }
    var changes: [ListChange] = [], place = 0, next = 0
    while place < old.count || next < new.count {
      let start = place, first = next
      while place < old.count, removed[place] { place += 1 }
      while next < new.count, inserted[next] { next += 1 }
      let range = head + start..<head + place
      if first == next {
        for index in range { changes.append(ListChange(range: index..<index + 1, elements: [])) }
      } else {
        changes.append(ListChange(range: range, elements: Array(new[first..<next])))
      }
      while place < old.count, next < new.count, !removed[place], !inserted[next] {
        place += 1
        next += 1
      }
    }
    return changes
  }

  /// True if the result depends on the order in which this change and one of the other side are made: they change the
  /// same elements, or both add elements at the same place.
  func collides(with other: ListChange) -> Bool {
    if max(range.lowerBound, other.range.lowerBound) < min(range.upperBound, other.range.upperBound) { return true }
    if isInside(other.range) || other.isInside(range) { return true }
    let touches = range.lowerBound == other.range.upperBound || range.upperBound == other.range.lowerBound
    return touches && grows && other.grows
  }

  private func isInside(_ other: Range<Int>) -> Bool {
    range.isEmpty && other.lowerBound < range.lowerBound && range.lowerBound < other.upperBound
  }
}

/// A part of a list with the changes that both sides made to it.
struct ListRegion {
  private(set) var range: Range<Int>
  private(set) var ours: [ListChange] = []
  private(set) var theirs: [ListChange] = []

  /// Divides a list into the parts that changed, in order.
  static func regions(ours: [ListChange], theirs: [ListChange]) -> [ListRegion] {
    let all = ours.map { ($0, true) } + theirs.map { ($0, false) }
    let sorted = all.sorted { first, second in
      let (one, two) = (first.0.range, second.0.range)
      return one.lowerBound != two.lowerBound ? one.lowerBound < two.lowerBound : one.upperBound < two.upperBound
    }
    var regions: [ListRegion] = []
    for (change, isOurs) in sorted {
      if let last = regions.last, (isOurs ? last.theirs : last.ours).contains(where: { $0.collides(with: change) }) {
        regions[regions.count - 1].add(change, isOurs)
      } else {
        var region = ListRegion(range: change.range)
        region.add(change, isOurs)
        regions.append(region)
      }
    }
    return regions
  }

  private mutating func add(_ change: ListChange, _ isOurs: Bool) {
    range = min(range.lowerBound, change.range.lowerBound)..<max(range.upperBound, change.range.upperBound)
    if isOurs { ours.append(change) } else { theirs.append(change) }
  }

  /// Returns the elements of the region after `changes`.
  func elements(of base: [TextValue], after changes: [ListChange]) -> [TextValue] {
    var elements: [TextValue] = [], place = range.lowerBound
    for change in changes {
      elements += base[place..<change.range.lowerBound] + change.elements
      place = change.range.upperBound
    }
    return elements + base[place..<range.upperBound]
  }
}
