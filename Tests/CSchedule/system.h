// The C library's own calls, for the replacements.
#pragma once

long system_call(long number, ...);
