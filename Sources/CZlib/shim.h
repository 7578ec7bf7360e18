// zlib: the compressed bodies of messages to and from a sync server.
#pragma once

#include <zlib.h>

// inflateInit and deflateInit are macros, which Swift does not see.
static inline int realmfs_inflate_begin(z_stream *stream) { return inflateInit(stream); }
