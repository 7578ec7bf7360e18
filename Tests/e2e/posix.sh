#!/usr/bin/env bash
# Results of system calls on a writable mount: as in POSIX and Linux, and EPERM for what a tree of objects does not have.
# Object files, scratch files and class directories.
source "$(dirname "$0")/lib.sh"

file=$(copy_fixture people)
point=$(new_directory mnt)
serve "$file" "$point" -o create_classes || exit
cat >"$scratch/posix.py" <<'PYTHON'
import ctypes, errno, fcntl, mmap, os, stat, sys, time
root = sys.argv[1]
os.chdir(root + "/Person")
libc = ctypes.CDLL(None, use_errno=True)

def outcome(call):
  try:
    value = call()
    return "ok" if value is None or isinstance(value, int) else value
  except OSError as error:
    return errno.errorcode[error.errno]

def test(what, expected, call):
  found = outcome(call)
  if found in (expected if isinstance(expected, tuple) else (expected,)): print(f"ok - {what}: {expected}")
  else: print(f"not ok - {what}: expected {expected!r}, found {found!r}")

def opened(path, flags, then=lambda fd: None, mode=0o644):
  def call():
    fd = os.open(path, flags, mode)
    try: return then(fd)
    finally: os.close(fd)
  return call

def renameat2(a, b, flags):
  if libc.renameat2(-100, a.encode(), -100, b.encode(), flags) != 0:
    code = ctypes.get_errno()
    raise OSError(code, os.strerror(code))

long, longest = "x" * 256, "x" * 255

# open
test("open what is not there", "ENOENT", opened("999.json", os.O_RDONLY))
test("open below what is not there", "ENOENT", opened("none/1.json", os.O_RDONLY))
test("open below a file", "ENOTDIR", opened("4.json/1.json", os.O_RDONLY))
test("open a name of 256 bytes", "ENAMETOOLONG", opened(long, os.O_RDONLY))
test("make a name of 256 bytes", "ENAMETOOLONG", opened(long, os.O_WRONLY | os.O_CREAT))
test("make a name of 255 bytes", "ok", opened(longest, os.O_WRONLY | os.O_CREAT))
test("O_EXCL of an object", "EEXIST", opened("4.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
test("O_EXCL of a scratch file", "EEXIST", opened(longest, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
test("O_CREAT of an object opens it", "ok", opened("4.json", os.O_RDWR | os.O_CREAT))
test("open a directory for writing", "EISDIR", opened(".", os.O_WRONLY))
test("O_CREAT of a directory", "EISDIR", opened("../Dog", os.O_RDWR | os.O_CREAT))
test("O_DIRECTORY of a file", "ENOTDIR", opened("4.json", os.O_RDONLY | os.O_DIRECTORY))
test("O_TMPFILE", ("EOPNOTSUPP", "ENOTSUP"), opened(".", os.O_TMPFILE | os.O_RDWR))
test("a file in the root", "EPERM", opened(root + "/file", os.O_WRONLY | os.O_CREAT))
test("write through a handle for reading", "EBADF", opened("4.json", os.O_RDONLY, lambda fd: os.write(fd, b"x")))
test("read through a handle for writing", "EBADF", opened("4.json", os.O_WRONLY, lambda fd: os.read(fd, 1)))
test("read beyond the end", b"", opened("4.json", os.O_RDONLY, lambda fd: os.pread(fd, 10, 1 << 30)))

# scratch files behave like ordinary files
def scratch_file():
  with open("notes.tmp", "w+b") as file:
    file.write(b"hello")
    file.flush()
    os.ftruncate(file.fileno(), 8)
    os.pwrite(file.fileno(), b"end", 10)
    file.seek(0)
    return file.read()
test("holes read as zeros", b"hello\0\0\0\0\0end", scratch_file)
test("O_APPEND writes at the end", b"hello\0\0\0\0\0end+", lambda: (
  opened("notes.tmp", os.O_WRONLY | os.O_APPEND, lambda fd: os.write(fd, b"+"))(), open("notes.tmp", "rb").read())[1])
test("its size", "14", lambda: str(os.stat("notes.tmp").st_size))
test("truncate makes it shorter", b"hel", lambda: (os.truncate("notes.tmp", 3), open("notes.tmp", "rb").read())[1])
test("truncate what is not there", "ENOENT", lambda: os.truncate("999.json", 0))
test("truncate a directory", "EISDIR", lambda: os.truncate("../Dog", 0))
test("truncate to a negative size", "EINVAL", lambda: os.truncate("notes.tmp", -1))
test("ftruncate of a handle for reading", ("EINVAL", "EBADF"),
  opened("notes.tmp", os.O_RDONLY, lambda fd: os.ftruncate(fd, 0)))
test("fallocate", "ok", opened("notes.tmp", os.O_RDWR, lambda fd: os.posix_fallocate(fd, 0, 100)))
test("copy_file_range", b"hel", lambda: (
  opened("notes.tmp", os.O_RDONLY, lambda a: opened("copy.tmp", os.O_RDWR | os.O_CREAT,
    lambda b: os.copy_file_range(a, b, 3))())(), open("copy.tmp", "rb").read())[1])
test("mmap for reading", b"{", opened("4.json", os.O_RDONLY,
  lambda fd: mmap.mmap(fd, 0, mmap.MAP_PRIVATE, mmap.PROT_READ)[:1]))
test("flock", "ok", opened("4.json", os.O_RDONLY, lambda fd: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)))
test("record locks", "ok", opened("notes.tmp", os.O_RDWR, lambda fd: fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)))
test("fsync of a directory", "ok", opened(".", os.O_RDONLY, os.fsync))

# file handles, as NFS servers use them, outlive the kernel's caches
class Handle(ctypes.Structure):
  _fields_ = [("count", ctypes.c_uint), ("kind", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]
def handle_of(path):
  handle, mount = Handle(128), ctypes.c_int()
  if libc.name_to_handle_at(-100, path.encode(), ctypes.byref(handle), ctypes.byref(mount), 0):
    raise OSError(ctypes.get_errno(), path)
  return handle
def by_handle(path, then, between=lambda: None):
  def call():
    handle = handle_of(path)
    between()
    with open("/proc/sys/vm/drop_caches", "w") as caches: caches.write("2")
    place = os.open(".", os.O_RDONLY)
    try:
      fd = libc.open_by_handle_at(place, ctypes.byref(handle), os.O_RDONLY)
      if fd < 0: raise OSError(ctypes.get_errno(), path)
    finally: os.close(place)
    try: return then(fd)
    finally: os.close(fd)
  return call
if os.access("/proc/sys/vm/drop_caches", os.W_OK):
  test("a handle of an object", b"{", by_handle("18.json", lambda fd: os.read(fd, 1)))
  test("a handle of a class", repr(sorted(os.listdir("../Dog"))), by_handle("../Dog", lambda fd: repr(sorted(os.listdir(fd)))))
  test("a handle of an object that was deleted", "ESTALE",
    by_handle("39.json", lambda fd: None, lambda: os.unlink("39.json")))

# unlink
test("unlink what is not there", "ENOENT", lambda: os.unlink("999.json"))
test("unlink a directory", "EISDIR", lambda: os.unlink("../Dog"))
test("unlink below a file", "ENOTDIR", lambda: os.unlink("4.json/x"))
test("unlink a long name", "ENAMETOOLONG", lambda: os.unlink(long))
def unlinked():
  fd = os.open("gone.tmp", os.O_RDWR | os.O_CREAT)
  os.write(fd, b"still here")
  os.unlink("gone.tmp")
  try: return (os.fstat(fd).st_nlink, os.pread(fd, 100, 0), os.path.exists("gone.tmp"))
  finally: os.close(fd)
test("a file that is open outlives its name", repr((0, b"still here", False)), lambda: repr(unlinked()))

# directories
test("mkdir of a class that is there", "EEXIST", lambda: os.mkdir("../Dog"))
test("mkdir in a class", "EPERM", lambda: os.mkdir("folder"))
test("mkdir of a file's name", "EEXIST", lambda: os.mkdir("4.json"))
test("mkdir below a file", "ENOTDIR", lambda: os.mkdir("4.json/folder"))
test("mkdir below what is not there", "ENOENT", lambda: os.mkdir("../None/folder"))
test("mkdir with a long name", "ENAMETOOLONG", lambda: os.mkdir("../" + long))
test("mkdir with a name longer than a class may have", "ENAMETOOLONG", lambda: os.mkdir("../" + "C" * 58))
test("mkdir", "ok", lambda: os.mkdir("../Fresh"))
test("rmdir of a file", "ENOTDIR", lambda: os.rmdir("4.json"))
test("rmdir of what is not there", "ENOENT", lambda: os.rmdir("../None"))
test("rmdir of a class with objects", "ENOTEMPTY", lambda: os.rmdir("../Dog"))
test("rmdir of .", "EINVAL", lambda: os.rmdir("../Fresh/."))
test("rmdir of ..", "ENOTEMPTY", lambda: os.rmdir("../Fresh/.."))
test("rmdir of the mount point", "EBUSY", lambda: os.rmdir(root))
test("rmdir", "ok", lambda: os.rmdir("../Fresh"))
test("a directory holds . and ..", "['.', '..']", lambda: repr(sorted(
  n for n in os.popen("ls -a").read().split() if n in (".", ".."))))
test("d_ino is st_ino", "True", lambda: repr(all(e.inode() == os.stat(e.name).st_ino for e in os.scandir("."))))

# rename
test("rename what is not there", "ENOENT", lambda: os.rename("999.json", "x.tmp"))
test("rename to a long name", "ENAMETOOLONG", lambda: os.rename("notes.tmp", long))
test("rename a file onto a directory", "EISDIR", lambda: os.rename("notes.tmp", "../Dog"))
test("rename a directory onto a file", "ENOTDIR", lambda: os.rename("../Dog", "notes.tmp"))
test("rename below a file", "ENOTDIR", lambda: os.rename("notes.tmp", "4.json/x"))
test("rename a file onto itself", "ok", lambda: os.rename("4.json", "4.json"))
test("rename a scratch file", "ok", lambda: os.rename("notes.tmp", "other.tmp"))
test("the old name is gone", "ENOENT", lambda: os.stat("notes.tmp"))
test("rename an object to another's name would change its key", "EPERM", lambda: os.rename("4.json", "5.json"))
test("rename an object into another class", ("EPERM", "EXDEV"), lambda: os.rename("4.json", "../Dog/4.json"))
test("rename to another file system", "EXDEV", lambda: os.rename("other.tmp", "/dev/shm/other.tmp"))
test("RENAME_NOREPLACE onto a file", "EEXIST", lambda: renameat2("other.tmp", "4.json", 1))
test("RENAME_NOREPLACE onto nothing", "ok", lambda: renameat2("other.tmp", "third.tmp", 1))
test("RENAME_WHITEOUT", "EINVAL", lambda: renameat2("third.tmp", "x.tmp", 4))

# operations that a tree of objects does not have
test("a hard link", "EPERM", lambda: os.link("4.json", "link.tmp"))
test("a symbolic link", "EPERM", lambda: os.symlink("4.json", "symlink.tmp"))
test("a pipe", "EPERM", lambda: os.mkfifo("pipe.tmp"))
test("a device", "EPERM", lambda: os.mknod("device.tmp", stat.S_IFCHR | 0o600, os.makedev(1, 3)))
test("readlink of a file", "EINVAL", lambda: os.readlink("4.json"))

# attributes
status = os.stat("4.json")
test("chmod to the same mode", "ok", lambda: os.chmod("4.json", stat.S_IMODE(status.st_mode)))
test("chmod to another mode", "ok", lambda: os.chmod("4.json", 0o777))
test("chown to another owner", "EPERM", lambda: os.chown("4.json", 12345, -1))
test("chown to the same owner", "ok", lambda: os.chown("4.json", status.st_uid, status.st_gid))
test("chown to nobody in particular", "ok", lambda: os.chown("4.json", -1, -1))
test("chown to another owner", "EPERM", lambda: os.chown("4.json", 12345, -1))
test("chmod of what is not there", "ENOENT", lambda: os.chmod("999.json", 0o600))
test("utimensat", "1000000000123456789", lambda: (
  os.utime("4.json", ns=(5, 1000000000123456789)), str(os.stat("4.json").st_mtime_ns))[1])
test("utimensat of now", "True", lambda: (os.utime("4.json"), repr(abs(os.stat("4.json").st_mtime - time.time()) < 60))[1])
test("utimensat of what is not there", "ENOENT", lambda: os.utime("999.json"))
test("setxattr", ("EPERM", "ENOTSUP"), lambda: os.setxattr("4.json", "user.mine", b"x"))
test("removexattr", ("EPERM", "ENOTSUP", "ENODATA"), lambda: os.removexattr("4.json", "user.mine"))
test("getxattr of what is not there", "ENODATA", lambda: os.getxattr("4.json", "user.mine"))
test("access", "True", lambda: repr(os.access("4.json", os.R_OK | os.W_OK)))
test("statvfs: names of 255 bytes", "255", lambda: str(os.statvfs(".").f_namemax))
test("a file has one link", "1", lambda: str(os.stat("4.json").st_nlink))
PYTHON
python3 "$scratch/posix.py" "$point"
check "umount" "$realmfs" umount "$point"
check "the file is sound" "$realmfs" check "$file"
