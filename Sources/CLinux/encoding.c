// See encoding.h.
#include "include/encoding.h"
#include <errno.h>
#include <iconv.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static int write_all(int fd, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t done = write(fd, bytes, count);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    bytes += done;
    count -= (size_t)done;
  }
  return 0;
}

/// Advances `place` past UTF-8 text.
static void advance(struct clinux_text_place *place, const char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (bytes[i] == '\n') {
      place->line++;
      place->column = 1;
    } else if ((bytes[i] & 0xC0) != 0x80) {
      place->column++;
    }
  }
}

static int convert(int from, int to, iconv_t converter, struct clinux_text_place *place) {
  char input[65536], output[65536];
  size_t kept = 0;
  for (;;) {
    ssize_t count = read(from, input + kept, sizeof input - kept);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    char *next = input;
    size_t left = kept + (size_t)count;
    // At the end of the input, flush the converter.
    for (;;) {
      char *end = output;
      size_t room = sizeof output;
      size_t result = count == 0 && left == 0 ? iconv(converter, NULL, NULL, &end, &room)
                                              : iconv(converter, &next, &left, &end, &room);
      int code = result == (size_t)-1 ? errno : 0;
      advance(place, output, (size_t)(end - output));
      int failure = write_all(to, output, (size_t)(end - output));
      if (failure != 0) return failure;
      if (code == 0) break;
      if (code == E2BIG) continue;
      // The character continues in the next chunk.
      if (code == EINVAL && count > 0) break;
      place->byte = (uint8_t)*next;
      return EILSEQ;
    }
    if (count == 0) return 0;
    memmove(input, next, left);
    kept = left;
  }
}

int clinux_convert_text(int from, int to, const char *encoding, struct clinux_text_place *place) {
  *place = (struct clinux_text_place){.line = 1, .column = 1};
  iconv_t converter = iconv_open("UTF-8", encoding);
  if (converter == (iconv_t)-1) return errno == EINVAL ? ENOTSUP : errno;
  int code = convert(from, to, converter, place);
  iconv_close(converter);
  return code;
}
