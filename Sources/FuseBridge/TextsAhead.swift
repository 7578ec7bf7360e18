// Puts the texts of a frozen tree into the page cache before a program asks for them, when it reads one object after
// another.
//
// One thread stores at a time. A read that meets it is answered by that thread, when it has stored some more texts: a
// program that follows closely would ask for each text, and thereby hold up the thread.
//
// Invariant: a text is not stored while this thread owes the answer to a read of it. The kernel lets a store wait for a
// page that is being read.

import FileTree
import Synchronization

/// The texts that come next.
final class TextsAhead: Sendable {
  private struct Waiting {
    let inode: InodeNumber
    let answer: @Sendable () -> Void
    /// How many texts are stored before the answer.
    var texts = TextsAhead.headStart
  }

  private struct State {
    var isStoring = false
    /// The file whose text is being stored.
    var current: InodeNumber?
    var waiting: [Waiting] = []

    /// Whether the thread that stores is about to come to a file, so that it can answer a read of it.
    func isAhead(_ inode: InodeNumber) -> Bool {
      guard let current else { return false }
      return inode.isBehind(current, atMost: TextsAhead.near)
    }

    /// Goes on to a text; whether it is to be stored, and which answers are due.
    mutating func goOn(to inode: InodeNumber) -> (isWanted: Bool, due: [Waiting]) {
      current = inode
      if waiting.isEmpty { return (true, []) }
      let isWanted = !waiting.contains { $0.inode == inode }
      for index in waiting.indices { waiting[index].texts -= 1 }
      let due = waiting.filter { $0.texts < 0 }
      waiting.removeAll { $0.texts < 0 }
      return (isWanted, due)
    }
  }

  /// So many texts are stored before the program goes on, which then does not catch up with the thread for long.
  private static let headStart = 64
  /// A read so far ahead of the thread that stores is that of the program that it stores for.
  private static let near: Int64 = 256

  private let state = Mutex(State())

  /// Answers a read of `inode`: at once, or when some of the texts behind it are stored, by this thread or by another.
  /// `store` stores a text; false if the kernel does not take it. `onStart` is called before this thread stores.
  func answer(
    _ inode: InodeNumber,
    _ tree: FileTree,
    onStart: () -> Void,
    store: (RawSpan, InodeNumber) -> Bool,
    _ answer: @escaping @Sendable () -> Void
  ) {
    let (isAnswered, stores) = state.withLock { state in
      if state.isStoring && !state.isAhead(inode) { return (false, false) }
      let stores = !state.isStoring
      state.isStoring = true
      state.waiting.append(Waiting(inode: inode, answer: answer))
      return (true, stores)
    }
    if !isAnswered { return answer() }
    if !stores { return }
    var isFirst = true
    tree.nextTexts(behind: inode) { inode, text in
      if isFirst { onStart() }
      isFirst = false
      let (isWanted, due) = state.withLock { $0.goOn(to: inode) }
      for read in due { read.answer() }
      return !isWanted || store(text, inode)
    }
    let due = state.withLock { state in
      defer { state = State() }
      return state.waiting
    }
    for read in due { read.answer() }
  }
}
