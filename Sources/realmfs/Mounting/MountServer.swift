// The process that serves a mount, as seen by another process that ends the mount.

import CLinux
import FileTree
import Glibc
import RealmPages

/// The process that serves a mount.
final class MountServer {
  private let descriptor: Int32

  /// Finds the server of a live mount of ours. `server` is nil if the server runs in another container or does not
  /// respond.
  static func ask(_ mount: MountEntry) -> (server: MountServer?, isSilent: Bool) {
    switch RealmMount.attribute(FileTree.processAttribute, of: mount.mountPoint) {
    case .success(let text): (pid_t(String(decoding: text, as: UTF8.self)).flatMap { Self($0, mount) }, false)
    case .failure(let error): (nil, error.code == ETIMEDOUT)
    }
  }

  private init?(_ number: pid_t, _ mount: MountEntry) {
    guard let process = Self.process(knownAs: number, serving: mount) else { return nil }
    let descriptor = clinux_process_descriptor(process)
    guard descriptor >= 0 else { return nil }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// True if a process runs this program, according to its name.
  static func isServer(_ process: pid_t) -> Bool {
    let name = KernelText.of("/proc/\(process)/comm")
    return name != nil && name == KernelText.of("/proc/self/comm")
  }

  /// The process that serves a mount and that has the number `number` in its own PID namespace; nil if this process
  /// does not see it. In a container, that number differs from the one here.
  static func process(knownAs number: pid_t, serving mount: MountEntry) -> pid_t? {
    func serves(_ process: pid_t) -> Bool {
      isServer(process) && ownNumber(of: process) == number
        && MountTable.entries(of: process).contains { $0.device == mount.device }
    }
    if serves(number) { return number }
    // Without /proc this process sees none.
    return ((try? DirectoryListing.names(in: "/proc")) ?? []).lazy.compactMap { pid_t($0) }.first(where: serves)
  }

  /// The number of a process in its own PID namespace; nil if it has ended.
  private static func ownNumber(of process: pid_t) -> pid_t? {
    let lines = KernelText.of("/proc/\(process)/status")?.split(separator: "\n") ?? []
    guard let line = lines.first(where: { $0.hasPrefix("NSpid:") }) else { return nil }
    return line.split { $0 == "\t" || $0 == " " }.last.flatMap { pid_t($0) }
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
