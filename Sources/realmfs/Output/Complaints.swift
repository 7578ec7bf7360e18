// Collects damage found among many objects: one line for each damaged node, no matter how many objects refer to it.

import RealmPages

/// The damage that a command found, in order of discovery.
struct Complaints {
  private var entries: [(text: String, count: Int)] = []
  private var places: [Substring: Int] = [:]
  /// The number of complaints.
  var count: Int { entries.reduce(0) { $0 + $1.count } }

  var isEmpty: Bool { entries.isEmpty }

  /// Adds a complaint about one object.
  mutating func add(_ text: String) {
    let node = Self.node(in: text) ?? text[...]
    if let place = places[node] {
      entries[place].count += 1
    } else {
      places[node] = entries.count
      entries.append((text, 1))
    }
  }

  /// A line for each damaged node.
  var lines: [String] {
    entries.map { entry in
      entry.count == 1 ? entry.text : "\(entry.text); \(counted(entry.count - 1, "more problem")) at this node"
    }
  }

  /// Reports a line for each damaged node of the file at `path`.
  func report(_ path: String) { for line in lines { Log.error("\(path): \(line)") } }

  /// The part of a complaint that identifies the damaged node; nil if there is none.
  private static func node(in text: String) -> Substring? {
    guard let found = text.firstRange(of: "node at ") else { return nil }
    return text[found.lowerBound...].prefix { $0 != ":" }
  }
}
