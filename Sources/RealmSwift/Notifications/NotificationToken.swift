// The token that keeps an observation alive.

/// Keeps an observation alive. Notifications are delivered until the token is released or `invalidate` is called.
public final class NotificationToken {
  private var end: (() -> Void)?
  /// Nil for an observation on a queue or an actor.
  let observer: Observer?

  init(_ observer: Observer? = nil, _ end: @escaping () -> Void) { (self.observer, self.end) = (observer, end) }

  /// Creates a token for an observation that ended before it began.
  init() { (observer, end) = (nil, nil) }

  deinit { end?() }

  /// Ends the notifications. Returns false if they had already ended.
  @discardableResult
  public func invalidate() -> Bool {
    defer { end = nil }
    end?()
    return end != nil
  }
}
