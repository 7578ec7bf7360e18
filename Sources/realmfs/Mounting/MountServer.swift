// The process that serves a mount, as seen by another process that ends the mount.

import CLinux
import FileTree
import Glibc
import RealmPages

/// The process that serves a mount.
final class MountServer {
  private let descriptor: Int32
  private let mountPoint: String

  /// Finds the server of a live mount of ours. It is nil if the server runs in another container or does not answer.
  static func ask(_ mountPoint: String) -> (server: MountServer?, isSilent: Bool) {
    switch RealmMount.attribute(FileTree.processAttribute, of: mountPoint) {
    case .success(let text): (pid_t(String(decoding: text, as: UTF8.self)).flatMap { Self($0, mountPoint) }, false)
    case .failure(let error): (nil, error.code == ETIMEDOUT)
    }
  }

  private init?(_ process: pid_t, _ mountPoint: String) {
    guard Self.isServer(process) else { return nil }
    let descriptor = clinux_process_descriptor(process)
    guard descriptor >= 0 else { return nil }
    self.descriptor = descriptor
    self.mountPoint = mountPoint
  }

  deinit { close(descriptor) }

  /// True if a process runs this program, judged by its name.
  static func isServer(_ process: pid_t) -> Bool {
    let name = KernelText.of("/proc/\(process)/comm")
    return name != nil && name == KernelText.of("/proc/self/comm")
  }

  /// Returns the printable paths of the files that a mount holds only in memory; none if they cannot be read.
  static func unsavedFiles(of mountPoint: String) -> [String] {
    let text = KernelText.of(mountPoint + "/.realm/unsaved") ?? ""
    return text.split(separator: "\n").map(String.init)
  }

  /// Waits for the process to end; false if it has not ended after `milliseconds`.
  func hasEnded(within milliseconds: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&request, 1, milliseconds) > 0
  }
}
