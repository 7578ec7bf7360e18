// Resolves key paths to property names: applies the key path to an object that records which properties are read.

import RealmPages
import Synchronization

final class PropertyTracer {
  private(set) var names: [String] = []

  func record(_ property: ModelProperty) { names.append(property.storedName) }

  /// Returns an object that records reads with the given tracer.
  static func object(of type: ObjectBase.Type, _ tracer: PropertyTracer?) -> ObjectBase {
    let object = type.init(), schema = ClassSchema.of(type)
    object.role = .tracing(tracer ?? PropertyTracer())
    for (index, property) in schema.properties.enumerated() {
      property.storageType.trace(object, at: property.offset, index)
    }
    return object
  }

  /// Returns an element that records reads with the tracer of the object that owns the collection; nil for values.
  static func element<Element>(_ place: PropertyPlace) -> Element? {
    func object(_ type: Any.Type) -> Any? {
      if let type = type as? ObjectBase.Type { return PropertyTracer.object(of: type, place.object.tracer) }
      return (type as? any OptionalProtocol.Type).flatMap { object(wrapped($0)) }
    }
    func wrapped<Type: OptionalProtocol>(_ type: Type.Type) -> Any.Type { Type.Wrapped.self }
    return object(Element.self) as? Element
  }

  private struct KnownPath: Hashable, @unchecked Sendable {
    // Unchecked: key paths to properties are immutable.
    let path: AnyKeyPath
  }

  private struct Known {
    var names: [KnownPath: [String]] = [:]
    /// Names by key path identity, which is faster to compare than key path equality. A key path literal is
    /// instantiated once. The number of entries is limited.
    var byIdentity: [ObjectIdentifier: (path: KnownPath, names: [String])] = [:]
  }
  private static let known = Mutex(Known())
  private static let maxIdentities = 4096

  /// Returns the stored names of the properties that a key path reads, separated by dots.
  static func name<Root: ObjectBase>(of path: PartialKeyPath<Root>) -> String { steps(of: path).joined(separator: ".") }

  /// Returns the stored names of the properties that a key path reads; ends the process if it reads none.
  static func steps<Root: ObjectBase>(of path: PartialKeyPath<Root>) -> [String] {
    if let names = known.withLock({ $0.byIdentity[ObjectIdentifier(path)]?.names }) { return names }
    let key = KnownPath(path: path)
    let names = known.withLock { $0.names[key] } ?? names(of: path)
    if names.isEmpty { Misuse.stop("the key path of \(Root.self) reads no @Persisted property") }
    known.withLock { known in
      known.names[key] = names
      if known.byIdentity.count < maxIdentities { known.byIdentity[ObjectIdentifier(path)] = (key, names) }
    }
    return names
  }

  /// Returns the stored names of the properties that a key path reads; empty if it reads none.
  static func names<Root: ObjectBase>(of path: PartialKeyPath<Root>) -> [String] {
    let tracer = PropertyTracer()
    if let root = object(of: Root.self, tracer) as? Root { _ = root[keyPath: path] }
    return tracer.names
  }
}

/// Returns the stored names of the properties that a key path of a model class reads, separated by dots, in the form
/// used by format strings and `keyPaths`.
public func _name<Root: ObjectBase>(for keyPath: PartialKeyPath<Root>) -> String { PropertyTracer.name(of: keyPath) }
