// Sends changes to the server of a synced realm: the changes of a transaction are not written to the file but sent, and
// arrive with the server's history.

package import Threads

/// Receives the changes of transactions instead of the file.
package protocol Uplink: AnyObject, Sendable {
  /// Waits until no change is in transit, and blocks other senders until `leave`. Throws the error that prevents
  /// sending; if `reportsLater` is true, that error is thrown at the end of the transaction instead.
  func enter(until deadline: MonotonicTime, reportsLater: Bool) throws(EngineError)
  /// Throws the error that prevents sending, if it still exists at `deadline`.
  func checkReadiness(until deadline: MonotonicTime) throws(EngineError)
  /// Lets other senders in.
  func leave()
  /// Computes the changes of `transaction` while no other transaction can begin. Call the result after the transaction
  /// has ended: it sends the changes and returns the number of a version of the file that contains them. Returns nil if
  /// no change is visible to others. Throws if there is a change that cannot be sent to the server.
  func prepare(
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) -> (@Sendable () throws(EngineError) -> UInt64)?
}

/// The permission of a transaction to send, held until the object is destroyed.
final class UploadPermit: Sendable {
  let uplink: any Uplink

  init(_ uplink: any Uplink, until deadline: MonotonicTime, reportsLater: Bool) throws(EngineError) {
    try uplink.enter(until: deadline, reportsLater: reportsLater)
    self.uplink = uplink
  }

  deinit { uplink.leave() }
}

/// Holds an uplink or none.
struct UplinkSlot {
  var uplink: (any Uplink)?
}
