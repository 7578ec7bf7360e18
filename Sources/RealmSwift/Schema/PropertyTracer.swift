// From key paths to property names: the key path is applied to an object that records which properties are read.

import RealmPages
import Synchronization

final class PropertyTracer {
  private(set) var names: [String] = []

  func record(_ property: ModelProperty) { names.append(property.storedName) }

  /// An object that records with the given tracer.
  static func object(of type: ObjectBase.Type, _ tracer: PropertyTracer?) -> ObjectBase {
    let object = type.init(), schema = ClassSchema.of(type)
    object.tracer = tracer ?? PropertyTracer()
    for (index, property) in schema.properties.enumerated() {
      property.storageType.trace(object, at: property.offset, index)
    }
    return object
  }

  /// An element that records with the tracer of the object whose collection is read; nil for values.
  static func element<Element>(_ place: PropertyPlace) -> Element? {
    func object(_ type: Any.Type) -> Any? {
      if let type = type as? ObjectBase.Type { return PropertyTracer.object(of: type, place.object.tracer) }
      return (type as? any OptionalProtocol.Type).flatMap { object(wrapped($0)) }
    }
    func wrapped<Type: OptionalProtocol>(_ type: Type.Type) -> Any.Type { Type.Wrapped.self }
    return object(Element.self) as? Element
  }

  private struct KnownPath: Hashable, @unchecked Sendable {
    // Unchecked: key paths to properties never change.
    let path: AnyKeyPath
  }

  private struct Known {
    var names: [KnownPath: [String]] = [:]
    /// By the identity of a key path, which is told sooner than whether two are equal. Those in a program's text are
    /// made once; of others not all are kept.
    var byIdentity: [ObjectIdentifier: (path: KnownPath, names: [String])] = [:]
  }
  private static let known = Mutex(Known())
  private static let mostIdentities = 4096

  /// The stored names of the properties that a key path reads, with points between them.
  static func name<Root: ObjectBase>(of path: PartialKeyPath<Root>) -> String { steps(of: path).joined(separator: ".") }

  /// The stored names of the properties that a key path reads; ends the process if it reads none.
  static func steps<Root: ObjectBase>(of path: PartialKeyPath<Root>) -> [String] {
    if let names = known.withLock({ $0.byIdentity[ObjectIdentifier(path)]?.names }) { return names }
    let key = KnownPath(path: path)
    let names = known.withLock { $0.names[key] } ?? names(of: path)
    if names.isEmpty { Misuse.stop("the key path of \(Root.self) reads no @Persisted property") }
    known.withLock { known in
      known.names[key] = names
      if known.byIdentity.count < mostIdentities { known.byIdentity[ObjectIdentifier(path)] = (key, names) }
    }
    return names
  }

  /// The stored names of the properties that a key path reads; none for one that reads no property.
  static func names<Root: ObjectBase>(of path: PartialKeyPath<Root>) -> [String] {
    let tracer = PropertyTracer()
    if let root = object(of: Root.self, tracer) as? Root { _ = root[keyPath: path] }
    return tracer.names
  }
}

/// The stored names of the properties that a key path of a model class reads, with points between them, as format
/// strings and `keyPaths` name them.
public func _name<Root: ObjectBase>(for keyPath: PartialKeyPath<Root>) -> String { PropertyTracer.name(of: keyPath) }
