// Converts format strings with arguments, as `filter` accepts them, to queries with bound values.

import Foundation
import RealmPages
import RealmQuery

enum PredicateFormat {
  /// Returns the condition of a format string with its arguments. `%@` and `$0` are placeholders for values, `%K` for a
  /// property.
  static func condition(_ format: String, _ arguments: [Any], _ schema: ClassSchema?) -> QueryCondition {
    // A single array may contain all arguments.
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
      // Accepts %ld, %lld, %lu and similar.
      if kind == "l" { while let more = rest.next(), more == "l" {} }
      if argument is any RLMGeospatial { replaceIn(&text) }
      text += "$\(values.count)"
      values.append(value(of: argument, format))
    }
    endWord()
    // The arguments are referenced by number: $0.
    if next == 0 { values = arguments.map { value(of: $0, format) } }
    return .bound(text, values)
  }

  /// Replaces the operator IN at the end of a text by the operator for regions.
  private static func replaceIn(_ text: inout String) {
    var head = text[...]
    while head.last?.isWhitespace == true { head.removeLast() }
    if head.uppercased().hasSuffix(" IN") { text = head.dropLast(2) + "GEOWITHIN " }
  }

  /// The words of format strings that differ from the query language.
  private static let words = ["@allKeys": "@keys", "@allValues": "@values", "#any": "*"]

  private static func places(in format: String) -> Int { format.count { $0 == "%" } }

  /// Converts a path of property names to the query language: uses stored names, and replaces linking objects by the
  /// links.
  static func path(_ path: String, _ schema: ClassSchema?) -> String {
    guard var schema else { return path }
    var steps: [String] = []
    var names = path.split(separator: ".", omittingEmptySubsequences: false)[...]
    while let name = names.first {
      if name.hasPrefix("@") {
        // An operator on a collection, not a property.
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
        // The query language requires spaces to be escaped.
        steps.append(property.storedName.replacingOccurrences(of: " ", with: "\\ "))
      }
      guard let linked = property.linkedClass else { break }
      schema = linked
    }
    return (steps + names.map { words[String($0)] ?? String($0) }).joined(separator: ".")
  }

  /// Returns an argument as the engine stores it.
  static func value(of argument: Any, _ format: String) -> Value {
    if ValueAssignment.isNull(argument) || (argument as? any OptionalProtocol)?.isNil == true { return .null }
    switch argument {
    case let scalar as any _ScalarValue: return scalar._rlmEngineValue.value
    case let custom as any FailableCustomPersistable: return custom._rlmPlain().value
    case let object as ObjectBase:
      // No link refers to an unmanaged object, so use a link that matches nothing.
      guard let type = object.managedClass else { return .link(TableKey(.max), ObjKey(.max)) }
      return .link(type.key, ObjKey(object.objectKey))
    case AnyRealmValue.list, AnyRealmValue.dictionary:
      Misuse.stop("A list or dictionary of mixed values cannot be an argument of a format string: use where.")
    case let value as AnyRealmValue: return value._rlmAny.map { Self.value(of: $0, format) } ?? .null
    case let region as any RLMGeospatial: return region._rlmShape.text._rlmEngineValue.value
    case let list as any Sequence:
      var values: [Value] = []
      for element in list { values.append(value(of: element, format)) }
      return .list(values)
    case let number as any BinaryInteger: return .int(Int64(clamping: number))
    default: Misuse.stop("A value of type \(type(of: argument)) cannot be an argument of a query: \(format)")
    }
  }
}
