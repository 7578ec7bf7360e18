// zlib: the compressed bodies of messages to and from a sync server, and the parts of spreadsheets.
#pragma once

#include <zlib.h>

// inflateInit and deflateInit are macros, which Swift does not see.
static inline int realmfs_inflate_begin(z_stream *stream) { return inflateInit(stream); }

// Begins a stream without header, as in a ZIP archive.
static inline int realmfs_inflate_raw_begin(z_stream *stream) { return inflateInit2(stream, -MAX_WBITS); }
