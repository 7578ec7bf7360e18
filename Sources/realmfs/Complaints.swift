// What is damaged among many objects: one line for each damaged node, however many objects need it.

/// The damage that a command met, in the order in which it came.
struct Complaints {
  private var entries: [(text: String, count: Int)] = []
  private var places: [Substring: Int] = [:]
  /// The number of complaints.
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// Adds the complaint of one object.
  mutating func add(_ text: String) {
    count += 1
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
      switch entry.count {
      case 1: entry.text
      case 2: "\(entry.text); 1 more problem at this node"
      default: "\(entry.text); \(entry.count - 1) more problems at this node"
      }
    }
  }

  /// The part of a complaint that names the damaged node; nil if there is none.
  private static func node(in text: String) -> Substring? {
    guard let found = text.firstRange(of: "node at ") else { return nil }
    return text[found.lowerBound...].prefix { $0 != ":" }
  }
}
