// What keeps a notification alive.

/// Notifications arrive for as long as the token exists and `invalidate` was not called.
public final class NotificationToken {
  private var end: (() -> Void)?
  /// Nil for an observer on a queue.
  let observer: Observer?

  init(_ observer: Observer? = nil, _ end: @escaping () -> Void) { (self.observer, self.end) = (observer, end) }

  deinit { end?() }

  /// Ends the notifications.
  public func invalidate() {
    end?()
    end = nil
  }
}
