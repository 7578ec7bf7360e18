// Views of objects: some of their properties, under other names, made of others.

import Foundation
import RealmPages
import Synchronization

/// A property of a projection: what a key path of the object leads to.
@propertyWrapper public struct Projected<Root: ObjectBase, Value> {
  let path: KeyPath<Root, Value>

  /// What a key path leads to, from the object of the projection.
  public init(_ projectedKeyPath: KeyPath<Root, Value>) { path = projectedKeyPath }

  /// Not accessible: projections are classes.
  @available(*, unavailable, message: "@Projected is for properties of Projection classes")
  public var wrappedValue: Value {
    get { Misuse.stop("@Projected is for properties of Projection classes") }
    // swift-format-ignore: UseSingleLinePropertyGetter
    set { Misuse.stop("@Projected is for properties of Projection classes") }
  }

  /// Reads what the key path leads to, and sets it if that is a property.
  public static subscript<Enclosing: Projection<Root>>(
    _enclosingInstance projection: Enclosing,
    wrapped _: ReferenceWritableKeyPath<Enclosing, Value>,
    storage storage: ReferenceWritableKeyPath<Enclosing, Self>
  ) -> Value {
    get { projection.rootObject[keyPath: projection[keyPath: storage].path] }
    set {
      guard let path = projection[keyPath: storage].path as? ReferenceWritableKeyPath<Root, Value> else {
        Misuse.stop("What a projection makes of properties cannot be set.")
      }
      projection.rootObject[keyPath: path] = newValue
    }
  }
}

/// Any property of a projection.
private protocol AnyProjected {
  var anyPath: AnyKeyPath { get }
}
extension Projected: AnyProjected {
  fileprivate var anyPath: AnyKeyPath { path }
}

/// A projection of any class.
public protocol ProjectionObservable: AnyObject, RealmCollectionValue, ThreadConfined {
  /// The class of the object.
  associatedtype Root: ObjectBase, ThreadConfined
  /// The object.
  var rootObject: Root { get }
  /// Shows an object.
  init(projecting object: Root)
}

/// The base class of views of objects, which show only what their properties name.
///
/// ```swift
/// class Owner: Projection<Person> {
///   @Projected(\Person.age) var years
///   @Projected(\Person.dogs.projectTo.name) var dogNames: ProjectedCollection<String>
/// }
/// ```
///
/// ```swift
/// for owner in realm.objects(Owner.self) { print(owner.years, Array(owner.dogNames)) }
/// ```
open class Projection<Root: ObjectBase & ThreadConfined>: ProjectionObservable, CustomStringConvertible {
  /// What is stored is the object.
  public typealias PersistedType = Root

  /// The object.
  public final let rootObject: Root

  /// Shows an object.
  public required init(projecting object: Root) {
    rootObject = object
    _ = properties
  }

  /// The properties of the class.
  final var properties: [ProjectedProperty] { ProjectedProperty.all(of: self) }

  /// Whether both show the same object.
  public static func == (a: Projection, b: Projection) -> Bool { a.rootObject == b.rootObject }

  /// Feeds what `==` compares.
  public final func hash(into hasher: inout Hasher) { rootObject.hash(into: &hasher) }

  /// The class and the properties.
  open var description: String {
    let address = String(UInt(bitPattern: ObjectIdentifier(rootObject)), radix: 16)
    let lines = properties.map { property in
      "\t\(property.name)(\\.\(property.path)) = \(rootObject[keyPath: property.keyPath] ?? "nil");\n"
    }
    return "\(type(of: self))<\(type(of: rootObject))> <0x\(address)> {\n\t\(lines.joined())}"
  }
}

extension Projection {
  /// The realm of the object.
  public final var realm: Realm? { rootObject.realm }
  /// Whether the object was deleted, or its realm invalidated.
  public final var isInvalidated: Bool { rootObject.isInvalidated }
  /// Whether the object belongs to a frozen realm.
  public final var isFrozen: Bool { rootObject.isFrozen }
  /// The projection of the object in the version that its realm reads, for all threads.
  public final func freeze() -> Self { Self(projecting: rootObject.freeze()) }
  /// The projection of the object in the live realm of this thread; nil if it was deleted.
  public final func thaw() -> Self? { rootObject.thaw().map { Self(projecting: $0) } }
  /// The projection of the object in another realm of the file; nil if it was deleted.
  public final func _rlmCounterpart(in realm: Realm) -> Self? {
    rootObject._rlmCounterpart(in: realm).map { Self(projecting: $0) }
  }
}

extension Projection {
  /// A link to the object.
  public static var _rlmType: _PropertyType { Root._rlmType }
  /// The object.
  public final var _rlmAny: Any? { rootObject }
  /// A projection of an unmanaged object.
  public static func _rlmDefault() -> Self { Self(projecting: Root()) }
  /// The projection, or that of an object.
  public static func _rlmCast(_ value: Any?) -> Self? {
    value as? Self ?? Root._rlmCast(value).map { Self(projecting: $0) }
  }
  /// The projection of the object that a link leads to.
  public static func _rlmRead(_ stored: StoredValue) -> Self? {
    Root._rlmRead(stored).map { Self(projecting: $0) }
  }
  /// The link to the object.
  public final func _rlmWrite(_ target: WriteTarget) -> EngineValue { rootObject._rlmWrite(target) }
}

/// A property of a projection class.
struct ProjectedProperty: @unchecked Sendable {
  // Unchecked: key paths to properties never change.
  let name: String
  let keyPath: AnyKeyPath
  /// The stored names of the properties that the key path reads.
  let path: String

  private static let known = Mutex<[ObjectIdentifier: [ProjectedProperty]]>([:])

  /// The properties of a projection's class, found once.
  static func all<Root>(of projection: Projection<Root>) -> [ProjectedProperty] {
    let type = ObjectIdentifier(Swift.type(of: projection))
    if let known = known.withLock({ $0[type] }) { return known }
    var found: [ProjectedProperty] = []
    var mirror: Mirror? = Mirror(reflecting: projection)
    while let level = mirror {
      found = level.children.compactMap { property(of: Root.self, $0) } + found
      mirror = level.superclassMirror
    }
    let properties = found
    known.withLock { $0[type] = properties }
    return properties
  }

  private static func property<Root: ObjectBase>(of root: Root.Type, _ child: Mirror.Child) -> ProjectedProperty? {
    guard let label = child.label, let path = (child.value as? any AnyProjected)?.anyPath as? PartialKeyPath<Root>
    else {
      return nil
    }
    let name = String(label.dropFirst()), names = PropertyTracer.names(of: path)
    if names.isEmpty { Misuse.stop("@Projected property '\(name)' must be a part of Realm object.") }
    return ProjectedProperty(name: name, keyPath: path, path: names.joined(separator: "."))
  }
}

extension Realm {
  /// All objects of the class that a projection shows, as projections.
  public func objects<Element: ProjectionObservable>(_ type: Element.Type) -> Results<Element>
  where Element.Root: Object { Results(objects(Element.Root.self).source) }
}

extension Results where Element: ProjectionObservable {
  /// The projections in sections by a property, or by a computed one that reads a property first, in its order.
  public func sectioned<Key: _Persistable & Hashable>(
    by keyPath: KeyPath<Element, Key>,
    ascending: Bool = true
  ) -> SectionedResults<Key, Element> {
    sectioned(sortDescriptors: [SortDescriptor(keyPath: Element.name(of: keyPath), ascending: ascending)]) {
      $0[keyPath: keyPath]
    }
  }

  /// The same in another order, which begins with the property of the sections.
  public func sectioned<Key: _Persistable & Hashable>(
    by keyPath: KeyPath<Element, Key>,
    sortDescriptors: [SortDescriptor]
  ) -> SectionedResults<Key, Element> {
    if let first = sortDescriptors.first, first.keyPath != Element.name(of: keyPath) {
      Misuse.stop("The first sort descriptor has to name the property of the sections, not '\(first.keyPath)'.")
    }
    return sectioned(sortDescriptors: sortDescriptors) { $0[keyPath: keyPath] }
  }
}

extension ProjectionObservable {
  /// The stored names of the properties that a key path of a projection reads, with points between them.
  static func name(of path: PartialKeyPath<Self>) -> String {
    let tracer = PropertyTracer()
    if let root = PropertyTracer.object(of: Root.self, tracer) as? Root { _ = Self(projecting: root)[keyPath: path] }
    if tracer.names.isEmpty { Misuse.stop("the key path of \(Self.self) reads no property of the object") }
    return tracer.names.joined(separator: ".")
  }
}
