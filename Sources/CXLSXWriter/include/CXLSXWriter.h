// libxlsxwriter, for exports into spreadsheets. The library is loaded when it is first needed, so that other commands
// start without it and the C++ library.
#pragma once

#include <xlsxwriter.h>

// Loads libxlsxwriter, once. Returns NULL, or the reason why it cannot be loaded. No function of the library may be
// called before this has returned NULL. Safe to call from any thread.
const char *cxlsxwriter_load(void);
