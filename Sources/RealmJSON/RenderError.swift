// Why an object cannot be shown as text. It concerns that object alone.

public import RealmPages

/// Why an object cannot be rendered.
///
/// Nothing of it was written.
public struct RenderError: Error, Sendable, CustomStringConvertible {
  /// The kinds of failure.
  public enum Reason: Sendable, Hashable {
    /// The bytes of the object, or of one that it shows a part of, break a rule of the format.
    case damaged(EngineError)
    /// It links to an object that is not there, nor is its tombstone.
    case missingTarget(table: String, key: ObjKey)
    /// It links to an object whose primary key has a type that no primary key can have.
    case badPrimaryKey(table: String, key: ObjKey)
    /// Collections and embedded objects are nested more than 200 levels deep.
    case tooDeep
    /// The text would pass 1 GiB, or a length that no sound file of this size gives.
    case tooLarge
    /// A path leads to more values than are collected for one object; in words.
    case tooMany(String)
  }

  /// What is wrong.
  public let reason: Reason
  /// The class and the key of the object concerned, as `Person/4`; empty for a schema.
  public internal(set) var object = ""
  /// The property concerned, as `address.street`; empty if none in particular.
  public internal(set) var property = ""

  init(_ reason: Reason) { self.reason = reason }

  /// The place and the problem in words.
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
    case .tooLarge: "the text is longer than a sound file of this size can give"
    }
  }

  /// The same error, seen from the object that holds the one concerned in `outer`.
  func within(_ outer: String) -> RenderError {
    var error = self
    error.property = property.isEmpty ? outer : outer + "." + property
    return error
  }
}

// The reads that rendering needs, with the error of this layer.

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
  func pay(_ body: (Effort) throws(EngineError) -> Void) throws(RenderError) {
    do { try body(self) } catch { throw RenderError(.damaged(error)) }
  }

  @inline(__always)
  func pay(for element: ValueView) throws(RenderError) {
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
