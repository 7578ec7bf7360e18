// Write transactions that run later.

import Foundation
import RealmSwift
import Testing

@Suite struct AsyncWriteTests {
  private let folder: RealmFolder
  private let configuration: Realm.Configuration
  private let queue = DispatchQueue(label: "writes")

  init() throws {
    folder = try RealmFolder()
    configuration = folder.configuration(Dog.self, Person.self, Address.self, Street.self)
  }

  /// Runs `body` on the queue and waits until `done` was called.
  private func run(_ body: @escaping (Realm, _ done: @escaping () -> Void) throws -> Void) throws {
    let finished = DispatchSemaphore(value: 0)
    nonisolated(unsafe) let body = body
    let (queue, configuration) = (queue, configuration)
    try queue.sync { try body(Realm(configuration: configuration, queue: queue)) { finished.signal() } }
    #expect(finished.wait(timeout: .now() + 600) == .success)
  }

  private func names() throws -> [String] {
    try queue.sync { try Realm(configuration: configuration, queue: queue).objects(Dog.self).map(\.name).sorted() }
  }

  @Test("blocks run in sequence, and uncommitted changes are rolled back")
  func order() throws {
    try run { realm, done in
      realm.writeAsync {
        #expect(realm.isInWriteTransaction && realm.isPerformingAsynchronousWriteOperations)
        realm.create(Dog.self, value: ["name": "a"])
      } onComplete: { error in
        #expect(error == nil)
        #expect(realm.objects(Dog.self).map(\.name) == ["a"])
      }
      realm.beginAsyncWrite { realm.create(Dog.self, value: ["name": "dropped"]) }
      let cancelled = realm.writeAsync { realm.create(Dog.self, value: ["name": "cancelled"]) }
      try realm.cancelAsyncWrite(cancelled)
      realm.beginAsyncWrite {
        realm.create(Dog.self, value: ["name": "b"])
        realm.commitAsyncWrite { _ in done() }
      }
      #expect(realm.isPerformingAsynchronousWriteOperations && !realm.isInWriteTransaction)
    }
    #expect(try names() == ["a", "b"])
  }

  @Test("a synchronous write runs before queued asynchronous ones")
  func mixed() throws {
    try run { realm, done in
      realm.writeAsync {
        #expect(realm.objects(Dog.self).count == 1)
        realm.create(Dog.self, value: ["name": "later"])
      } onComplete: { _ in
        done()
      }
      try realm.write { realm.create(Dog.self, value: ["name": "now"]) }
    }
    #expect(try names() == ["later", "now"])
    #expect(try queue.sync { try !Realm(configuration: configuration, queue: queue).isInWriteTransaction })
    #expect(try folder.problems() == [])
  }

  @Test("a cancelled task does not wait for another writer", .timeLimit(.minutes(10)))
  @MainActor
  func cancelledTask() async throws {
    let realm = try await Realm(configuration: configuration)
    let began = DispatchSemaphore(value: 0), end = DispatchSemaphore(value: 0), configuration = configuration
    let other = Thread {
      guard let realm = try? Realm(configuration: configuration) else { return }
      realm.beginWrite()
      began.signal()
      end.wait()
      realm.cancelWrite()
    }
    other.start()
    began.wait()
    let task = Task { @MainActor in
      try await realm.asyncWrite { Issue.record("the block of a cancelled task ran") }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    end.signal()
    try await realm.asyncWrite { realm.create(Dog.self, value: ["name": "after"]) }
    #expect(realm.objects(Dog.self).count == 1 && !realm.isPerformingAsynchronousWriteOperations)
    #expect(await !realm.asyncRefresh())
  }
}
