// Projections: views that expose selected properties of objects, optionally renamed or derived.

import Foundation
import RealmPages
import Synchronization

/// A property of a projection, which accesses the object through a key path.
@propertyWrapper public struct Projected<Root: ObjectBase, Value> {
  let path: KeyPath<Root, Value>

  /// Creates a property that reads a key path of the projected object.
  public init(_ projectedKeyPath: KeyPath<Root, Value>) { path = projectedKeyPath }

  /// Unavailable: projections are classes.
  @available(*, unavailable, message: "@Projected is for properties of Projection classes")
  public var wrappedValue: Value {
    get { Misuse.stop("@Projected is for properties of Projection classes") }
    // swift-format-ignore: UseSingleLinePropertyGetter
    set { Misuse.stop("@Projected is for properties of Projection classes") }
  }

  /// Accesses the key path of the object. Setting requires a key path to a settable property.
  public static subscript<Enclosing: Projection<Root>>(
    _enclosingInstance projection: Enclosing,
    wrapped _: ReferenceWritableKeyPath<Enclosing, Value>,
    storage storage: ReferenceWritableKeyPath<Enclosing, Self>
  ) -> Value {
    get { projection.rootObject[keyPath: projection[keyPath: storage].path] }
    set {
      guard let path = projection[keyPath: storage].path as? ReferenceWritableKeyPath<Root, Value> else {
        Misuse.stop("A derived property of a projection cannot be set.")
      }
      projection.rootObject[keyPath: path] = newValue
    }
  }
}

/// A property of a projection, with its type erased.
private protocol AnyProjected {
  var anyPath: AnyKeyPath { get }
}
extension Projected: AnyProjected {
  fileprivate var anyPath: AnyKeyPath { path }
}

/// A projection of any class.
public protocol ProjectionObservable: AnyObject, RealmCollectionValue, ThreadConfined {
  /// The class of the projected object.
  associatedtype Root: ObjectBase, ThreadConfined
  /// The projected object.
  var rootObject: Root { get }
  /// Creates a projection of an object.
  init(projecting object: Root)
}

/// The base class of projections: views of objects that expose only the properties they declare.
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
  /// The stored type: the class of the object.
  public typealias PersistedType = Root

  /// The projected object.
  public final let rootObject: Root

  /// Creates a projection of an object.
  public required init(projecting object: Root) {
    rootObject = object
    _ = properties
  }

  /// The projected properties of the class.
  final var properties: [ProjectedProperty] { ProjectedProperty.all(of: self) }

  /// Returns true if both projections expose the same object.
  public static func == (a: Projection, b: Projection) -> Bool { a.rootObject == b.rootObject }

  /// Hashes the identity that `==` compares.
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
  /// True if the object was deleted, or its realm invalidated.
  public final var isInvalidated: Bool { rootObject.isInvalidated }
  /// True if the object belongs to a frozen realm.
  public final var isFrozen: Bool { rootObject.isFrozen }
  /// Returns a projection of the object frozen at the realm's current version, for use on all threads.
  public final func freeze() -> Self { Self(projecting: rootObject.freeze()) }
  /// Returns a projection of the object in the live realm of the calling thread; nil if the object was deleted.
  public final func thaw() -> Self? { rootObject.thaw().map { Self(projecting: $0) } }
  /// Returns a projection of the object in another realm of the same file; nil if the object was deleted.
  public final func _rlmCounterpart(in realm: Realm) -> Self? {
    rootObject._rlmCounterpart(in: realm).map { Self(projecting: $0) }
  }
}

extension Projection {
  /// The type of a link to the object.
  public static var _rlmType: _PropertyType { Root._rlmType }
  /// The projected object.
  public final var _rlmAny: Any? { rootObject }
  /// Returns a projection of a new unmanaged object.
  public static func _rlmDefault() -> Self { Self(projecting: Root()) }
  /// Returns the value if it is a projection, a projection of the value if it is an object, and nil otherwise.
  public static func _rlmCast(_ value: Any?) -> Self? {
    value as? Self ?? Root._rlmCast(value).map { Self(projecting: $0) }
  }
  /// Returns a projection of the object that a stored link refers to.
  public static func _rlmRead(_ stored: StoredValue) -> Self? {
    Root._rlmRead(stored).map { Self(projecting: $0) }
  }
  /// Returns the link to the object.
  public final func _rlmWrite(_ target: WriteTarget) -> EngineValue { rootObject._rlmWrite(target) }
}

/// A property of a projection class.
struct ProjectedProperty: @unchecked Sendable {
  // Unchecked: key paths to properties are immutable.
  let name: String
  let keyPath: AnyKeyPath
  /// The stored names of the properties that the key path reads.
  let path: String

  private static let known = Mutex<[ObjectIdentifier: [ProjectedProperty]]>([:])

  /// Returns the properties of a projection's class. They are found once per class.
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
  /// Returns all objects of the projected class, as projections.
  public func objects<Element: ProjectionObservable>(_ type: Element.Type) -> Results<Element>
  where Element.Root: Object { Results(objects(Element.Root.self).source) }
}

extension Results where Element: ProjectionObservable {
  /// Groups the projections into sections by a property, or by a computed property whose first access is to a property
  /// of the object, and sorts them by that property.
  public func sectioned<Key: _Persistable & Hashable>(
    by keyPath: KeyPath<Element, Key>,
    ascending: Bool = true
  ) -> SectionedResults<Key, Element> {
    sectioned(sortDescriptors: [SortDescriptor(keyPath: Element.name(of: keyPath), ascending: ascending)]) {
      $0[keyPath: keyPath]
    }
  }

  /// Groups the projections into sections by a property. The first sort descriptor must name that property.
  public func sectioned<Key: _Persistable & Hashable>(
    by keyPath: KeyPath<Element, Key>,
    sortDescriptors: [SortDescriptor]
  ) -> SectionedResults<Key, Element> {
    if let first = sortDescriptors.first, first.keyPath != Element.name(of: keyPath) {
      Misuse.stop("The first sort descriptor must sort by the section property, not '\(first.keyPath)'.")
    }
    return sectioned(sortDescriptors: sortDescriptors) { $0[keyPath: keyPath] }
  }
}

extension ProjectionObservable {
  /// Returns the stored names of the properties that a key path of a projection reads, separated by dots.
  static func name(of path: PartialKeyPath<Self>) -> String {
    let tracer = PropertyTracer()
    if let root = PropertyTracer.object(of: Root.self, tracer) as? Root { _ = Self(projecting: root)[keyPath: path] }
    if tracer.names.isEmpty { Misuse.stop("The key path of \(Self.self) must read a property of the object.") }
    return tracer.names.joined(separator: ".")
  }
}
