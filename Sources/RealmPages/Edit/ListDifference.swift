// The differences between two lists: the elements that are kept, replaced, inserted and removed.

/// The steps that turn one list into another: the common prefix and suffix stay, elements between them are replaced one
/// by one, and the rest of the longer list is inserted or removed.
package struct ListDifference {
  /// The positions of replaced elements, the same in both lists.
  package let replaced: Range<Int>
  /// The positions of inserted elements, in the new list.
  package let inserted: Range<Int>
  /// The positions of removed elements, in the old list.
  package let removed: Range<Int>

  /// Compares the elements from both ends. Cost: one comparison for each element that stays, plus two.
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
