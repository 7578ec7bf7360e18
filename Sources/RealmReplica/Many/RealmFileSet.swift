// The files of many realms: what patterns find, and what each realm is called.

import Glibc
import RealmPages

/// One realm among many.
public struct RealmFile: Hashable, Sendable {
  /// Where its file is.
  public let path: String
  /// What it is called in the column `realm`.
  public let realm: String
}

/// Files by patterns of the shell, and names by a pattern with `{id}`.
public struct RealmFileSet: Sendable {
  private let patterns: [String]
  private let template: [UInt8]

  /// Takes files or patterns, and the pattern that names realms; nil if that has not one `{id}`.
  public init?(_ patterns: [String], template: String) {
    let pieces = template.components(around: "{id}")
    if pieces.count != 2 { return nil }
    self.patterns = patterns
    self.template = Array(template.utf8)
  }

  /// The files that there are now, in the order of their names, and those that the template does not name.
  public func find() -> (files: [RealmFile], unnamed: [String]) {
    var files: [RealmFile] = [], unnamed: [String] = [], seen: Set<ExactName> = []
    for pattern in patterns {
      for path in Self.expand(pattern) where seen.insert(ExactName(path)).inserted {
        if let realm = name(of: path) {
          files.append(RealmFile(path: path, realm: realm))
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
    // A file without wildcards is one that may come later.
    guard unsafe glob(pattern, GLOB_NOSORT, nil, &found) == 0 else { return [] }
    return unsafe (0..<Int(found.gl_pathc)).compactMap { index in
      unsafe found.gl_pathv[index].map { unsafe String(cString: $0) }
    }.sorted()
  }

  /// The name of the realm at a path; nil if the template does not fit.
  public func name(of path: String) -> String? {
    let bytes = Array(path.utf8)
    guard let name = Self.match(template[...], bytes[...]), !name.isEmpty else { return nil }
    return String(decoding: name, as: UTF8.self)
  }

  /// What `{id}` stands for: a part of one name; `*` stands for any such part. The longest is taken.
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

  /// Whether the part of a template behind `{id}` fits.
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
  /// The parts between the places where another text is.
  fileprivate func components(around separator: String) -> [Substring] {
    var parts: [Substring] = [], rest = self[...]
    while let range = rest.firstRange(of: separator) {
      parts.append(rest[..<range.lowerBound])
      rest = rest[range.upperBound...]
    }
    return parts + [rest]
  }
}
