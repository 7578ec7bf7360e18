// What `-o` takes.

extension Options {
  static let jsonStyles = ["plain", "ejson", "canonical"]

  static let mountOptions: [MountOptionSpec] = [
    MountOptionSpec(.classes, value: "A:B", "show only these classes; the same as --class A,B"),
    MountOptionSpec(
      .json,
      value: jsonStyles.joined(separator: "|"),
      on: [.mount, .cat],
      "how values are written"
    ),
    MountOptionSpec(.showControl, "list the control directory .realm, which is otherwise there but hidden"),
    MountOptionSpec(.uid, value: "USER", "owner of every file, by name or number"),
    MountOptionSpec(.gid, value: "GROUP", "group of every file, by name or number"),
    MountOptionSpec(.umask, value: "MODE", "permission bits taken away from files and directories, in octal"),
    MountOptionSpec(.fmask, value: "MODE", "the same for files only"),
    MountOptionSpec(.dmask, value: "MODE", "the same for directories only"),
    MountOptionSpec(
      .dotNetGuids,
      on: [.mount, .cat],
      "UUIDs as a .NET SDK before 10.10 showed them, read-only; the same as --dotnet-guids"
    ),
    MountOptionSpec(.nonEmpty, "mount over a directory that is not empty, and hide what is in it"),
    MountOptionSpec(.readOnly, "no changes through this mount; the same as --read-only"),
    MountOptionSpec(
      .frozen,
      "shows the version of now for good, read-only, whatever is committed: files are opened and read again without "
        + "asking the mount, which is the fastest way to read many. A realm that others have open cannot use the space "
        + "of that version meanwhile; with --immutable, what is not cached fails with ESTALE once others have committed"
    ),
    MountOptionSpec(kernel: "rw", "changes are saved; the default"),
    MountOptionSpec(
      .write,
      value: "patch|replace",
      "what saving does to properties that the text does not name: they keep their values (patch, the default), or "
        + "take their defaults"
    ),
    MountOptionSpec(.createClasses, "mkdir in the root makes a class; without it, that is refused"),
    MountOptionSpec(
      .groupCommit,
      value: "MS",
      "close does not wait for the disk: saves reach it together, within MS milliseconds, and a crash before takes "
        + "them back; fsync waits (default 0: each close waits)"
    ),
    MountOptionSpec(
      .lockTimeout,
      value: "SECONDS",
      "how long a save waits while another program is writing, before it fails with EAGAIN (default 10)"
    ),
    MountOptionSpec(
      .queryTimeout,
      value: "SECONDS",
      "how long a query of .where and .by may take before it fails with ETIMEDOUT (default 30)"
    ),
    MountOptionSpec(
      .busyPoll,
      value: "US",
      "how many microseconds a thread asks for the next request before it sleeps, as long as requests come that soon: "
        + "saves the time of waking it; 0 never asks (default 30; always 0 with one processor)"
    ),
    MountOptionSpec(.trustOwner, "for root: take part in a realm of another user; the same as --trust-owner"),
    MountOptionSpec(kernel: "allow_other", "let other users in"),
    MountOptionSpec(kernel: "allow_root", "let root in"),
    MountOptionSpec(kernel: "default_permissions", "let the kernel check modes and owners"),
    MountOptionSpec(kernel: "auto_unmount", "unmount when the serving process ends in whatever way"),
    MountOptionSpec(kernel: "fsname", value: "NAME", "the source that mount(8) and df(1) show (default: FILE)"),
    MountOptionSpec(kernel: "nosuid", "as in mount(8); the default"),
    MountOptionSpec(kernel: "nodev", "as in mount(8); the default"),
    MountOptionSpec(kernel: "noexec", "as in mount(8)"),
    MountOptionSpec(kernel: "suid", "as in mount(8)"),
    MountOptionSpec(kernel: "dev", "as in mount(8)"),
    MountOptionSpec(kernel: "exec", "as in mount(8)"),
    MountOptionSpec(kernel: "atime", "as in mount(8)"),
    MountOptionSpec(kernel: "noatime", "as in mount(8)"),
    MountOptionSpec(refused: "subtype", because: "the type is always fuse.realmfs, so that 'realmfs umount' knows it"),
  ]
}
