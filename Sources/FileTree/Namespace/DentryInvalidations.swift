// Names for which the kernel has cached a file other than that in the tree, after a rename that moved a name but not
// its object. The bridge to the kernel reads them from here.

import Synchronization

/// Names that the kernel must look up again.
public final class DentryInvalidations: Sendable {
  private let places = Mutex<[Overlay.Place]>([])
  private let observer = CommitObserver()

  /// Sets the function to call, on any thread, when names were added.
  public func observe(_ body: @escaping @Sendable () -> Void) { observer.set { _ in body() } }

  /// Removes and returns the names added since the last call, with their directories.
  public func take() -> [(directory: InodeNumber, name: [UInt8])] {
    places.withLock { places in
      defer { places = [] }
      return places.map { ($0.directory, $0.name) }
    }
  }

  func add(_ place: Overlay.Place) {
    places.withLock { $0.append(place) }
    observer.notify()
  }
}
