// What keeps a notification alive.

/// Notifications arrive for as long as the token exists and `invalidate` was not called.
public final class NotificationToken {
  private var end: (() -> Void)?

  init(_ end: @escaping () -> Void) { self.end = end }

  deinit { end?() }

  /// Ends the notifications.
  public func invalidate() {
    end?()
    end = nil
  }
}
