// The condition under which to compact a realm: an expression such as `total > 100MB and used < 50%`.

/// A condition on the size of a realm.
///
/// `total` is the size of the realm, `used` and `free` are the two parts of it. They are compared (`<`, `<=`, `>`,
/// `>=`, `==`, `!=`) with each other, with sizes (`4096`, `64KB`, `100MB`, `1.5GB`; 1 KB is 1024 bytes) and with
/// percentages of the total (`50%`). Comparisons are combined with `and`, `or`, `not` and parentheses.
public struct CompactCondition: Sendable {
  private indirect enum Node: Sendable {
    case comparison(Operand, String, Operand)
    case all(Node, Node)
    case any(Node, Node)
    case not(Node)
  }

  private enum Operand: Sendable {
    case total, used, free
    case bytes(Double)
    case percent(Double)

    func value(_ total: Double, _ used: Double) -> Double {
      switch self {
      case .total: total
      case .used: used
      case .free: total - used
      case .bytes(let bytes): bytes
      case .percent(let percent): total * percent / 100
      }
    }
  }

  private let root: Node

  /// Parses a condition.
  ///
  /// - Throws: `InputError`, which states what is expected.
  public init(_ text: String) throws(InputError) {
    var parser = Parser(tokens: try Parser.tokens(of: text)[...], end: text.count + 1)
    root = try parser.expression()
    if let rest = parser.tokens.first { throw parser.error(at: rest, "the end, 'and' or 'or'") }
  }

  /// True if the condition holds for a realm of `total` bytes of which `used` are in use.
  public func holds(total: Int, used: Int) -> Bool { Self.holds(root, Double(total), Double(used)) }

  private static func holds(_ node: Node, _ total: Double, _ used: Double) -> Bool {
    switch node {
    case .all(let a, let b): return holds(a, total, used) && holds(b, total, used)
    case .any(let a, let b): return holds(a, total, used) || holds(b, total, used)
    case .not(let a): return !holds(a, total, used)
    case .comparison(let a, let sign, let b):
      let (x, y) = (a.value(total, used), b.value(total, used))
      return switch sign {
      case "<": x < y
      case "<=": x <= y
      case ">": x > y
      case ">=": x >= y
      case "!=": x != y
      default: x == y
      }
    }
  }

  private struct Token {
    let text: String
    let column: Int
  }

  /// A recursive descent parser; `not` binds tighter than `and`, and `and` tighter than `or`.
  private struct Parser {
    var tokens: ArraySlice<Token>
    let end: Int
    private var depth = 0

    init(tokens: ArraySlice<Token>, end: Int) {
      self.tokens = tokens
      self.end = end
    }

    static func tokens(of text: String) throws(InputError) -> [Token] {
      var tokens: [Token] = []
      var rest = Array(text)[...]
      func isWord(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || character == "." || character == "%")
      }
      while let first = rest.first {
        let column = rest.startIndex + 1
        if first.isWhitespace {
          rest.removeFirst()
          continue
        }
        let run: ArraySlice<Character>
        if isWord(first) {
          run = rest.prefix(while: isWord)
        } else if "()".contains(first) {
          run = rest.prefix(1)
        } else {
          run = rest.prefix { "<>=!&|".contains($0) }
        }
        if run.isEmpty { throw InputError(.syntax, column: column, "'\(first)' has no meaning here") }
        tokens.append(Token(text: String(run).lowercased(), column: column))
        rest = rest.dropFirst(run.count)
      }
      return tokens
    }

    func error(at token: Token?, _ reason: String) -> InputError {
      let found = token.map { "'\($0.text)'" } ?? "the end"
      return InputError(.syntax, column: token?.column ?? end, "expected \(reason), found \(found)")
    }

    private mutating func take(_ words: String...) -> Bool {
      guard let first = tokens.first, words.contains(first.text) else { return false }
      tokens.removeFirst()
      return true
    }

    mutating func expression() throws(InputError) -> Node {
      var node = try conjunction()
      while take("or", "||") { node = .any(node, try conjunction()) }
      return node
    }

    private mutating func conjunction() throws(InputError) -> Node {
      var node = try primary()
      while take("and", "&&") { node = .all(node, try primary()) }
      return node
    }

    private mutating func primary() throws(InputError) -> Node {
      depth += 1
      defer { depth -= 1 }
      if depth > 100 { throw error(at: tokens.first, "fewer levels of parentheses") }
      if take("not", "!") { return .not(try primary()) }
      if take("(") {
        let node = try expression()
        if !take(")") { throw error(at: tokens.first, "')'") }
        return node
      }
      let left = try operand()
      let sign = tokens.first
      if !take("<", "<=", ">", ">=", "=", "==", "!=") { throw error(at: sign, "a comparison such as <") }
      return .comparison(left, sign?.text ?? "", try operand())
    }

    private mutating func operand() throws(InputError) -> Operand {
      let token = tokens.popFirst()
      switch token?.text {
      case "total": return .total
      case "used": return .used
      case "free": return .free
      default: break
      }
      guard let token, let operand = Self.number(token.text) else {
        throw error(at: token, "total, used, free, a size such as 100MB or a part such as 50%")
      }
      return operand
    }

    private static func number(_ text: String) -> Operand? {
      let digits = text.prefix { $0.isNumber || $0 == "." }
      guard let number = Double(digits), number.isFinite else { return nil }
      switch text.dropFirst(digits.count) {
      case "", "b": return .bytes(number)
      case "%": return .percent(number)
      case "k", "kb", "kib": return .bytes(number * 0x1p10)
      case "m", "mb", "mib": return .bytes(number * 0x1p20)
      case "g", "gb", "gib": return .bytes(number * 0x1p30)
      case "t", "tb", "tib": return .bytes(number * 0x1p40)
      default: return nil
      }
    }
  }
}
