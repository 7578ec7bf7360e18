// libxlsxwriter, for exports into spreadsheets.
#pragma once

#include <xlsxwriter.h>
