// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Random values of every type, as the tree prints them and as a user may write them.

/// Generates values for the properties of a model.
public struct RandomValues {
  public var random: SplitMix64
  /// True if links may occur in collections within collections.
  private let hasDeepLinks: Bool

  public init(seed: UInt64, hasDeepLinks: Bool = true) {
    random = SplitMix64(seed: seed)
    self.hasDeepLinks = hasDeepLinks
  }

  /// A value as the tree shows it, and in one of the formats in which it can be written.
  public struct Pair {
    public let shown: JSONTree
    public let written: JSONTree

    init(_ shown: JSONTree, written: JSONTree? = nil) { (self.shown, self.written) = (shown, written ?? shown) }
  }

  // MARK: choices

  public mutating func below(_ bound: Int) -> Int { random.below(max(1, bound)) }
  public mutating func chance(_ one: Int) -> Bool { random.below(one) == 0 }

  public mutating func any<C: RandomAccessCollection>(_ choices: C) -> C.Element? {
    choices.isEmpty ? nil : choices[choices.index(choices.startIndex, offsetBy: random.below(choices.count))]
  }

  /// Returns the file of a random object of a class, independent of the order of a dictionary, which varies between
  /// runs.
  public mutating func anyFile(_ model: TreeModel, _ index: Int) -> FileName? {
    let objects = model.classes[index].objects
    return objects.isEmpty ? nil : any(objects.keys.sorted())
  }

  // MARK: properties

  /// Returns a value for a property; nil if the property requires a value that cannot be generated.
  public mutating func value(_ property: TreeModel.Property, _ model: TreeModel, depth: Int = 0) -> Pair? {
    switch property.collection {
    case nil: return element(property, model, depth: depth)
    case "set":
      // Values that a set considers equal are not generated twice.
      var shown: [JSONTree] = [], written: [JSONTree] = []
      for _ in 0..<count() {
        guard let pair = setElement(property, model), !shown.contains(pair.shown) else { continue }
        shown.append(pair.shown)
        written.append(pair.written)
      }
      return Pair(.array(shown), written: .array(written))
    case "list":
      let pairs = (0..<count()).compactMap { _ in element(property, model, depth: depth) }
      return Pair(.array(pairs.map(\.shown)), written: .array(pairs.map(\.written)))
    default:
      let pairs = (0..<count()).compactMap { _ in
        element(property, model, depth: depth).map { (key: dictionaryKey(), pair: $0) }
      }
      return dictionary(pairs)
    }
  }

  /// Returns a number of elements: usually small, occasionally more than a leaf can hold.
  private mutating func count() -> Int { chance(60) ? 1010 : chance(8) ? below(60) : below(6) }

  private mutating func dictionaryKey() -> [UInt8] {
    chance(6)
      ? text(below(40)).filter { $0 != UInt8(ascii: "$") && $0 != UInt8(ascii: ".") }
      : Array("key\(below(30))".utf8)
  }

  private func dictionary(_ pairs: [(key: [UInt8], pair: Pair)]) -> Pair {
    var known: Set<[UInt8]> = []
    let distinct = pairs.filter { known.insert($0.key).inserted }
    return Pair(
      TreeModel.dictionary(distinct.map { .init($0.key, $0.pair.shown) }),
      written: .object(distinct.map { .init($0.key, $0.pair.written) })
    )
  }

  private mutating func element(_ property: TreeModel.Property, _ model: TreeModel, depth: Int) -> Pair? {
    if property.type == "mixed" {
      return mixed(model, depth: 0, linksTo: hasDeepLinks ? .max : property.collection == nil ? 1 : 0)
    }
    if property.isOptional && chance(5) { return Pair(.null) }
    guard property.type == "object" else { return scalar(property.type) }
    guard let target = property.target.flatMap({ model.index(of: $0) }) else { return nil }
    if model.classes[target].isEmbedded {
      if depth > 2 { return property.collection == nil ? Pair(.null) : nil }
      return embedded(model.classes[target], model, depth: depth + 1)
    }
    // A list of links cannot contain null, and a single link requires an object.
    if let file = anyFile(model, target), let link = model.link(to: file, of: target) {
      return Pair(link, written: chance(6) ? model.typedLink(to: file, of: target) : nil)
    }
    return property.isOptional ? Pair(.null) : nil
  }

  /// Returns an embedded object whose text contains only some of its properties.
  private mutating func embedded(_ known: TreeModel.Class, _ model: TreeModel, depth: Int) -> Pair? {
    var shown: [JSONTree.Member] = [], written: [JSONTree.Member] = []
    for property in known.properties {
      if !chance(3), let pair = value(property, model, depth: depth) {
        shown.append(.init(property.name, pair.shown))
        written.append(.init(property.name, pair.written))
      } else {
        shown.append(.init(property.name, property.defaultValue))
      }
    }
    return Pair(.object(shown), written: .object(written))
  }

  private mutating func setElement(_ property: TreeModel.Property, _ model: TreeModel) -> Pair? {
    guard property.type == "mixed" else { return element(property, model, depth: 0) }
    // Numbers of several types are equal in a set if their values are equal.
    if chance(4) { return typedLink(model) }
    return Pair([.null, .bool(chance(2)), number(below(9)), .string(text(below(70)))][below(4)])
  }

  // MARK: values of a type

  public mutating func scalar(_ type: String) -> Pair {
    switch type {
    case "int":
      let value = integer()
      return Pair(.integer(value), written: chance(4) ? .number(String(value)) : nil)
    case "bool": return Pair(.bool(chance(2)))
    case "string":
      let lengths = [below(8), below(70), [14, 15, 16, 62, 63, 64, 65, 150][below(8)]]
      return Pair(.string(text(lengths[below(3)])))
    case "data": return Pair(.text(base64(chance(3) ? [63, 64, 65, 120][below(4)] : below(20))))
    case "date": return date()
    case "float", "double":
      if chance(12) { return Pair(.members(["$numberDouble": .text(["NaN", "Infinity", "-Infinity"][below(3)])])) }
      return Pair(.number(real()))
    case "decimal128": return Pair(.text(decimal()))
    case "objectId": return Pair(.text(digits(24)))
    case "uuid": return Pair(.text([8, 4, 4, 4, 12].map { digits($0) }.joined(separator: "-")))
    default: return Pair(.null)
    }
  }

  /// Returns a Mixed value with links down to some level of nesting.
  private mutating func mixed(_ model: TreeModel, depth: Int, linksTo linkDepth: Int) -> Pair {
    switch below(depth > 3 ? 13 : 16) {
    case 0: return Pair(.null)
    case 1: return Pair(.bool(chance(2)))
    case 2, 3: return scalar("int")
    case 4: return scalar("string")
    case 5:
      let number = real()
      // An integral double is marked with its type.
      return Pair(number.hasSuffix(".0") ? .members(["$numberDouble": .text(number)]) : .number(number))
    case 6: return Pair(.members(["$numberFloat": .text(real())]))
    case 7: return Pair(.members(["$numberDecimal": .text(decimal())]))
    case 8: return Pair(.members(["$oid": .text(digits(24))]))
    case 9:
      let bytes: JSONTree = .members(["base64": .text(base64(below(80))), "subType": .text("00")])
      return Pair(.members(["$binary": bytes]))
    case 10: return (depth > linkDepth ? nil : typedLink(model)) ?? Pair(.null)
    case 11:
      let day = date().shown
      return Pair(day.string == nil ? day : .members(["$date": day]))
    case 12: return Pair(.members(["$uuid": scalar("uuid").shown]))
    case 13, 14:
      let pairs = (0..<below(4)).map { _ in mixed(model, depth: depth + 1, linksTo: linkDepth) }
      return Pair(.array(pairs.map(\.shown)), written: .array(pairs.map(\.written)))
    default:
      let pairs = (0..<below(4)).map { _ in
        (key: dictionaryKey(), pair: mixed(model, depth: depth + 1, linksTo: linkDepth))
      }
      return dictionary(pairs)
    }
  }

  private mutating func typedLink(_ model: TreeModel) -> Pair? {
    let targets = model.classes.indices.filter {
      !model.classes[$0].isEmbedded && !model.classes[$0].isReadOnly && !model.classes[$0].objects.isEmpty
    }
    guard let target = any(targets), let file = anyFile(model, target) else { return nil }
    return model.typedLink(to: file, of: target).map { Pair($0) }
  }

  private func number(_ value: Int) -> JSONTree { .number(String(value)) }

  public mutating func integer() -> Int64 {
    let edge = Int64.max >> Int64([0, 1, 8, 15, 31, 32, 47, 55, 56, 60, 63][below(11)])
    switch below(6) {
    case 0: return edge
    case 1: return ~edge
    case 2: return edge == .max ? edge : edge + 1
    default: return Int64(truncatingIfNeeded: random.next()) & edge * (chance(3) ? -1 : 1)
    }
  }

  private mutating func real() -> String {
    let eighths = below(1 << 20) - (1 << 19)
    return chance(8) ? "-0.0" : "\(Double(eighths) / 8)"
  }

  private mutating func decimal() -> String {
    [
      "0", "1.10", "-12345.678", "99999999999999999.5", "NaN", "\(1 + below(1000)).\(10 + below(90))",
      "-\(1 + below(1 << 40))", "\(1 + below(9)).\(digits(14, "0123456789"))1",
    ][below(8)]
  }

  private mutating func digits(_ count: Int, _ digits: String = "0123456789abcdef") -> String {
    let digits = Array(digits)
    return String((0..<count).map { _ in digits[below(digits.count)] })
  }

  /// Returns UTF-8 text of about this many bytes, never more.
  public mutating func text(_ count: Int) -> [UInt8] {
    let pieces = ["a", "b", "Z", "0", " ", "é", "日", "😀", "\"", "\\", "\n", "\u{1}", "\u{7f}", "/", "%", "."]
    var text: [UInt8] = chance(8) ? Array("a common beginning of texts ".utf8.prefix(count)) : []
    while true {
      let piece = chance(4) ? pieces[below(pieces.count)] : pieces[below(5)]
      if text.count + piece.utf8.count > count { return text }
      text += piece.utf8
    }
  }

  private mutating func base64(_ count: Int) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    var text = String((0..<count / 3 * 4).map { _ in alphabet[below(64)] })
    // The unused bits are zero.
    if count % 3 == 1 { text += "\(alphabet[below(64)])\(alphabet[below(4) * 16])==" }
    if count % 3 == 2 { text += "\(alphabet[below(64)])\(alphabet[below(64)])\(alphabet[below(16) * 4])=" }
    return text
  }

  private mutating func date() -> Pair {
    if chance(12) {
      let seconds = 253_402_300_800 + below(1 << 40), nanoseconds = below(1_000_000_000)
      let parts: JSONTree = .members(["seconds": .text(String(seconds)), "nanoseconds": .number(String(nanoseconds))])
      return Pair(.members(["$date": parts]))
    }
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let year = String(10_000 + [1, 1950, 1969, 1970, 2024, 9999][below(6)]).dropFirst()
    var text = "\(year)-\(two(1 + below(12)))-\(two(1 + below(28)))T"
    text += "\(two(below(24))):\(two(below(60))):\(two(below(60)))"
    switch below(4) {
    case 0: text += ".\(digits(2, "0123456789"))1"
    case 1: text += ".\(digits(5, "0123456789"))1"
    case 2: text += ".\(digits(8, "0123456789"))1"
    default: break
    }
    return Pair(.text(text + "Z"), written: chance(5) ? .members(["$date": .text(text + "Z")]) : nil)
  }
}
