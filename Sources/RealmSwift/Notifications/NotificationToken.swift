// What keeps a notification alive.

/// Notifications arrive for as long as the token exists and `invalidate` was not called.
public final class NotificationToken {
  private var end: (() -> Void)?
  /// Nil for an observer on a queue.
  let observer: Observer?

  init(_ observer: Observer? = nil, _ end: @escaping () -> Void) { (self.observer, self.end) = (observer, end) }

  /// A token of notifications that ended before they began.
  init() { (observer, end) = (nil, nil) }

  deinit { end?() }

  /// Ends the notifications; whether they had not ended before.
  @discardableResult
  public func invalidate() -> Bool {
    defer { end = nil }
    end?()
    return end != nil
  }
}
