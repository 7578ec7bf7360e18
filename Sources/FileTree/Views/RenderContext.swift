// The tools that one thread needs to render names and texts of one version: a renderer, which keeps cursors, and
// buffers. A pool lends contexts to threads. Invariant: no two threads use a context at the same time.

import RealmJSON
import RealmPages
import Synchronization

/// The rendering tools of one thread.
final class RenderContext: @unchecked Sendable {
  // Unchecked: the pool lends a context to one thread at a time, under its lock.
  let renderer: ObjectRenderer
  private let text = OutputBuffer()
  /// The buffer for file names.
  let name = OutputBuffer()

  init(_ snapshot: Snapshot, _ style: JSONStyle) { renderer = ObjectRenderer(snapshot, style: style) }

  /// The text of the object at `cursor`.
  func render(_ cursor: ObjectCursor) throws(RenderError) -> [UInt8] {
    text.reset()
    try renderer.render(cursor, layout: .pretty, into: text)
    return text.bytes
  }

  /// The text of an object; nil if it does not exist.
  func render(_ table: Table, _ key: ObjKey) throws(RenderError) -> [UInt8]? {
    text.reset()
    return try renderer.render(table, key, layout: .pretty, into: text) ? text.bytes : nil
  }
}

/// The idle contexts of one version.
final class RenderContextPool: Sendable {
  private let idle = Mutex<[RenderContext]>([])
  private let snapshot: Snapshot
  private let style: JSONStyle

  init(_ snapshot: Snapshot, _ style: JSONStyle) {
    self.snapshot = snapshot
    self.style = style
  }

  /// Lends a context to `body`.
  func lend<R, E: Error>(_ body: (RenderContext) throws(E) -> R) throws(E) -> R {
    let context = idle.withLock { $0.popLast() } ?? RenderContext(snapshot, style)
    defer { idle.withLock { $0.append(context) } }
    return try body(context)
  }
}
