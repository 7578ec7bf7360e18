// Sends changes to the server of a synced realm: the changes of a transaction are not written to the file but sent, and
// come back with the server's history.

package import Threads

/// Takes the changes of transactions in place of the file.
package protocol Uplink: AnyObject, Sendable {
  /// Waits until no change is in transit, and blocks other senders until `leave`. Throws the error that keeps anything
  /// from being sent; if `tellsLater`, that error is thrown at the end of the transaction instead.
  func enter(until deadline: MonotonicTime, tellsLater: Bool) throws(EngineError)
  /// Throws the error that keeps anything from being sent, if it still exists at `deadline`.
  func checkReadiness(until deadline: MonotonicTime) throws(EngineError)
  /// Lets other senders in.
  func leave()
  /// Computes the changes of `transaction` while no other transaction can begin. Call the result after the transaction
  /// has ended: it sends the changes and returns the number of a version of the file that contains them. Returns nil if
  /// nothing was changed that others see. Throws if there is a change that cannot be sent to the server.
  func prepare(
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) -> (@Sendable () throws(EngineError) -> UInt64)?
}

/// The right of a transaction to send, held until the value is destroyed.
final class UplinkTurn: Sendable {
  let uplink: any Uplink

  init(_ uplink: any Uplink, until deadline: MonotonicTime, tellsLater: Bool) throws(EngineError) {
    try uplink.enter(until: deadline, tellsLater: tellsLater)
    self.uplink = uplink
  }

  deinit { uplink.leave() }
}

/// Holds an uplink or none.
struct UplinkSlot {
  var uplink: (any Uplink)?
}
