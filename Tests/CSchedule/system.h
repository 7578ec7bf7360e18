// The C library's own calls, behind those that take their place.
#pragma once

long system_call(long number, ...);
