// The commands that mount realms, unmount them and list mounts.
import RealmPages
import RealmTransfer

extension Options {
  static let commandsOfMounts: [CommandSpec] = [
    CommandSpec(
      name: .mount,
      arguments: [
        ArgumentSpec(
          "FILE",
          "the Realm file; omitted with --default, --in-memory and --sync",
          completion: .file,
          absentWith: [.defaultRealm, .inMemory, .sync]
        ),
        ArgumentSpec("MOUNTPOINT", "an existing directory", completion: .directory),
      ],
      summary: "mount a Realm file as a directory tree",
      description: [
        """
        Each class is a directory, each object a JSON file named by its primary key. The command returns when the \
        mount is ready, and its exit status reports failures; a background process serves the mount until it is \
        unmounted.
        """,
        """
        Saving a file is a transaction: when close or fsync returns, the change is on disk, or the error reports that \
        it was refused. The reason is in the extended attribute user.realmfs.error of the file, in .realm/errors and \
        in the log; the refused text is kept in .realm/rejected/. See SAVING in realmfs-mount(8).
        """,
        """
        Files of older formats, files with sync history, and mounts with --read-only or --immutable are read-only: \
        every change fails with EROFS. A stale realmfs mount at MOUNTPOINT is detached first. SIGTERM, SIGINT and \
        SIGHUP unmount; repeating them has no further effect.
        """,
        """
        Apps and other mounts can have the realm open at the same time: each sees the commits of the others, and \
        writers take turns. If a program has the realm open exclusively, or shares it in a way unknown to realmfs, \
        mount fails and names the program; --immutable mounts the realm anyway, read-only.
        """,
        """
        Programs that have a realm open share the memory of FILE.lock. The owner of the realm can write anything into \
        it, and so block a program run by root or show it false versions. If the realm or its lock file belongs to \
        another user, root therefore reads it as with --immutable, and the command reports this. With --trust-owner, \
        root joins the other programs and can save. The commands that change a realm need --trust-owner only while \
        another program has the realm open.
        """,
        """
        Programs coordinate through a lock file next to FILE. If FILE is a symbolic link, it is the lock file in use, \
        next to the link or next to its target; if neither is in use, the one next to the link, as with Realm's \
        engine. If FILE is moved, replaced or removed while it is mounted, the mount keeps showing it or follows the \
        new file; saves go to the file at FILE, or fail with ESTALE.
        """,
        """
        With --schema, the realm is created if it does not exist, and missing classes and properties are added; \
        classes that the schema does not name are kept. A change that would lose or convert data is refused, unless \
        the schema version increases and --migrate or --delete-if-migration-needed determines what happens to the \
        data.
        """,
        """
        The command of --migrate runs if the schema version increases. $REALMFS_OLD is a directory that shows the \
        unchanged realm, $REALMFS_NEW one with the new schema, in which CMD can change everything. If it exits \
        with 0, the new realm replaces the old one in one step; otherwise nothing changes. No other program can have \
        the realm open meanwhile.
        """,
        """
        With --sync, a realm on a sync server is mounted: it is downloaded to a mirror and follows the changes of \
        others. A save returns when the server has accepted the change and sent it \
        back. Without the server, the tree can be \
        read, and a save fails with ENETDOWN. A save that the server does not answer in time fails with ETIMEDOUT; if \
        it was sent, it is sent again. A save that the server refuses fails with EPERM. .realm/sync.json shows the \
        current state.
        """,
      ],
      examples: [
        "realmfs mount people.realm people",
        "realmfs mount --read-only --key-file key.hex secret.realm secret",
        "realmfs mount --sync realm://127.0.0.1:7800/team/notes notes",
      ]
    ),
    CommandSpec(
      name: .umount,
      arguments: [ArgumentSpec("MOUNTPOINT", "the mount point of a realm", completion: .directory)],
      summary: "unmount a realm",
      description: [
        "Only realmfs mounts are unmounted. Without root privileges, fusermount3 is used.",
        "A mount that has files in memory only, such as refused texts, stays mounted: the files are listed, and the "
          + "exit status is 9. Save or remove them, or use --discard.",
      ],
      examples: ["realmfs umount people"]
    ),
    CommandSpec(
      name: .tx,
      arguments: [
        ArgumentSpec("MOUNTPOINT", "the mount point of a realm, mounted read-write", completion: .directory),
        ArgumentSpec("CMD", "the command and its arguments, preferably after --", mayRepeat: true),
      ],
      summary: "run a command in a transaction",
      description: [
        """
        The command runs in a directory that shows the current version of the realm, like the mount point itself. Its \
        changes are not visible elsewhere. If it exits with 0, all of them are committed at once; otherwise nothing \
        changes. New objects can link to each other in any order, but an object of a class without primary key must \
        exist before a link to it. $REALMFS_TX is the directory. A relative path to the program itself is relative to \
        the directory in which realmfs was started.
        """,
        """
        The exit code is 0 only after the mount has confirmed that the commit is on disk. It is 11, with the reasons, \
        if a text was refused and not corrected, if another program changed an object that the command changed as \
        well, if another program dropped the transaction, or if the mount ended before it confirmed the commit.
        """,
        """
        If the command fails, the exit code is that of the command: 128 plus the signal number if a signal ended it, \
        127 if it was not found, 126 if it could not be run. Signals are passed on to the command.
        """,
        """
        To do this by hand: mkdir MOUNTPOINT/.realm/tx/NAME, make changes in it, then touch .commit in it, or remove it.
        """,
      ],
      examples: [
        "realmfs tx people -- ./fix-everything.sh", "realmfs tx people -- sh -c 'rm Person/4.json Dog/Rex.json'",
      ]
    ),
    CommandSpec(
      name: .exec,
      arguments: [
        file,
        ArgumentSpec("CMD", "the command and its arguments, after --", mayRepeat: true),
      ],
      summary: "mount a realm, run a command in the mount, and unmount",
      description: [
        """
        The realm is mounted on a new directory in $XDG_RUNTIME_DIR, /run or /tmp that no other user can enter. The \
        command runs in it; $REALMFS_MOUNT is its path. When the command has ended, the realm is unmounted and the \
        directory removed. The exit code is that of the command: 128 plus the signal number if a signal ended it, \
        127 if it was not found, 126 if it could not be run. If the realm cannot be mounted, it is that of 'realmfs \
        mount'. A relative path to the program itself is relative to the directory in which realmfs was started.
        """,
        """
        With --tx, the command runs in a transaction of the mount, as with 'realmfs tx': its changes are committed at \
        once if it exits with 0, otherwise nothing changes. The exit code is 11 if the commit is not confirmed.
        """,
        """
        Files that the command leaves in memory only, such as refused texts, are listed and kept as when a mount ends \
        by other means: see realmfs-mount(8). If the command exits with 0, the exit code is then 9.
        """,
        """
        The mount ends when the command ends. Processes that still use it lose access to its files; this is reported. \
        Signals are passed on to the command. If realmfs itself is killed, the mount \
        ends at once and the directory is removed; the command continues without it.
        """,
      ],
      examples: [
        "realmfs exec people.realm -- ls Person",
        "realmfs exec --tx people.realm -- sh -c 'rm Dog/Rex.json Person/4.json'",
      ]
    ),
    CommandSpec(
      name: .status,
      arguments: [],
      summary: "list the mounts of realms on this machine",
      description: [
        """
        Prints a line for each mount: the realm file, the mount point, the process that serves it, read-write, \
        read-only or immutable, the time since it last accessed the realm, and the number of versions in \
        .realm/snapshots. A mount that has been idle for some seconds releases the realm to other programs; this \
        command does not count as access.
        """,
        """
        Root also sees the mounts of other mount namespaces, such as those of containers and of 'unshare -m', with the \
        command that enters them. A background mount in a namespace that all other processes have left is listed with \
        the command that ends it.
        """,
        """
        A mount that does not answer within two seconds, or that belongs to another user and does not let others in, \
        is listed with the data of the mount table. The exit code is 0 even if there are no mounts.
        """,
      ],
      examples: ["realmfs status", "realmfs status --json"]
    ),
  ]
}
