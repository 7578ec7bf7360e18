// Stores the texts of a frozen tree in the page cache before a program requests them, when it reads one object after
// another.
//
// One thread stores at a time. A read of a text that this thread is about to reach is answered by the thread after it
// has stored some more texts: a program that follows closely would request each text and thus delay the thread.
//
// Invariant: a text is not stored while this thread owes the reply to a read of it. In the kernel, a store waits for a
// page that is being read.

import FileTree
import Synchronization

/// Stores the texts that a program is expected to read next.
final class TextsAhead: Sendable {
  private struct Waiting {
    let inode: InodeNumber
    let answer: @Sendable () -> Void
    /// The number of texts to store before the reply.
    var texts = TextsAhead.headStart
  }

  private struct State {
    var isStoring = false
    /// The file whose text is being stored.
    var current: InodeNumber?
    var waiting: [Waiting] = []

    /// True if the storing thread is about to reach a file, so that it can answer a read of it.
    func isAhead(_ inode: InodeNumber) -> Bool {
      guard let current else { return false }
      return inode.follows(current, atMost: TextsAhead.near)
    }

    /// Moves on to a text. Returns whether the text must be stored, and the replies that are due.
    mutating func advance(to inode: InodeNumber) -> (isWanted: Bool, due: [Waiting]) {
      current = inode
      if waiting.isEmpty { return (true, []) }
      let isWanted = !waiting.contains { $0.inode == inode }
      for index in waiting.indices { waiting[index].texts -= 1 }
      let due = waiting.filter { $0.texts < 0 }
      waiting.removeAll { $0.texts < 0 }
      return (isWanted, due)
    }
  }

  /// The number of texts stored before the program continues, so that it does not soon catch up with the thread.
  private static let headStart = 64
  /// A read at most this far ahead of the storing thread is assumed to be from the program that it stores for.
  private static let near: Int64 = 256

  private let state = Mutex(State())

  /// Answers a read of `inode`: at once, or after some of the following texts were stored, by this thread or another.
  /// `store` stores a text and returns false if the kernel does not accept it. `onStart` is called before this thread
  /// stores.
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
      let (isWanted, due) = state.withLock { $0.advance(to: inode) }
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
