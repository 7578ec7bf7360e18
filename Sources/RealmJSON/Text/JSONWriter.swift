// Writes the structure of JSON text: brackets, commas, line breaks and indentation. It is independent of values and
// Realm.

/// Writes the structure of one JSON text into a buffer.
struct JSONWriter {
  let out: OutputBuffer
  /// The number of bytes that `out` must not exceed.
  ///
  /// A loop decrements it for each iteration that writes nothing, so that such a loop ends too.
  var limit: Int
  private let isPretty: Bool
  private var level = 0

  /// Creates a writer at the current end of `out`.
  init(_ out: OutputBuffer, _ layout: JSONLayout, limit: Int = .max) {
    self.out = out
    self.limit = limit
    isPretty = layout == .pretty
  }

  /// True if the text exceeds its limit.
  var isOverLimit: Bool { out.count > limit }

  mutating func beginObject() { begin(UInt8(ascii: "{")) }
  mutating func endObject(isEmpty: Bool = false) { end(UInt8(ascii: "}"), isEmpty) }
  mutating func beginArray() { begin(UInt8(ascii: "[")) }
  mutating func endArray(isEmpty: Bool = false) { end(UInt8(ascii: "]"), isEmpty) }

  /// Starts the next member or element.
  func next(isFirst: Bool) {
    if !isFirst { out.append(UInt8(ascii: ",")) }
    breakLine()
  }

  /// Appends the separator between a name and its value.
  func endName() {
    out.append(UInt8(ascii: ":"))
    if isPretty { out.append(UInt8(ascii: " ")) }
  }

  /// Starts a member whose name needs no escapes.
  func member(_ name: StaticString, isFirst: Bool = false) {
    next(isFirst: isFirst)
    out.append(UInt8(ascii: "\""))
    out.append(name)
    out.append(UInt8(ascii: "\""))
    endName()
  }

  /// Begins an object with one member: `{"name": `. It must be closed with `endObject()`.
  mutating func beginWrapper(_ name: StaticString) {
    beginObject()
    member(name, isFirst: true)
  }

  /// Ends the text with a newline.
  func finish() { out.append(UInt8(ascii: "\n")) }

  private mutating func begin(_ bracket: UInt8) {
    out.append(bracket)
    level += 1
  }

  private mutating func end(_ bracket: UInt8, _ isEmpty: Bool) {
    level -= 1
    if !isEmpty { breakLine() }
    out.append(bracket)
  }

  private func breakLine() {
    guard isPretty else { return }
    out.append(UInt8(ascii: "\n"))
    out.append(spaces: 2 * level)
  }
}
