// The reason that one object cannot be rendered; other objects are not affected.

public import RealmPages

/// The reason that an object cannot be rendered.
///
/// Nothing of the object was written.
public struct RenderError: Error, Sendable, CustomStringConvertible {
  /// The kinds of failure.
  public enum Reason: Sendable, Hashable {
    /// The bytes of the object, or of an object that is shown as part of it, violate a rule of the format.
    case damaged(EngineError)
    /// The object links to an object that does not exist and has no tombstone.
    case missingTarget(table: String, key: ObjKey)
    /// The object links to an object whose primary key has a type that is not allowed for primary keys.
    case badPrimaryKey(table: String, key: ObjKey)
    /// Collections and embedded objects are nested more than 200 levels deep.
    case tooDeep
    /// The text would exceed 1 GiB, or any length possible for a valid file of this size.
    case tooLarge
    /// A path yields more values than are collected for one object; the string describes them.
    case tooMany(String)
  }

  /// The kind of failure.
  public let reason: Reason
  /// The class and key of the object concerned, as `Person/4`; empty for a schema.
  public internal(set) var object = ""
  /// The property concerned, as `address.street`; empty if the error is not about one property.
  public internal(set) var property = ""

  package init(_ reason: Reason) { self.reason = reason }

  /// The object, the property and the problem in words.
  public var description: String {
    var place = object
    if !property.isEmpty { place += (place.isEmpty ? "property " : ", property ") + property }
    return place.isEmpty ? problem : place + ": " + problem
  }

  private var problem: String {
    switch reason {
    case .damaged(let error): "damaged: \(error)"
    case .missingTarget(let table, let key): "links to \(table)/\(key), which does not exist"
    case .badPrimaryKey(let table, let key): "links to \(table)/\(key), which has no usable primary key"
    case .tooDeep: "collections and embedded objects are nested too deeply"
    case .tooMany(let problem): problem
    case .tooLarge: "the text is longer than an intact file of this size can produce"
    }
  }

  /// Returns the error as seen from the object that contains the failed one in its property `outer`.
  func within(_ outer: String) -> RenderError {
    var error = self
    error.property = property.isEmpty ? outer : outer + "." + property
    return error
  }
}

// Reads that rendering needs, with `RenderError` in place of `EngineError`.

extension Snapshot {
  func readTable(_ key: TableKey) throws(RenderError) -> Table? {
    do { return try table(key) } catch { throw RenderError(.damaged(error)) }
  }
}

extension ObjectCursor {
  @inline(__always)
  func find(_ key: ObjKey) throws(RenderError) -> Bool {
    do { return try seek(key) } catch { throw RenderError(.damaged(error)) }
  }

  @inline(__always)
  func read(_ index: Int) throws(RenderError) -> ValueView {
    do { return try value(index) } catch { throw RenderError(.damaged(error)) }
  }
}

extension Effort {
  @inline(__always)
  func charge(_ body: (Effort) throws(EngineError) -> Void) throws(RenderError) {
    do { try body(self) } catch { throw RenderError(.damaged(error)) }
  }

  @inline(__always)
  func charge(for element: ValueView) throws(RenderError) {
    do { try enter(element: element) } catch { throw RenderError(.damaged(error)) }
  }
}

extension ListView {
  @inline(__always)
  mutating func read(_ index: Int) throws(RenderError) -> ValueView {
    do { return try value(at: index) } catch { throw RenderError(.damaged(error)) }
  }
}

extension DictionaryView {
  @inline(__always)
  mutating func readKey(_ index: Int) throws(RenderError) -> ByteView {
    do { return try key(at: index) } catch { throw RenderError(.damaged(error)) }
  }

  @inline(__always)
  mutating func read(_ index: Int) throws(RenderError) -> ValueView {
    do { return try value(at: index) } catch { throw RenderError(.damaged(error)) }
  }
}
