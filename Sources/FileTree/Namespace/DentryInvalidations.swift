// Names that the kernel has cached for another file than the tree has, after a rename that moved a name but not its
// object. The bridge to the kernel takes them from here.

import Synchronization

/// Names that the kernel must look up again.
public final class DentryInvalidations: Sendable {
  private let places = Mutex<[Overlay.Place]>([])
  private let observer = Observer()

  /// Sets the function to call, on any thread, when there are names to take.
  public func observe(_ body: @escaping @Sendable () -> Void) { observer.set { _ in body() } }

  /// Returns the names added since the last call, with their directories.
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
