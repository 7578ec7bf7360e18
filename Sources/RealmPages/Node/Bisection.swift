// Binary search.

/// Returns the first number in `0..<count` for which `isBelow` is false; `count` if it is true for all. `isBelow` must
/// be true up to some number and false from there on. O(log count).
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
