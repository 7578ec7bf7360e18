// Converts text from encodings other than UTF-8 with the C library's iconv(3), which Swift's Glibc module hides.
#pragma once
#include <stdint.h>

/// The location of an invalid byte: the line and the character in it, from 1, and the byte.
struct clinux_text_place {
  int64_t line;
  int64_t column;
  uint8_t byte;
};

/// Converts the rest of `from` from `encoding` to UTF-8 and writes it to `to`, in constant memory. Returns 0 or an
/// errno: ENOTSUP for an unknown encoding, EILSEQ with `place` set for bytes that are invalid in the encoding.
int clinux_convert_text(int from, int to, const char *encoding, struct clinux_text_place *place);
