// Error hints for an unknown name: the name that was probably meant, and the names that exist.

/// The existing names, among which a name was not found.
package struct KnownNames {
  private let names: [String]

  /// The maximum number of names to list.
  private static let maxListed = 20

  package init(_ names: [String]) { self.names = names }

  /// Returns the rest of a message that begins with `no class Persn; `: `did you mean Person? it has Dog, Person`.
  package func hint(for name: String) -> String {
    let suggestion = nearest(to: name).map { "did you mean \($0)? " } ?? ""
    if names.isEmpty { return "it has none" }
    let isCut = names.count > Self.maxListed
    return "\(suggestion)it has \(names.prefix(Self.maxListed).joined(separator: ", "))\(isCut ? ", .." : "")"
  }

  /// Returns the name that was probably meant: the one with the smallest edit distance, ignoring case, if that is small
  /// for its length.
  package func nearest(to name: String) -> String? {
    let wanted = Array(name.lowercased().unicodeScalars.prefix(Self.longest))
    if wanted.isEmpty { return nil }
    var best: (name: String, distance: Int)?
    for candidate in names {
      let known = Array(candidate.lowercased().unicodeScalars.prefix(Self.longest))
      let distance = Self.distance(wanted, known)
      let limit = min(3, (max(wanted.count, known.count) + 1) / 3)
      if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
    }
    return best?.name
  }

  /// Names are compared up to this length, which the format's limit for column names does not exceed.
  private static let longest = 64

  /// Returns the edit distance: the number of letters inserted, deleted, replaced or swapped with their neighbour.
  private static func distance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
    var before: [Int] = [], last = Array(0...b.count)
    for (row, letter) in a.enumerated() {
      var next = [row + 1]
      for (column, other) in b.enumerated() {
        var least = min(last[column] + (letter == other ? 0 : 1), last[column + 1] + 1, next[column] + 1)
        if row > 0, column > 0, letter == b[column - 1], other == a[row - 1] {
          least = min(least, before[column - 1] + 1)
        }
        next.append(least)
      }
      (before, last) = (last, next)
    }
    return last[b.count]
  }
}
