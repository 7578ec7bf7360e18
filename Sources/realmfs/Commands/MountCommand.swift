// `realmfs mount`: serves the tree of a realm, by default in the background.
import CLinux
import Glibc

/// The command `mount`.
enum MountCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let mount = try Mount(arguments, at: arguments.operands.last ?? "")
    if arguments.has(.foreground) || arguments.has(.debug) {
      return try mount.serve {
        let sent = unsafe clinux_notify_manager("READY=1")
        if sent < 0 { Log.error("cannot notify the service manager that the mount is live: \(System.message(-sent))") }
      }
    }
    return try Daemon.start(keeping: mount.keyDescriptor) { becomeReady in
      do {
        return try mount.serve(whenLive: becomeReady)
      } catch {
        let failure = CommandFailure(error)
        Log.error(failure.message)
        return failure.code
      }
    }
  }
}
