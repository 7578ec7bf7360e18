// The files of Sources/RealmWeb/Resources, embedded into the program.
#pragma once

#include <stddef.h>

struct cwebresources_file {
  const char *name;
  const unsigned char *bytes;
  size_t count;
};

// Returns the file at `index`; NULL beyond the last one.
const struct cwebresources_file *cwebresources_file(size_t index);
