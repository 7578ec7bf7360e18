// The in-Realm history: one changeset per version. Source: docs/format/6-history.md 6.2, 6.3.

/// Appends to and trims the history in a transaction.
struct HistoryEditor {
  let group: GroupEditor

  private static let element = ElementType(.data, isNullable: false)

  /// Appends the changeset that leads to the next version, and removes entries that lead to versions up to `oldest`.
  /// `base` is the version that the transaction builds on.
  func append(_ changeset: GrowingBlob, base: UInt64, oldest: UInt64) throws(EngineError) {
    let slab = group.slab, top = group.top
    typealias Slots = Layout.Top
    let slot = Slot(parent: top, index: Slots.history)
    if slab.int(top, Slots.historyType) >> 1 == 0 {
      slab.setTagged(top, Slots.historyType, 2)
      // No program leaves a history without a type; if a file has one, drop its space.
      if slab.int(top, Slots.history) & 1 == 0 { try group.editor.clear(slot) }
      slab.setInt(top, Slots.history, 0)
      slab.setTagged(top, Slots.fileIdent, 0)
    }
    slab.setTagged(top, Slots.historySchema, 1)
    let tree = BPlusTreeEditor(group.editor, slot, Self.element)
    if base <= oldest {
      // Nothing of the old history is needed: clear it instead of copying it.
      try group.editor.clear(slot)
    } else {
      // Entry i leads from version base - count + i to the next.
      let count = try tree.count()
      for _ in 0..<max(0, count - Int(clamping: base - oldest)) { try tree.remove(0) }
    }
    let index = try tree.count()
    if changeset.isSmall {
      try changeset.bytes.withView { (view) throws(EngineError) in try tree.insert(index, .data(view)) }
    } else {
      var changeset = changeset
      try [].withView { (view) throws(EngineError) in try tree.insert(index, .data(view)) }
      let place = try tree.leaf(of: index)
      try group.editor.setBinary(place.slot, place.index, blob: changeset.finish())
    }
  }
}
