// The file systems below a realm, and the recording disk below them. Needs root, loop devices and FUSE.

import CDisk
import Foundation
import TestSupport

/// A file system and how it is mounted.
enum DiskFormat: String, CaseIterable {
  case ext4
  case ext4Journal = "ext4-journal"
  case xfs
  case btrfs

  var type: String { self == .ext4Journal ? "ext4" : rawValue }

  var options: String {
    switch self {
    case .ext4: "data=ordered,noinit_itable"
    case .ext4Journal: "data=journal,noinit_itable"
    case .xfs, .btrfs: ""
    }
  }

  /// The minimum size in bytes that the tools support.
  var size: Int {
    switch self {
    case .ext4, .ext4Journal: 48 << 20
    case .xfs: 320 << 20
    case .btrfs: 160 << 20
    }
  }

  /// The bytes that the disk must write together: XFS and btrfs do not survive a block of their own metadata that was
  /// written in part.
  var unit: Int { type == "ext4" ? 512 : 4096 }

  /// The command that creates it in a file.
  var maker: [String] {
    switch self {
    case .ext4, .ext4Journal: ["mkfs.ext4", "-q", "-F", "-b", "4096", "-J", "size=4", "-E", "nodiscard"]
    case .xfs: ["mkfs.xfs", "-q", "-f", "-K"]
    case .btrfs: ["mkfs.btrfs", "-q", "-f", "-K", "-m", "single"]
    }
  }
}

/// Throws an errno of the disk calls.
func checked(_ code: Int32, _ action: String) throws {
  if code < 0 { throw Loss(description: "\(action): \(String(cString: strerror(-code)))") }
}

/// Runs a program to its end.
@discardableResult
func runProgram(_ words: [String], input: String? = nil) throws -> String {
  let process = Process(), output = Pipe()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = words
  process.standardOutput = output
  process.standardError = output
  let source = Pipe()
  process.standardInput = source
  try process.run()
  source.fileHandleForWriting.write(Data((input ?? "").utf8))
  try source.fileHandleForWriting.close()
  let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  if process.terminationStatus != 0 {
    throw Loss(description: "\(words.joined(separator: " ")): status \(process.terminationStatus): \(text)")
  }
  return text
}

/// A program of this package, or the one that it is about.
func builtProgram(_ name: String) -> String {
  if name == "realmfs", let path = ProcessInfo.processInfo.environment["REALMFS"] { return path }
  return URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .appendingPathComponent(name).path
}

/// A file system on a loop device over a file.
final class MountedImage {
  let directory: URL
  private let device: Int32

  init(_ image: String, _ format: DiskFormat, at directory: URL) throws {
    var name = [CChar](repeating: 0, count: 64)
    device = disk_attach(image, &name, name.count)
    try checked(device, "attach \(image)")
    self.directory = directory
    let path = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let code = disk_mount(path, directory.path, format.type, format.options)
    if code < 0 { close(device) }
    try checked(code, "mount \(image) as \(format.rawValue)")
  }

  func unmount() throws {
    let code = disk_unmount(directory.path)
    close(device)
    try checked(code, "unmount \(directory.path)")
  }
}

/// A mounted file system whose disk logs what is written to it.
final class RecordedDisk {
  /// Where the file system is mounted.
  let directory: URL
  private let folder: URL
  private let server = Process()
  private let mounted: MountedImage
  private let marks: FileHandle

  /// The newly created file system.
  var origin: URL { folder.appendingPathComponent("origin") }
  var log: URL { folder.appendingPathComponent("log") }

  init(_ format: DiskFormat, in folder: URL) throws {
    self.folder = folder
    directory = folder.appendingPathComponent("recorded")
    let image = folder.appendingPathComponent("image"), fuse = folder.appendingPathComponent("fuse")
    for place in [directory, fuse] {
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    }
    try Data().write(to: image)
    try FileHandle(forWritingTo: image).truncate(atOffset: UInt64(format.size))
    try runProgram(format.maker + [image.path])
    try runProgram(["cp", "--sparse=always", image.path, folder.appendingPathComponent("origin").path])
    server.executableURL = URL(fileURLWithPath: builtProgram("RecordedDisk"))
    server.arguments = [image.path, folder.appendingPathComponent("log").path, fuse.path]
    try server.run()
    let disk = fuse.appendingPathComponent("disk").path
    for _ in 0..<500 where !FileManager.default.fileExists(atPath: disk) { usleep(10_000) }
    mounted = try MountedImage(disk, format, at: directory)
    marks = try FileHandle(forWritingTo: fuse.appendingPathComponent("marks"))
  }

  /// Writes a text to the log, after everything that was written to the disk before.
  func mark(_ text: String) throws { try marks.write(contentsOf: Data(text.utf8)) }

  /// Ends the recording.
  func stop() throws {
    try mounted.unmount()
    try marks.close()
    // The loop device releases the file a moment later.
    let fuse = folder.appendingPathComponent("fuse").path
    try checked(disk_unmount(fuse), "unmount \(fuse)")
    server.waitUntilExit()
  }
}
