// The observers of sections, and the comparison of sections between versions.

public import Dispatch
public import Foundation
import RealmPages

/// A change of sectioned results or of a section.
public enum SectionedResultsChange<Collection> {
  /// The initial state of the sections. Delivered first, once.
  case initial(Collection)
  /// The sections changed. Each path identifies an element in a section: deletions and modifications refer to the old
  /// sections, insertions to the new ones. Removed sections are in `sectionsToDelete`; their elements are not listed.
  /// Added sections are in `sectionsToInsert`; their elements are in `insertions`.
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
    self.keyPaths = Self.paths(keyPaths, from: sectioned._rlmSections.results.schema)
  }

  override func skip() {
    // Changes that cannot be read now are reported later.
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

/// The differences between the sections of two versions.
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

  /// Compares a section of the old version with its counterpart in the new version.
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
      // The number of deletions and insertions before an element determines its new index.
      let newItem = Self.position(of: item, changes)
      if newItem == item && newIndex == oldIndex {
        modifications.append(IndexPath(item: item, section: oldIndex))
      } else {
        deletions.append(IndexPath(item: item, section: oldIndex))
        insertions.append(IndexPath(item: newItem, section: newIndex))
      }
    }
  }

  /// Adds a new section.
  mutating func insert(_ index: Int, _ count: Int) {
    sectionsToInsert.insert(index)
    insertions += (0..<count).map { IndexPath(item: $0, section: index) }
  }

  /// Returns the new index of an element that was neither deleted nor inserted.
  private static func position(of item: Int, _ changes: CollectionContents.Changes) -> Int {
    var position = item - changes.deletions.count { $0 < item }
    for insertion in changes.insertions where insertion <= position { position += 1 }
    return position
  }
}

extension CollectionContents {
  /// Returns the elements at the given indexes.
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
  /// Calls `block` asynchronously with the sections, and again after each commit that changed them, with the changes.
  /// `keyPaths` names the properties to observe; nil observes all properties.
  public func observe(
    keyPaths: [String]? = nil,
    _ block: @escaping (SectionedResultsChange<Self>) -> Void
  ) -> NotificationToken {
    _rlmSections.results.source.context.observe(SectionObserver(self, keyPaths, block))
  }

  /// Observes the sections on a serial queue; `block` receives the sections in a realm that is confined to the queue.
  public func observe(
    keyPaths: [String]? = nil,
    on queue: DispatchQueue,
    _ block: @escaping @Sendable (SectionedResultsChange<Self>) -> Void
  ) -> NotificationToken {
    RemoteObservation.begin(self, on: queue, block) { $0.observe(keyPaths: keyPaths, $1) }
  }

  /// Observes the sections on an actor; `block` receives the sections in a realm that is confined to the actor.
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
  /// Observes the sections; the properties are given as key paths.
  public func observe(
    keyPaths: [PartialKeyPath<SectionElement>],
    _ block: @escaping (SectionedResultsChange<Self>) -> Void
  ) -> NotificationToken { observe(keyPaths: keyPaths.map { PropertyTracer.name(of: $0) }, block) }

  /// Observes the sections on a serial queue; the properties are given as key paths.
  public func observe(
    keyPaths: [PartialKeyPath<SectionElement>],
    on queue: DispatchQueue,
    _ block: @escaping @Sendable (SectionedResultsChange<Self>) -> Void
  ) -> NotificationToken { observe(keyPaths: keyPaths.map { PropertyTracer.name(of: $0) }, on: queue, block) }

  /// Observes the sections on an actor; the properties are given as key paths.
  public func observe<A: Actor>(
    keyPaths: [PartialKeyPath<SectionElement>],
    on actor: A,
    _isolation: isolated (any Actor)? = #isolation,
    _ block: @escaping @Sendable (isolated A, SectionedResultsChange<Self>) -> Void
  ) async -> NotificationToken {
    await observe(keyPaths: keyPaths.map { PropertyTracer.name(of: $0) }, on: actor, block)
  }
}
