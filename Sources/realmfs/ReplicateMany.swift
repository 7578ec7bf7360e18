// `realmfs replicate --source-of`: many realms in one replica.
import Glibc
import RealmPages
import RealmReplica

/// Many realms, their files and what they are called.
struct ReplicateMany {
  private let arguments: Arguments
  private let operands: ReplicaOperands
  private let address: PostgresAddress

  init(_ arguments: Arguments, _ operands: ReplicaOperands, _ address: PostgresAddress) throws(CommandFailure) {
    (self.arguments, self.operands, self.address) = (arguments, operands, address)
  }

  func run() throws(CommandFailure) -> ExitCode { .failure }
  func verify() throws(CommandFailure) -> ExitCode { .failure }
}
