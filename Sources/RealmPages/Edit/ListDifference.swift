// What becomes of the elements of a list: which stay, and which change.

/// How a list turns into another: what both begin and end with stays, elements between are replaced one by one, and the
/// rest of the longer one is inserted or removed.
package struct ListDifference {
  /// The positions that are replaced, in both lists alike.
  package let replaced: Range<Int>
  /// The positions of new elements, in the new list.
  package let inserted: Range<Int>
  /// The positions of elements that go, in the old list.
  package let removed: Range<Int>

  /// Compares elements from both ends. Cost: a comparison for each element that stays, and two.
  @inlinable
  package init<E: Error>(
    old: Int,
    new: Int,
    isSame: (_ old: Int, _ new: Int) throws(E) -> Bool
  ) throws(E) {
    let common = min(old, new)
    var prefix = 0
    while prefix < common, try isSame(prefix, prefix) { prefix += 1 }
    var suffix = 0
    while suffix < common - prefix, try isSame(old - 1 - suffix, new - 1 - suffix) { suffix += 1 }
    replaced = prefix..<common - suffix
    inserted = common - suffix..<max(new - suffix, common - suffix)
    removed = common - suffix..<max(old - suffix, common - suffix)
  }
}
