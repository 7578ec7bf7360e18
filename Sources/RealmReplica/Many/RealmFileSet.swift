// The files of many realms: the files that patterns match, and the name of each realm.

import Glibc
import RealmPages

/// One realm among many.
public struct ReplicatedFile: Hashable, Sendable {
  /// The path of its file.
  public let path: String
  /// Its value in the column `realm`.
  public let realm: String
}

/// A set of files given by shell patterns, with realm names taken from a template with `{id}`.
public struct RealmFileSet: Sendable {
  private let patterns: [String]
  private let template: [UInt8]

  /// Creates a set from files or patterns and a template; nil if the template does not contain exactly one `{id}`.
  public init?(_ patterns: [String], template: String) {
    let pieces = template.components(around: "{id}")
    if pieces.count != 2 { return nil }
    self.patterns = patterns
    self.template = Array(template.utf8)
  }

  /// Returns the existing files, sorted by name, and the files that do not match the template.
  public func find() -> (files: [ReplicatedFile], unnamed: [String]) {
    var files: [ReplicatedFile] = [], unnamed: [String] = [], seen: Set<ExactName> = []
    for pattern in patterns {
      for path in Self.expand(pattern) where seen.insert(ExactName(path)).inserted {
        if let realm = name(of: path) {
          files.append(ReplicatedFile(path: path, realm: realm))
        } else {
          unnamed.append(path)
        }
      }
    }
    return (files, unnamed)
  }

  private static func expand(_ pattern: String) -> [String] {
    var found = unsafe glob_t()
    defer { unsafe globfree(&found) }
    // A name without wildcards may refer to a file that does not exist yet.
    guard unsafe glob(pattern, GLOB_NOSORT, nil, &found) == 0 else { return [] }
    return unsafe (0..<Int(found.gl_pathc)).compactMap { index in
      unsafe found.gl_pathv[index].map { unsafe String(cString: $0) }
    }.sorted()
  }

  /// Returns the name of the realm at a path; nil if the path does not match the template.
  public func name(of path: String) -> String? {
    let bytes = Array(path.utf8)
    guard let name = Self.match(template[...], bytes[...]), !name.isEmpty else { return nil }
    return String(decoding: name, as: UTF8.self)
  }

  /// Returns the text matched by `{id}`, which is the longest match within one path component; `*` matches any part of
  /// a component.
  private static func match(_ template: ArraySlice<UInt8>, _ path: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    let id = Array("{id}".utf8), star = UInt8(ascii: "*")
    if template.starts(with: id) || template.first == star {
      let isID = template.first != star, rest = template.dropFirst(isID ? 4 : 1)
      let end = path.firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex
      for cut in stride(from: end, through: path.startIndex, by: -1) {
        if !isID, let found = match(rest, path[cut...]) { return found }
        if isID, matches(rest, path[cut...]) { return path[..<cut] }
      }
      return nil
    }
    guard let first = template.first, first == path.first else { return nil }
    return match(template.dropFirst(), path.dropFirst())
  }

  /// True if the rest of the template, after `{id}`, matches.
  private static func matches(_ template: ArraySlice<UInt8>, _ path: ArraySlice<UInt8>) -> Bool {
    guard let first = template.first else { return path.isEmpty }
    if first == UInt8(ascii: "*") {
      let end = path.firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex
      return (path.startIndex...end).contains { matches(template.dropFirst(), path[$0...]) }
    }
    return first == path.first && matches(template.dropFirst(), path.dropFirst())
  }
}

extension String {
  /// Returns the parts between the occurrences of `separator`.
  fileprivate func components(around separator: String) -> [Substring] {
    var parts: [Substring] = [], rest = self[...]
    while let range = rest.firstRange(of: separator) {
      parts.append(rest[..<range.lowerBound])
      rest = rest[range.upperBound...]
    }
    return parts + [rest]
  }
}
