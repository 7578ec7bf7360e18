// The mount options (`-o`).

extension Options {
  static let jsonStyles = ["plain", "ejson", "canonical"]

  static let mountOptions: [MountOptionSpec] = [
    MountOptionSpec(.classes, value: "A:B", "show only these classes; same as --class A,B"),
    MountOptionSpec(
      .json,
      value: jsonStyles.joined(separator: "|"),
      on: [.mount, .exec, .cat],
      "how values are written"
    ),
    MountOptionSpec(.showControl, "list the control directory .realm, which is otherwise hidden but accessible"),
    MountOptionSpec(.uid, value: "USER", "the owner of every file, by name or number"),
    MountOptionSpec(.gid, value: "GROUP", "the group of every file, by name or number"),
    MountOptionSpec(.umask, value: "MODE", "permission bits to remove from files and directories, in octal"),
    MountOptionSpec(.fmask, value: "MODE", "like umask, for files only"),
    MountOptionSpec(.dmask, value: "MODE", "like umask, for directories only"),
    MountOptionSpec(
      .dotNetGuids,
      on: [.mount, .exec, .cat],
      "show UUIDs as a .NET SDK before 10.10 did, read-only; same as --dotnet-guids"
    ),
    MountOptionSpec(.nonEmpty, "mount over a directory that is not empty, and hide its content"),
    MountOptionSpec(.readOnly, "refuse changes through this mount; same as --read-only"),
    MountOptionSpec(
      .frozen,
      "show the version at mount time, read-only, until the mount ends: the kernel opens files and reads them again "
        + "without asking the mount, which is the fastest way to read many files. While the mount lasts, other "
        + "programs cannot reuse the space of that version; with --immutable, content that is not cached fails with "
        + "ESTALE once another program has committed"
    ),
    MountOptionSpec(kernel: "rw", "save changes; the default"),
    MountOptionSpec(
      .write,
      value: "patch|replace",
      "what a save does to properties that the text does not name: keep their values (patch, the default), or reset "
        + "them to their defaults (replace)"
    ),
    MountOptionSpec(.createClasses, "allow mkdir in the root, which adds a class"),
    MountOptionSpec(
      .groupCommit,
      value: "MS",
      "do not wait for the disk in close: saves reach it together, within MS milliseconds, and a crash before that "
        + "undoes them; fsync waits (default 0: each close waits)"
    ),
    MountOptionSpec(
      .lockTimeout,
      value: "SECONDS",
      "how long a save waits while another program is writing, before it fails with EAGAIN (default 10)"
    ),
    MountOptionSpec(
      .queryTimeout,
      value: "SECONDS",
      "how long a query in .where or .by can take before it fails with ETIMEDOUT (default 30)"
    ),
    MountOptionSpec(
      .busyPoll,
      value: "US",
      "how many microseconds a thread polls for the next request before it sleeps, as long as requests arrive that "
        + "soon; this saves the time to wake it; 0 never polls (default 30; always 0 with one processor)"
    ),
    MountOptionSpec(.trustOwner, "for root: share the realm of another user; same as --trust-owner"),
    MountOptionSpec(kernel: "allow_other", "let other users in"),
    MountOptionSpec(kernel: "allow_root", "let root in"),
    MountOptionSpec(kernel: "default_permissions", "let the kernel check modes and owners"),
    MountOptionSpec(kernel: "auto_unmount", "unmount when the serving process ends, for whatever reason"),
    MountOptionSpec(kernel: "fsname", value: "NAME", "the source that mount(8) and df(1) show (default: FILE)"),
    MountOptionSpec(kernel: "nosuid", "as in mount(8); the default"),
    MountOptionSpec(kernel: "nodev", "as in mount(8); the default"),
    MountOptionSpec(kernel: "noexec", "as in mount(8)"),
    MountOptionSpec(kernel: "suid", "as in mount(8)"),
    MountOptionSpec(kernel: "dev", "as in mount(8)"),
    MountOptionSpec(kernel: "exec", "as in mount(8)"),
    MountOptionSpec(kernel: "atime", "as in mount(8)"),
    MountOptionSpec(kernel: "noatime", "as in mount(8)"),
    MountOptionSpec(
      refused: "subtype",
      because: "the type is always fuse.realmfs, so that 'realmfs umount' recognizes it"
    ),
  ]
}
