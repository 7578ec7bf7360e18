// Renders realmfs-mount(8) from the option table: mounts, their options, fstab and systemd. A test compares
// man/realmfs-mount.8 with this text.

/// Renders the man page about mounts.
enum MountManPage {
  /// Returns the page in man(7) format.
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
    // The help of the command refers to this page.
    let description = (Options.command(.mount)?.description ?? []).map {
      Roff.escaped($0.replacing("SAVING in realmfs-mount(8)", with: "SAVING below"))
    }
    page += Roff.section("DESCRIPTION", description)
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
    Closing a file that was written to, or calling fsync on it, saves it in one transaction, which is on disk when \
    the call returns. Saving an object changes only what differs. Properties that the text does not name keep their \
    values; null clears a property. Saving a text that equals the stored object causes no commit.
    """,
    """
    A new file creates an object. Its name gives the primary key; in a class without one, a number gives the object \
    key, and any other name refers to the new object until the mount ends. Properties that are not named get their \
    defaults. Removing the file deletes the object: links to it become null or are removed, and its embedded objects \
    are deleted too.
    """,
    """
    Editors can save in any of the usual ways: by truncating the file, by renaming a new file over it, by moving it \
    away first, or by unlinking it. The object keeps its key and the links to it. Files whose names no object of the \
    class can have are scratch files: they are kept in memory, and .realm/unsaved lists them. realmfs umount refuses \
    to unmount while there are any; if the mount ends in another way, they are kept below \
    $XDG_STATE_HOME/realmfs/unsaved (default: ~/.local/state/realmfs/unsaved).
    """,
    """
    Files cannot be created in the root directory. With -o create_classes, creating a directory there adds a class; \
    removing the directory of a class that has neither objects nor properties removes the class. Writing \
    .realm/schema.json changes the schema.
    """,
    """
    A class directory has more entries than it lists. .where/QUERY/ holds the objects that a query finds, with '/' \
    written as %2F and '%' as %25; .by/PROPERTY/VALUE/ holds the objects with that value. They can be nested. \
    .fields/KEY/ shows an object as a directory with a file for each property: strings with a trailing newline, \
    binary data unchanged, links as symbolic links, .backlinks, everything else as JSON; writing a file sets that \
    property, removing it makes the property null or resets it to its default. .all.jsonl holds all objects, one per \
    line, .all.csv the same objects as CSV, and .count their number.
    """,
    """
    mkdir .realm/snapshots/NAME keeps the whole tree in its current version, read-only, until rmdir or unmount; \
    .changes in it lists what has changed since, one JSON object per line; writing 1 to .restore in it restores \
    everything in one commit. While a snapshot exists, the space that its version uses is not reused. \
    .realm/versions/N/ shows a former version that the file still holds, .realm/deleted/ its deleted objects.
    """,
    """
    .realm/changes provides a line of JSON for each object changed by a commit of any program; reading it waits for \
    the next commit. It is a symbolic link to a named pipe in $XDG_RUNTIME_DIR, /run or /tmp. A reader that is too \
    slow gets {"version":17,"time":"..","gap":true}.
    """,
    """
    mkdir .realm/tx/NAME opens a transaction: a tree in which anything can be changed without the changes being \
    visible elsewhere. touch .commit in it commits all changes at once, or none, with the reasons in .log: a text \
    that was refused, or an object that another program changed meanwhile (ESTALE). .test checks without committing, \
    .diff lists what would change, .abort or rmdir drops the transaction. 'realmfs tx' runs a command in one.
    """,
    """
    Refusals: EINVAL for a text that is not JSON, or has a wrong type, an unknown property, a key that differs from \
    the name, or a link to an object that does not exist; ERANGE for a number that the type cannot hold; EFBIG and \
    ENAMETOOLONG if a limit is exceeded; EEXIST for a key that already exists; EPERM for content that is computed or \
    cannot change, such as the name of an object; EROFS in a read-only mount; EAGAIN while another program writes; \
    ENOSPC if the disk is full; the previous version stays intact and the mount keeps running.
    """,
  ]

  private static let fstab = [
    """
    mount(8), systemd and fstab call realmfs through the helpers mount.fuse.realmfs and umount.fuse.realmfs. The first \
    field of an fstab line is the realm file, the third is fuse.realmfs, and the fourth holds any of the mount options \
    above and of the long options \(MountHelper.longOptions.map(\.rawValue).joined(separator: ", ")), with - or _ \
    between words. Options for mount(8) and systemd, such as noauto, nofail, user and those that begin with x-, are \
    left to them. remount is refused: unmount and mount again.
    """
  ]

  private static let fstabLines = [
    (
      "a realm that is mounted at the first access and unmounted after ten idle minutes",
      """
      /srv/shop.realm /srv/shop fuse.realmfs noauto,x-systemd.automount,x-systemd.idle-timeout=600,allow_other 0 0
      """
    ),
    (
      "an encrypted realm that a user can mount and unmount with 'mount /home/ann/notes'",
      """
      /home/ann/notes.realm /home/ann/notes fuse.realmfs noauto,user,key-file=/home/ann/notes.key 0 0
      """
    ),
  ]

  private static let systemd = [
    """
    The template unit realmfs@.service of the user manager mounts a realm for a user: ~/.config/realmfs/NAME.conf \
    defines the mount, and 'systemctl --user enable --now realmfs@NAME' mounts it now and at each login. The service \
    has started when the mount is ready; stopping it unmounts.
    """
  ]

  private static let unitLines = [
    (
      "~/.config/realmfs/notes.conf, where OPTIONS is optional",
      """
      FILE=/home/ann/notes.realm
      MOUNTPOINT=/home/ann/notes
      OPTIONS=--key-file /home/ann/notes.key
      """
    )
  ]

  private static let otherUsers = """
    Only the user who mounted a realm can access the mount; not even root can. The mount option allow_other lets other \
    users in, as far as modes and owners allow; for mounts by ordinary users, it requires the line user_allow_other in \
    /etc/fuse.conf, which root can add. Mounts from fstab belong to root, so they nearly always need allow_other, uid \
    and gid.
    """

  private static let exitStatus = """
    The exit status of realmfs mount and realmfs umount is described in realmfs(1). That of the helpers is as mount(8) \
    requires: 0 for success, 1 for a wrong option, 32 for any other failure, whose reason is on standard error.
    """

  private static let configuration = "~/.config/realmfs/NAME.conf is read by realmfs@NAME.service of the user manager."
}
