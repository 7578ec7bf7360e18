// Format strings with arguments, as `filter` takes them, as queries with arguments.

import Foundation
import RealmPages
import RealmQuery

enum PredicateFormat {
  /// The condition that a format string says with its arguments. `%@` and `$0` stand for values, `%K` for a property.
  static func condition(_ format: String, _ arguments: [Any], _ schema: ClassSchema?) -> QueryCondition {
    // One array may stand for all arguments.
    var arguments = arguments
    if arguments.count == 1, let all = arguments[0] as? [Any], places(in: format) > 1 { arguments = all }
    var text = "", values: [Value] = [], next = 0, word = ""
    var rest = format.makeIterator(), quote: Character?
    func endWord() {
      if !word.isEmpty { text += path(word, schema) }
      word = ""
    }
    while let character = rest.next() {
      if quote == nil {
        if character.isLetter || character.isNumber || "_.@$".contains(character) {
          word.append(character)
          continue
        }
        endWord()
      }
      if let end = quote {
        text.append(character)
        if character == "\\", let escaped = rest.next() { text.append(escaped) }
        if character == end { quote = nil }
        continue
      }
      if character == "\"" || character == "'" { quote = character }
      guard character == "%" else {
        text.append(character)
        continue
      }
      guard let kind = rest.next(), kind != "%" else {
        text.append("%")
        continue
      }
      if next >= arguments.count { Misuse.stop("The query has more placeholders than arguments: \(format)") }
      let argument = arguments[next]
      next += 1
      if kind == "K" {
        text += path("\(argument)", schema)
        continue
      }
      // %ld, %lld, %lu and the like
      if kind == "l" { while let more = rest.next(), more == "l" {} }
      text += "$\(values.count)"
      values.append(value(of: argument, format))
    }
    endWord()
    // Arguments that are named by their number: $0.
    if next == 0 { values = arguments.map { value(of: $0, format) } }
    return .bound(text, values)
  }

  /// What format strings call otherwise than the query language.
  private static let words = ["@allKeys": "@keys", "@allValues": "@values", "#any": "*"]

  private static func places(in format: String) -> Int { format.count { $0 == "%" } }

  /// A path of property names as the query language has it: by the names in the realm, linking objects by the links.
  static func path(_ path: String, _ schema: ClassSchema?) -> String {
    guard var schema else { return path }
    var steps: [String] = []
    var names = path.split(separator: ".", omittingEmptySubsequences: false)[...]
    while let name = names.first {
      if name.hasPrefix("@") {
        // What the query language says of collections, not of a property.
        steps.append(Self.words[String(name)] ?? String(name))
        names.removeFirst()
        continue
      }
      guard let index = schema.index(of: String(name)) else { break }
      names.removeFirst()
      let property = schema.properties[index]
      if property.type.isLinkingObjects, let origin = property.linkedClass, let link = property.originProperty {
        let stored = origin.index(of: link).map { origin.properties[$0].storedName } ?? link
        steps += ["@links", origin.name, stored]
      } else {
        // Blanks have to be escaped.
        steps.append(property.storedName.replacingOccurrences(of: " ", with: "\\ "))
      }
      guard let linked = property.linkedClass else { break }
      schema = linked
    }
    return (steps + names.map { words[String($0)] ?? String($0) }).joined(separator: ".")
  }

  /// An argument as the engine has it.
  static func value(of argument: Any, _ format: String) -> Value {
    if ValueAssignment.isNull(argument) || (argument as? any OptionalProtocol)?.isNil == true { return .null }
    switch argument {
    case let scalar as any _ScalarValue: return scalar._rlmEngineValue.value
    case let custom as any FailableCustomPersistable: return custom._rlmPlain().value
    case let object as ObjectBase:
      // No link leads to an unmanaged object.
      guard let type = object.managedClass else { return .link(TableKey(.max), ObjKey(.max)) }
      return .link(type.key, ObjKey(object.objectKey))
    case AnyRealmValue.list, AnyRealmValue.dictionary:
      Misuse.stop("A list or dictionary of mixed values cannot be an argument of a format string: use where.")
    case let value as AnyRealmValue: return value._rlmAny.map { Self.value(of: $0, format) } ?? .null
    case let list as any Sequence:
      var values: [Value] = []
      for element in list { values.append(value(of: element, format)) }
      return .list(values)
    case let number as any BinaryInteger: return .int(Int64(clamping: number))
    default: Misuse.stop("A value of type \(type(of: argument)) cannot be an argument of a query: \(format)")
    }
  }
}
