// A hostile user with write access to a lock file: `lock_file_rubbish FILE FIRST COUNT SEED` writes random bytes and
// words into COUNT bytes from FIRST on, and sometimes the original content, until it is killed.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char **words_of_command;

// The file was created again: continue with the new one.
static void again(int number) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  usleep(1000);
  execv("/proc/self/exe", words_of_command);
  _exit(number);
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  int file = open(argv[1], O_RDWR);
  struct stat status;
  words_of_command = argv;
  signal(SIGBUS, again);
  if (file < 0 || fstat(file, &status) != 0) return perror(argv[1]), 1;
  if (status.st_size < 64) again(1);
  size_t first = strtoul(argv[2], NULL, 0), count = strtoul(argv[3], NULL, 0);
  unsigned seed = (unsigned)strtoul(argv[4], NULL, 0);
  if (count == 0) count = (size_t)status.st_size - first;
  uint8_t *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  uint8_t *was = malloc(count);
  if (bytes == MAP_FAILED || !was) return perror("mmap"), 1;
  memcpy(was, bytes + first, count);
  const uint64_t words[] = {0, 1, 16, 0x90, 0x7fffffff, 0x80000000, 0x40000000, 0xffffffff, UINT64_MAX, INT64_MAX};
  while (1) {
    size_t at = first + (size_t)rand_r(&seed) % count;
    switch (rand_r(&seed) % 6) {
      case 0:
        memcpy(bytes + first, was, count);
        usleep(100);
        break;
      case 1: bytes[at] = (uint8_t)rand_r(&seed); break;
      case 2: bytes[at] ^= (uint8_t)(1 << rand_r(&seed) % 8); break;
      default:
        at &= ~(size_t)7;
        if (at >= first && at + 8 <= first + count) {
          memcpy(bytes + at, &words[(size_t)rand_r(&seed) % (sizeof words / sizeof *words)], 8);
        }
    }
  }
}
