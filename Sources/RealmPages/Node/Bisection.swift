// The one binary search.

/// The first number of `0..<count` for which `isBelow` is false, provided that it is true for all before and false for
/// all after; `count` if it is true for all. O(log count).
@inlinable
@inline(__always)
package func bisect<E: Error>(_ count: Int, _ isBelow: (Int) throws(E) -> Bool) throws(E) -> Int {
  var low = 0, high = count
  while low < high {
    let middle = (low + high) / 2
    if try isBelow(middle) { low = middle + 1 } else { high = middle }
  }
  return low
}
