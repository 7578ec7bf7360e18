// The functions of libxlsxwriter that this program calls, each of which forwards the call to the loaded library.

#include "CXLSXWriter.h"

#include <loading.h>

// FORWARD(RESULT, NAME, (PARAMETERS), ARGUMENTS...)
#define FUNCTIONS(FORWARD)                                                                                             \
  FORWARD(void, format_set_bold, (lxw_format * a), a)                                                                  \
  FORWARD(void, format_set_num_format, (lxw_format * a, const char *b), a, b)                                          \
  FORWARD(char *, lxw_strerror, (lxw_error a), a)                                                                      \
  FORWARD(void, lxw_workbook_free, (lxw_workbook * a), a)                                                              \
  FORWARD(lxw_format *, workbook_add_format, (lxw_workbook * a), a)                                                    \
  FORWARD(lxw_worksheet *, workbook_add_worksheet, (lxw_workbook * a, const char *b), a, b)                            \
  FORWARD(lxw_error, workbook_close, (lxw_workbook * a), a)                                                            \
  FORWARD(lxw_workbook *, workbook_new_opt, (const char *a, lxw_workbook_options *b), a, b)                            \
  FORWARD(lxw_error, worksheet_autofilter, (lxw_worksheet * a, lxw_row_t b, lxw_col_t c, lxw_row_t d, lxw_col_t e), a, \
          b, c, d, e)                                                                                                  \
  FORWARD(void, worksheet_freeze_panes, (lxw_worksheet * a, lxw_row_t b, lxw_col_t c), a, b, c)                        \
  FORWARD(lxw_error, worksheet_set_column, (lxw_worksheet * a, lxw_col_t b, lxw_col_t c, double d, lxw_format *e), a,  \
          b, c, d, e)                                                                                                  \
  FORWARD(lxw_error, worksheet_write_boolean, (lxw_worksheet * a, lxw_row_t b, lxw_col_t c, int d, lxw_format *e), a,  \
          b, c, d, e)                                                                                                  \
  FORWARD(lxw_error, worksheet_write_number, (lxw_worksheet * a, lxw_row_t b, lxw_col_t c, double d, lxw_format *e),   \
          a, b, c, d, e)                                                                                               \
  FORWARD(lxw_error, worksheet_write_string,                                                                           \
          (lxw_worksheet * a, lxw_row_t b, lxw_col_t c, const char *d, lxw_format *e), a, b, c, d, e)

// The one whose header this was compiled with: its structures differ between versions.
#define SONAME "libxlsxwriter.so." LXW_SOVERSION
#define OTHERS(FIND)
LOADED_LIBRARY(cxlsxwriter_load, FUNCTIONS, OTHERS)
