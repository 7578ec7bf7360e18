// The way of changes to the server of a synced realm: what a transaction changed is not written to the file, but sent,
// and comes back with the server's history.

package import Threads

/// Takes what transactions change in the place of the file.
package protocol Uplink: AnyObject, Sendable {
  /// Waits until nothing is on its way any more, and keeps others from sending until `leave`. Throws what keeps
  /// anything from being sent, unless it is told so at the end of the transaction only.
  func enter(until deadline: MonotonicTime, tellsLater: Bool) throws(EngineError)
  /// Throws what keeps anything from being sent, if that is not mended by `deadline`.
  func checkReadiness(until deadline: MonotonicTime) throws(EngineError)
  /// Lets others send.
  func leave()
  /// Works out what `transaction` changed, while no other can begin. The result sends it, when the transaction has
  /// ended, and returns the number of a version of the file that has it; nil if nothing was changed that others see.
  /// Throws what the server could not be told.
  func prepare(
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) -> (@Sendable () throws(EngineError) -> UInt64)?
}

/// The turn of a transaction to send, up to the end of the value.
final class UplinkTurn: Sendable {
  let uplink: any Uplink

  init(_ uplink: any Uplink, until deadline: MonotonicTime, tellsLater: Bool) throws(EngineError) {
    try uplink.enter(until: deadline, tellsLater: tellsLater)
    self.uplink = uplink
  }

  deinit { uplink.leave() }
}

/// Holds an uplink, or none.
struct UplinkSlot {
  var uplink: (any Uplink)?
}
