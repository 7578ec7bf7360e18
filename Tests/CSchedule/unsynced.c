// The data that is written and not on disk, and the part of it that a power cut leaves. The content of a file at the
// end of a successful sync stays; each piece written later may be in any state since then. After a failed sync the next
// one tries again, except on a disk that lies: there the system considers unwritten data written.
#define _GNU_SOURCE
#include "table.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "system.h"
#include <sys/syscall.h>

enum { most_descriptors = 1024 };
/// The failed syncs that each descriptor of this process knows of.
static uint32_t known_failures[most_descriptors];
static ino_t known_file[most_descriptors];

static ino_t number_of(int fd) {
  struct stat status;
  if (system_call(SYS_fstat, fd, &status) != 0 || (status.st_mode & S_IFMT) != S_IFREG) return 0;
  return status.st_ino;
}

struct file *file_of(ino_t number) {
  for (int i = 0; i < most_files; i++) {
    if (table->files[i].file == number) return &table->files[i];
  }
  struct file *file = &table->files[table->next_file++ % most_files];
  *file = (struct file){.file = number, .written = table->now};
  return file;
}

/// Drops the entries for which `is_dropped` holds, and moves the bytes of the others together.
static void compact(ino_t file, bool keeps_doomed) {
  int kept = 0;
  uint32_t end = 0;
  for (int i = 0; i < table->writes; i++) {
    struct unsynced entry = table->unsynced[i];
    bool is_dropped = (file == 0 || entry.file == file) && !(keeps_doomed && entry.is_doomed);
    if (is_dropped) continue;
    memmove(table->log + end, table->log + entry.bytes, entry.size);
    entry.bytes = end;
    end += entry.size;
    table->unsynced[kept++] = entry;
  }
  table->writes = kept;
  table->log_end = end;
}

void sim_forget_writes(void) { compact(0, false); }

void note_write(int fd, off_t offset, ssize_t size) {
  ino_t number = number_of(fd);
  if (!number) return;
  struct stat status;
  system_call(SYS_fstat, fd, &status);
  file_of(number)->written = table->now;
  if (table->writes_to_cut > 0 && --table->writes_to_cut == 0) table->event = sim_power;
  if (size < 0) size = status.st_size - offset;
  if (size <= 0) return;
  // The system may write anything to disk at any time.
  if (table->writes == most_writes || table->log_end + (uint64_t)size > log_size) compact(0, false);
  if ((uint64_t)size > log_size) return;
  struct unsynced *entry = &table->unsynced[table->writes++];
  *entry = (struct unsynced){.file = number, .offset = offset, .size = (uint32_t)size, .bytes = table->log_end};
  memset(table->log + table->log_end, 0, (size_t)size);
  system_call(SYS_pread64, fd, table->log + table->log_end, (size_t)size, offset);
  table->log_end += (uint32_t)size;
}

bool has_missed_failure(int fd) {
  ino_t number = number_of(fd);
  if (!number || fd >= most_descriptors) return false;
  uint32_t failures = file_of(number)->failed_syncs;
  if (known_file[fd] != number) {
    // The first access: earlier failures were reported to others.
    known_file[fd] = number;
    known_failures[fd] = failures;
  }
  bool is_new = known_failures[fd] != failures;
  known_failures[fd] = failures;
  return is_new;
}

void note_sync(int fd) {
  ino_t number = number_of(fd);
  if (!number) return;
  // Writing a page again brings all of its bytes to disk.
  for (int i = 0; i < table->writes; i++) {
    struct unsynced *entry = &table->unsynced[i];
    if (entry->file != number || !entry->is_doomed) continue;
    bool is_covered = true;
    for (off_t page = entry->offset / 4096; page <= (entry->offset + entry->size - 1) / 4096 && is_covered; page++) {
      bool is_written = false;
      for (int j = i + 1; j < table->writes && !is_written; j++) {
        struct unsynced *later = &table->unsynced[j];
        is_written = later->file == number && !later->is_doomed && later->offset / 4096 <= page &&
                     (later->offset + later->size - 1) / 4096 >= page;
      }
      is_covered = is_written;
    }
    if (is_covered) entry->is_doomed = false;
  }
  compact(number, true);
}

void note_failed_sync(int fd) {
  ino_t number = number_of(fd);
  if (!number) return;
  for (int i = 0; i < table->writes && table->rates.lies; i++) {
    if (table->unsynced[i].file == number) table->unsynced[i].is_doomed = true;
  }
  file_of(number)->failed_syncs++;
  if (fd < most_descriptors) known_failures[fd] = file_of(number)->failed_syncs;
}

/// Returns the number of bytes that are written atomically at `offset`: sectors, and pages of encrypted files, not
/// their metadata.
static off_t unit(off_t offset, bool is_encrypted) {
  return is_encrypted && offset / 4096 % 65 != 0 ? 4096 : 512;
}

int sim_cut_power(const char *path, bool is_encrypted) {
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return 0;
  ino_t number = number_of(fd);
  int lost = 0;
  // 0: everything is lost; 1: each unit independently; 2: only the last writes are lost.
  int manner = (int)draw(3);
  uint64_t salt = draw(UINT64_MAX);
  int count = 0;
  for (int i = 0; i < table->writes; i++) count += table->unsynced[i].file == number;
  int cut = count ? (int)draw((uint64_t)count + 1) : 0;
  for (int i = table->writes - 1, index = count - 1; i >= 0; i--) {
    const struct unsynced *entry = &table->unsynced[i];
    if (entry->file != number) continue;
    off_t at = entry->offset, end = entry->offset + entry->size;
    while (at < end) {
      off_t size = unit(at, is_encrypted), piece = at / size;
      off_t next = (piece + 1) * size < end ? (piece + 1) * size : end;
      uint64_t hash = (salt ^ (uint64_t)piece * 0x9E3779B97F4A7C15 ^ (uint64_t)size) * 0xBF58476D1CE4E5B9;
      hash ^= hash >> 31;
      // The number of writes to this unit that are on disk.
      int kept = manner == 0 ? 0 : manner == 1 ? (int)(hash % ((uint64_t)count + 1)) : cut;
      if (manner == 1 && hash >> 40 & 1) kept = hash >> 41 & 1 ? count : 0;
      if (index >= kept) {
        system_call(SYS_pwrite64, fd, table->log + entry->bytes + (at - entry->offset), (size_t)(next - at), at);
        lost++;
      }
      at = next;
    }
    index--;
  }
  close(fd);
  table->counts.power_cuts++;
  compact(0, false);
  return lost;
}
