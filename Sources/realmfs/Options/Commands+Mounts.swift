// The commands that mount realms and tell of mounts.
import RealmPages
import RealmTransfer

extension Options {
  static let commandsOfMounts: [CommandSpec] = [
    CommandSpec(
      name: .mount,
      arguments: [
        ArgumentSpec(
          "FILE",
          "the Realm file; not there with --default, --in-memory and --sync",
          completion: .file,
          absentWith: [.defaultRealm, .inMemory, .sync]
        ),
        ArgumentSpec("MOUNTPOINT", "an existing directory", completion: .directory),
      ],
      summary: "show a Realm file as a directory tree",
      description: [
        """
        Each class becomes a directory, each object a JSON file named by its primary key. The command returns when the \
        tree is live, with a true exit status; a process in the background serves it until it is unmounted.
        """,
        """
        Saving a file is a transaction: when close or fsync returns, the change is on disk, or the error says that it \
        was refused. The reason is in the extended attribute user.realmfs.error of the file, in .realm/errors and in \
        the log; the refused text stays readable under .realm/rejected/. realmfs-mount(8) says more.
        """,
        """
        Files of older formats and with sync history, and mounts with --read-only or --immutable, are read-only: every \
        change is refused with EROFS. A stale mount of realmfs at MOUNTPOINT is detached first. SIGTERM, SIGINT and \
        SIGHUP unmount; further signals of these change nothing.
        """,
        """
        Apps and other mounts can have the realm open at the same time: each sees the other's commits, and writers \
        take turns. A program that has the realm for itself, or shares it in a way that realmfs does not know, makes \
        mount refuse and name it; --immutable mounts all the same, read-only.
        """,
        """
        Programs that have a realm open together share the memory of FILE.lock, and the owner of the realm can write \
        anything into it, and so hold up a program of root's or show it false versions. So root reads a realm \
        that belongs to another user, or has a lock file of another user's, as with --immutable, and says so; with \
        --trust-owner root takes part and can save. The commands that change a realm need --trust-owner only while \
        another program has the realm open.
        """,
        """
        They coordinate through a lock file beside FILE. If FILE is a symbolic link, it is the one that programs use, \
        beside the link or beside what it leads to, and beside the link if none is in use, as with Realm's engine. A \
        file that is moved, replaced or removed while it is mounted is shown on, or what has taken its place is; saves \
        go to the file at FILE, or fail with ESTALE.
        """,
        """
        With --schema the realm is made if it does not exist, and gets the classes and properties that it lacks; \
        classes that the schema does not name stay. What would lose or convert data is refused, unless the schema \
        version grows and --migrate or --delete-if-migration-needed says what becomes of the data.
        """,
        """
        The command of --migrate finds the realm as it is in the directory $REALMFS_OLD and as it will be, with the \
        new schema, in $REALMFS_NEW, where it can change everything. It is run if the schema version grows. When it \
        ends with 0, the new realm takes the place of the old in one step; otherwise nothing is changed. No other \
        program can have the realm open meanwhile.
        """,
        """
        With --sync the realm of a sync server is mounted: it is downloaded to a mirror, follows the changes of \
        others, and a save is sent to the server and returns when it has come back. Without the server the tree can be \
        read, and a save fails with ENETDOWN; a save that the server has not answered in time fails with ETIMEDOUT, \
        and is sent again if it had been sent. What the server refuses fails with EPERM. The file .realm/sync.json \
        tells how things stand.
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
      arguments: [ArgumentSpec("MOUNTPOINT", "where a realm is mounted", completion: .directory)],
      summary: "end a mount",
      description: [
        "Only mounts of realmfs are touched. Without root, fusermount3 does the work.",
        "A mount that has files in memory only, such as refused texts, stays mounted: the files are named, and the "
          + "exit status is 9. Save or remove them, or use --discard.",
      ],
      examples: ["realmfs umount people"]
    ),
    CommandSpec(
      name: .tx,
      arguments: [
        ArgumentSpec("MOUNTPOINT", "where a realm is mounted, read-write", completion: .directory),
        ArgumentSpec("CMD", "the command and its arguments, best behind --", mayRepeat: true),
      ],
      summary: "run a command whose changes are made in one commit, or not at all",
      description: [
        """
        The command runs in a directory that shows the realm as it is now, like the mount point itself. Other users \
        do not see what it changes there. If it ends with 0, all of that is committed at once; otherwise nothing is \
        changed. Objects that it makes may link to each other in any order; only those of a class without primary \
        key have to be there before a link to them. $REALMFS_TX is the directory. A relative path to the program \
        itself is one from where you are.
        """,
        """
        The exit code is 0 only after the mount has confirmed that the commit is on disk. It is 11, with the reasons, \
        if a text was refused and not mended, if another program has changed an object that the command has changed, \
        too, if another program dropped the transaction, or if the mount ended before it confirmed the commit.
        """,
        """
        If the command fails, the exit code is that of the command, 128 and the signal if one ended it, 127 if it was \
        not found and 126 if it could not be run. Signals are passed on to the command.
        """,
        """
        The same by hand: mkdir MOUNTPOINT/.realm/tx/NAME, work in there, then touch .commit in it, or remove it.
        """,
      ],
      examples: [
        "realmfs tx people -- ./fix-everything.sh", "realmfs tx people -- sh -c 'rm Person/4.json Dog/Rex.json'",
      ]
    ),
    CommandSpec(
      name: .status,
      arguments: [],
      summary: "list the mounts of realms on this machine",
      description: [
        """
        A line for each mount: the realm file, the mount point, the process that serves it, \
        read-write, read-only or immutable, how long ago it last looked at the realm, and how many versions \
        .realm/snapshots holds. A mount that was idle for some seconds leaves the realm to other programs, and asking \
        does not end that.
        """,
        """
        Root also sees the mounts of other mount namespaces, such as those of containers and of 'unshare -m', with how to \
        enter them. A background mount in a namespace that all other processes have left is named with how to end it.
        """,
        """
        A mount that does not answer within two seconds, or that belongs to another user and lets no others in, is \
        listed with what the mount table says. The exit code is 0 without mounts, too.
        """,
      ],
      examples: ["realmfs status", "realmfs status --json"]
    ),
  ]
}
