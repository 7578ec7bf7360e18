// Text in other encodings than UTF-8, by the C library's iconv(3), which Swift's Glibc module hides.
#pragma once
#include <stdint.h>

/// The place of a byte that is not text: the line and the character in it, from 1, and the byte.
struct clinux_text_place {
  int64_t line;
  int64_t column;
  uint8_t byte;
};

/// Converts the rest of `from` from `encoding` to UTF-8, written to `to`, in constant memory. 0, or an errno: ENOTSUP
/// for an encoding that the system does not know, EILSEQ with the place for bytes that are not text in it.
int clinux_convert_text(int from, int to, const char *encoding, struct clinux_text_place *place);
