// What observers of sections are told, and how it is found.

public import Dispatch
public import Foundation
import RealmPages

/// What happened to sectioned results, or to a section.
public enum SectionedResultsChange<Collection> {
  /// The sections can be read; comes first, once.
  case initial(Collection)
  /// They have changed. Paths are of an element in a section: of deletions and modifications in the sections before, of
  /// insertions in the new ones. Sections that went are in `sectionsToDelete`, and their elements nowhere; those that
  /// came in `sectionsToInsert`, and their elements in `insertions`.
  case update(
    Collection,
    deletions: [IndexPath],
    insertions: [IndexPath],
    modifications: [IndexPath],
    sectionsToInsert: IndexSet,
    sectionsToDelete: IndexSet
  )
}

/// Observes sectioned results, or a section.
final class SectionObserver<Sectioned: RealmSectionedResult>: Observer {
  /// The elements of sections at one version.
  private struct Contents {
    let keys: [Sectioned.SectionKey]
    let elements: [Sectioned.SectionKey: CollectionContents]
  }

  private let sectioned: Sectioned
  private let keyPaths: [[String]]?
  private let block: (SectionedResultsChange<Sectioned>) -> Void
  private var last: (hold: VersionHold, contents: Contents)?

  private var source: ResultsSource { sectioned._rlmSections.results.source }

  init(_ sectioned: Sectioned, _ keyPaths: [String]?, _ block: @escaping (SectionedResultsChange<Sectioned>) -> Void) {
    (self.sectioned, self.block) = (sectioned, block)
    self.keyPaths = Self.paths(keyPaths)
  }

  override func skip() {
    // What cannot be read now is told of later.
    guard last != nil, let hold = source.context.hold, let contents = try? contents() else { return }
    last = (hold, contents)
  }

  private func contents() throws -> Contents {
    let layout = sectioned._rlmSections.current
    if layout.keys.isEmpty { return Contents(keys: [], elements: [:]) }
    let all = try CollectionContents(source)
    return Contents(keys: layout.keys, elements: layout.positions.mapValues { all.elements(at: $0) })
  }

  override func deliver() {
    guard let hold = source.context.hold else { return }
    if let last, last.hold.snapshot.version == hold.snapshot.version { return }
    Misuse.unwrap {
      let contents = try contents(), former = last
      last = (hold, contents)
      guard let former else { return block(.initial(sectioned)) }
      let changed = try ChangedObjects(from: former.hold, to: hold, source, keyPaths)
      var changes = SectionChanges<Sectioned.SectionKey>()
      for (index, key) in former.contents.keys.enumerated() where isWanted(key) {
        try changes.compare(former.contents.elements[key], index, contents.elements[key], contents.keys, key, changed)
      }
      for (index, key) in contents.keys.enumerated() where isWanted(key) && former.contents.elements[key] == nil {
        changes.insert(index, contents.elements[key]?.count ?? 0)
      }
      if changes.isEmpty { return }
      block(
        .update(
          sectioned,
          deletions: changes.deletions.sorted(),
          insertions: changes.insertions.sorted(),
          modifications: changes.modifications.sorted(),
          sectionsToInsert: changes.sectionsToInsert,
          sectionsToDelete: changes.sectionsToDelete
        )
      )
    }
  }

  private func isWanted(_ key: Sectioned.SectionKey) -> Bool { sectioned._rlmKey.map { $0 == key } ?? true }
}

/// What differs between the sections of two versions.
private struct SectionChanges<Key: Hashable> {
  var deletions: [IndexPath] = []
  var insertions: [IndexPath] = []
  var modifications: [IndexPath] = []
  var sectionsToInsert = IndexSet()
  var sectionsToDelete = IndexSet()

  var isEmpty: Bool {
    deletions.isEmpty && insertions.isEmpty && modifications.isEmpty && sectionsToInsert.isEmpty
      && sectionsToDelete.isEmpty
  }

  /// A section that was there before.
  mutating func compare(
    _ old: CollectionContents?,
    _ oldIndex: Int,
    _ new: CollectionContents?,
    _ newKeys: [Key],
    _ key: Key,
    _ changed: ChangedObjects
  ) throws {
    guard let old, let new, let newIndex = newKeys.firstIndex(of: key) else {
      sectionsToDelete.insert(oldIndex)
      return
    }
    let changes = try new.changes(since: old, changed)
    deletions += changes.deletions.map { IndexPath(item: $0, section: oldIndex) }
    insertions += changes.insertions.map { IndexPath(item: $0, section: newIndex) }
    for item in changes.modifications {
      // How many before it went and came says where it is now.
      let newItem = Self.position(of: item, changes)
      if newItem == item && newIndex == oldIndex {
        modifications.append(IndexPath(item: item, section: oldIndex))
      } else {
        deletions.append(IndexPath(item: item, section: oldIndex))
        insertions.append(IndexPath(item: newItem, section: newIndex))
      }
    }
  }

  /// A section that came.
  mutating func insert(_ index: Int, _ count: Int) {
    sectionsToInsert.insert(index)
    insertions += (0..<count).map { IndexPath(item: $0, section: index) }
  }

  /// Where an element is that stayed.
  private static func position(of item: Int, _ changes: CollectionContents.Changes) -> Int {
    var position = item - changes.deletions.count { $0 < item }
    for insertion in changes.insertions where insertion <= position { position += 1 }
    return position
  }
}

extension CollectionContents {
  /// The elements at these positions.
  fileprivate func elements(at positions: [Int]) -> CollectionContents {
    switch self {
    case .keys(let keys): .keys(positions.map { keys[$0] })
    case .values(let values, _): .values(positions.map { values[$0] }, isList: false)
    case .none: .none
    }
  }

  fileprivate var count: Int {
    switch self {
    case .keys(let keys): keys.count
    case .values(let values, _): values.count
    case .none: 0
    }
  }
}

extension RealmSectionedResult {
  /// Calls `block` soon with the sections, and again after each commit that changed them, with what changed. `keyPaths`
  /// names the properties whose modifications count; nil stands for all.
  public func observe(
    keyPaths: [String]? = nil,
    _ block: @escaping (SectionedResultsChange<Self>) -> Void
  ) -> NotificationToken {
    _rlmSections.results.source.context.observe(SectionObserver(self, keyPaths, block))
  }

  /// The same on a serial queue, with the sections in a realm that belongs to the queue.
  public func observe(
    keyPaths: [String]? = nil,
    on queue: DispatchQueue,
    _ block: @escaping @Sendable (SectionedResultsChange<Self>) -> Void
  ) -> NotificationToken {
    RemoteObservation.begin(self, on: queue, block) { $0.observe(keyPaths: keyPaths, $1) }
  }

  /// The same in an actor, with the sections in a realm that belongs to the actor.
  public func observe<A: Actor>(
    keyPaths: [String]? = nil,
    on actor: A,
    _isolation: isolated (any Actor)? = #isolation,
    _ block: @escaping @Sendable (isolated A, SectionedResultsChange<Self>) -> Void
  ) async -> NotificationToken {
    await RemoteObservation.begin(self, on: actor, block) { $0.observe(keyPaths: keyPaths, $1) }
  }
}

extension RealmSectionedResult where SectionElement: ObjectBase {
  /// The same, with the properties as key paths.
  public func observe(
    keyPaths: [PartialKeyPath<SectionElement>],
    _ block: @escaping (SectionedResultsChange<Self>) -> Void
  ) -> NotificationToken { observe(keyPaths: keyPaths.map { PropertyTracer.name(of: $0) }, block) }

  /// The same on a serial queue, with the properties as key paths.
  public func observe(
    keyPaths: [PartialKeyPath<SectionElement>],
    on queue: DispatchQueue,
    _ block: @escaping @Sendable (SectionedResultsChange<Self>) -> Void
  ) -> NotificationToken { observe(keyPaths: keyPaths.map { PropertyTracer.name(of: $0) }, on: queue, block) }

  /// The same in an actor, with the properties as key paths.
  public func observe<A: Actor>(
    keyPaths: [PartialKeyPath<SectionElement>],
    on actor: A,
    _isolation: isolated (any Actor)? = #isolation,
    _ block: @escaping @Sendable (isolated A, SectionedResultsChange<Self>) -> Void
  ) async -> NotificationToken {
    await observe(keyPaths: keyPaths.map { PropertyTracer.name(of: $0) }, on: actor, block)
  }
}
