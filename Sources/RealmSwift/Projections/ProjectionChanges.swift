// The observers of projections, which report changes of the properties that a projection reads.

public import Dispatch
import RealmPages

/// Observes a projection.
final class ProjectionObserver<P: ProjectionObservable>: Observer {
  private let projection: P
  private let properties: [ProjectedProperty]
  private let block: (ObjectChange<P>) -> Void
  private var last: VersionHold?

  init(_ projection: P, _ keyPaths: [String]?, _ block: @escaping (ObjectChange<P>) -> Void) {
    (self.projection, self.block) = (projection, block)
    let all = ProjectedProperty.all(ofAny: projection)
    properties = keyPaths.map { paths in paths.isEmpty ? all : all.filter { paths.contains($0.path) } } ?? all
    last = projection.rootObject.context?.hold
  }

  override func skip() { last = projection.rootObject.context?.hold }

  override func deliver() {
    let object = projection.rootObject
    guard let context = object.context, let type = object.managedClass, let hold = context.hold else { return }
    let former = last
    last = hold
    if object.isInvalidated {
      end()
      return block(.deleted)
    }
    guard let former, former.snapshot.version != hold.snapshot.version else { return }
    do {
      let source = ResultsSource(context, .table(type))
      var before: P.Root?
      var changes: [PropertyChange] = []
      for property in properties {
        let path = property.path.split(separator: ".").map { String($0) }
        guard try ChangedObjects(from: former, to: hold, source, [path]).contains(object.objectKey) else { continue }
        if before == nil {
          let frozen = try RealmContext(context.file, context.configuration, context.wanted, frozenAt: former)
          before = object._rlmCounterpart(in: Realm(frozen))
        }
        changes.append(
          PropertyChange(
            name: property.name,
            oldValue: before.flatMap { $0[keyPath: property.keyPath] },
            newValue: object[keyPath: property.keyPath]
          )
        )
      }
      if !changes.isEmpty { block(.change(projection, changes)) }
    } catch {
      end()
      block(.error(error))
    }
  }
}

extension ProjectedProperty {
  /// Returns the properties of a projection of any class.
  fileprivate static func all<P: ProjectionObservable>(ofAny projection: P) -> [ProjectedProperty] {
    (projection as? Projection<P.Root>).map { all(of: $0) } ?? []
  }
}

extension ProjectionObservable {
  /// Calls `block` after each commit that changed a property read by the projection, and when the object is deleted.
  /// `keyPaths` contains the paths of the object's properties to observe; nil observes all projected properties.
  public func observe(
    keyPaths: [String]? = nil,
    on queue: DispatchQueue? = nil,
    _ block: @escaping (ObjectChange<Self>) -> Void
  ) -> NotificationToken {
    guard let context = rootObject.context else {
      Misuse.stop("Only objects which are managed by a Realm support change notifications.")
    }
    guard let queue else { return context.observe(ProjectionObserver(self, keyPaths, block)) }
    return RemoteObservation.begin(self, on: queue, block) { $0.observe(keyPaths: keyPaths, $1) }
  }

  /// Observes the projection; the properties are given as key paths of the projection.
  public func observe(
    keyPaths: [PartialKeyPath<Self>],
    on queue: DispatchQueue? = nil,
    _ block: @escaping (ObjectChange<Self>) -> Void
  ) -> NotificationToken { observe(keyPaths: keyPaths.map { Self.name(of: $0) }, on: queue, block) }

  /// Observes the projection on an actor.
  public func observe<A: Actor>(
    keyPaths: [String]? = nil,
    on actor: A,
    _isolation: isolated (any Actor)? = #isolation,
    _ block: @escaping @Sendable (isolated A, ObjectChange<Self>) -> Void
  ) async -> NotificationToken {
    await RemoteObservation.begin(self, on: actor, block) { $0.observe(keyPaths: keyPaths, $1) }
  }

  /// Observes the projection on an actor; the properties are given as key paths of the projection.
  public func observe<A: Actor>(
    keyPaths: [PartialKeyPath<Self>],
    on actor: A,
    _isolation: isolated (any Actor)? = #isolation,
    _ block: @escaping @Sendable (isolated A, ObjectChange<Self>) -> Void
  ) async -> NotificationToken {
    await observe(keyPaths: keyPaths.map { Self.name(of: $0) }, on: actor, block)
  }
}
