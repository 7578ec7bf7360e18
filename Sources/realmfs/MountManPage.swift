// realmfs-mount(8), written from the option table: what a mount does, its options, fstab and systemd. A test compares
// man/realmfs-mount.8 with this text.

/// Renders the man page of mounts.
enum MountManPage {
  /// The page in man(7) form.
  static func text() -> String {
    var page = Roff.title(
      "realmfs-mount",
      8,
      group: "System Administration",
      summary: "mount a Realm database file as a directory tree"
    )
    page += """
      .SH SYNOPSIS
      .B realmfs mount
      .RI [ OPTION ]...
      .I FILE
      .I MOUNTPOINT
      .br
      .B realmfs umount
      .RI [ \\-\\-lazy ]
      .I MOUNTPOINT
      .br
      .B mount \\-t fuse.realmfs
      .RB [ \\-o
      .IR NAME [= VALUE ],...]
      .I FILE
      .I MOUNTPOINT
      .br
      .B umount
      .I MOUNTPOINT

      """
    page += Roff.section("DESCRIPTION", (Options.command(.mount)?.description ?? []).map(Roff.escaped))
    page += ".SH OPTIONS\n"
    for option in Options.options(of: .mount) { page += Roff.option(option) }
    page += Roff.section("MOUNT OPTIONS", ["These are given as \\fB-o\\fR \\fINAME\\fR[=\\fIVALUE\\fR],... ."])
    for option in Options.mountOptions(of: .mount) { page += Roff.option(option) }
    page += Roff.section("SAVING", saving.map(Roff.escaped))
    page += Roff.section("FSTAB", fstab.map(Roff.escaped)) + fstabLines.map(Roff.example).joined()
    page += Roff.section("SYSTEMD", systemd.map(Roff.escaped)) + unitLines.map(Roff.example).joined()
    page += Roff.section("OTHER USERS", [Roff.escaped(otherUsers)])
    page += Roff.section("EXIT STATUS", [Roff.escaped(exitStatus)])
    page += Roff.section("FILES", Roff.files + [Roff.escaped(configuration)])
    page += Roff.seeAlso([
      ("realmfs", 1), ("realm", 5), ("mount", 8), ("umount", 8), ("fstab", 5), ("systemd.mount", 5), ("fusermount3", 1),
    ])
    return page
  }

  private static let saving = [
    """
    Closing a file that was written, and fsync, save it: one transaction, on disk when the call returns. Saving an \
    object changes only what differs; properties that the text does not name keep their values, null clears one. A \
    text that says what is stored makes no commit.
    """,
    """
    A new file makes an object. Its name gives the primary key; in a class without one a number gives the object key, \
    and any other name leads to the new object until the mount ends. Properties that are not named take their \
    defaults. Removing the file deletes the object: links to it become null or vanish, embedded objects go too.
    """,
    """
    Editors may save in their own way: by truncating, by renaming a new file over the old one, by moving the old one \
    away first, by unlinking it. The object keeps its key and the links to it. Names that no object of the class can \
    have are scratch files: they are in memory, and .realm/unsaved names them. realmfs umount refuses while there are \
    any; if the mount ends in another way, they are kept below $XDG_STATE_HOME/realmfs/unsaved.
    """,
    """
    The root takes no files. With -o create_classes, making a directory there adds a class; removing the directory of \
    a class without objects and properties removes it. Writing .realm/schema.json changes the schema.
    """,
    """
    The directory of a class has more than it lists. .where/QUERY/ holds the objects that a query finds, with '/' as \
    %2F and '%' as %25; .by/PROPERTY/VALUE/ those with a value; both go on below what they find. .fields/KEY/ is an \
    object as a directory: strings with a line end, binary data as it is, links as symbolic links, .backlinks, all \
    else as JSON; writing a file sets that property, removing it makes the property null. .all.jsonl holds all \
    objects, one a line, .all.csv the same as CSV, and .count their number.
    """,
    """
    mkdir .realm/snapshots/NAME keeps the whole tree as it is at that moment, read-only, until rmdir or unmount; \
    .changes in it has what changed since, one JSON object a line; writing 1 to \
    .restore in it brings everything back in one commit. The file grows meanwhile with each commit.
    """,
    """
    .realm/changes has a line of JSON for each object that a commit changes, whoever commits; reading it waits for the \
    next commit. It is a symbolic link to a named pipe in $XDG_RUNTIME_DIR or /run. A reader that is too slow finds {"version":17,"time":"..","gap":true}.
    """,
    """
    mkdir .realm/tx/NAME opens a transaction: a tree in which everything can be changed, unseen by others. \
    touch .commit in it makes all of that in one commit, or nothing, with the reasons in .log: a text that was \
    refused, or an object that another program changed meanwhile (ESTALE). .test looks without committing, .diff has \
    what would change, .abort or rmdir drops it. 'realmfs tx' runs a command in one.
    """,
    """
    Refusals: EINVAL for a text that is not JSON, has a wrong type, an unknown property, another key than the name, or \
    a link to nothing; ERANGE for a number that the type cannot hold; EFBIG and ENAMETOOLONG beyond limits; EEXIST \
    for a \
    key that is taken; EPERM for what is computed or never changes, such as the name of an object; EROFS; EAGAIN while \
    another program writes; ENOSPC without space, after which the former version is intact and the mount goes on.
    """,
  ]

  private static let fstab = [
    """
    mount(8), systemd and fstab call realmfs through the helpers mount.fuse.realmfs and umount.fuse.realmfs. The first \
    field of a line is the realm file, the third fuse.realmfs, the fourth any of the mount options above, and those of \
    the long options \(MountHelper.longOptions.map(\.rawValue).joined(separator: ", ")), with - or _ between words. \
    Options for mount(8) and systemd, such as noauto, nofail, user and those that begin with x-, are left to them. \
    remount is refused: unmount, and mount again.
    """
  ]

  private static let fstabLines = [
    (
      "a realm that is mounted at the first access, and unmounted after ten idle minutes",
      """
      /srv/shop.realm /srv/shop fuse.realmfs noauto,x-systemd.automount,x-systemd.idle-timeout=600,allow_other 0 0
      """
    ),
    (
      "an encrypted one that a user may mount and unmount with 'mount /home/ann/notes'",
      """
      /home/ann/notes.realm /home/ann/notes fuse.realmfs noauto,user,key-file=/home/ann/notes.key 0 0
      """
    ),
  ]

  private static let systemd = [
    """
    The template realmfs@.service of the user manager mounts a realm for a user: the file NAME.conf in \
    ~/.config/realmfs says what, and 'systemctl --user enable --now realmfs@NAME' does it now and at each login. The \
    service is started when the tree is live, and stopping it unmounts.
    """
  ]

  private static let unitLines = [
    (
      "~/.config/realmfs/notes.conf, where OPTIONS may be missing",
      """
      FILE=/home/ann/notes.realm
      MOUNTPOINT=/home/ann/notes
      OPTIONS=--key-file /home/ann/notes.key
      """
    )
  ]

  private static let otherUsers = """
    Only the user who mounted sees what is in a mount, not even root does. The mount option allow_other lets others \
    in, as far as modes and owners allow; for mounts by ordinary users it needs the line user_allow_other in \
    /etc/fuse.conf, which root can add. Mounts of fstab belong to root, so they nearly always want allow_other, and \
    uid and gid.
    """

  private static let exitStatus = """
    realmfs mount and realmfs umount exit as realmfs(1) says. The helpers exit as mount(8) wants it: 0 done, 1 a wrong \
    option, 32 any other failure, whose reason is on standard error.
    """

  private static let configuration = "~/.config/realmfs/NAME.conf is read by realmfs@NAME.service of the user manager."
}
