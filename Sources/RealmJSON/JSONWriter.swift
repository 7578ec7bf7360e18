// Structure of JSON text: brackets, commas, line breaks and indentation. It knows nothing of values or Realm.

/// Writes the structure of one JSON text into a buffer.
struct JSONWriter {
  let out: OutputBuffer
  /// The number of bytes in `out` that must not be passed.
  ///
  /// A loop that writes nothing lowers it, so that it ends too.
  var limit: Int
  private let isPretty: Bool
  private var level = 0

  /// A writer at the current end of `out`.
  init(_ out: OutputBuffer, _ layout: JSONLayout, limit: Int = .max) {
    self.out = out
    self.limit = limit
    isPretty = layout == .pretty
  }

  /// Whether the text has grown beyond its limit.
  var isOverLimit: Bool { out.count > limit }

  mutating func beginObject() { begin(UInt8(ascii: "{")) }
  mutating func endObject(isEmpty: Bool = false) { end(UInt8(ascii: "}"), isEmpty) }
  mutating func beginArray() { begin(UInt8(ascii: "[")) }
  mutating func endArray(isEmpty: Bool = false) { end(UInt8(ascii: "]"), isEmpty) }

  /// Goes to the place of the next member or element.
  func next(isFirst: Bool) {
    if !isFirst { out.append(UInt8(ascii: ",")) }
    breakLine()
  }

  /// What stands between the closing quote of a name and its value.
  func endName() {
    out.append(UInt8(ascii: ":"))
    if isPretty { out.append(UInt8(ascii: " ")) }
  }

  /// Goes to the place of a member with a name that needs no escapes.
  func member(_ name: StaticString, isFirst: Bool = false) {
    next(isFirst: isFirst)
    out.append(UInt8(ascii: "\""))
    out.append(name)
    out.append(UInt8(ascii: "\""))
    endName()
  }

  /// Begins an object with one member: `{"name": `.
  ///
  /// It ends with `endObject()`.
  mutating func beginWrapper(_ name: StaticString) {
    beginObject()
    member(name, isFirst: true)
  }

  /// Ends the whole text.
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
