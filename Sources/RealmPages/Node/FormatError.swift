// The error of every layer that interprets bytes of a file.

/// Bytes that break a rule of the format. Bytes from a file never trap: they end here.
public struct FormatError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, in words, without the place.
  public let problem: String
  /// The byte offset of the node concerned, or nil.
  public let ref: Int?
  /// Where in the model: a table, object or property; empty when unknown.
  public internal(set) var place: String

  package init(_ problem: String, ref: Int? = nil, place: String = "") {
    self.problem = problem
    self.ref = ref
    self.place = place
  }

  /// The place, the node and the problem in one line.
  public var description: String {
    var text = place.isEmpty ? "" : place + ": "
    if let ref { text += "node at \(ref): " }
    return text + problem
  }
}
