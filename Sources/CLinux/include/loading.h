// Libraries that are loaded when they are needed. For each function of a library, LOADED_LIBRARY defines one of the
// same name that forwards the call, so that callers need not know how the library was loaded.
#pragma once
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

// SONAME, which the file that uses this defines, is the name of the library, a string literal.
// FUNCTIONS(FORWARD) lists the functions as FORWARD(RESULT, NAME, (PARAMETERS), ARGUMENTS...). OTHERS(FIND) lists those
// for which no function is defined, because they have variable arguments, as FIND(NAME); they are called as
// library.NAME. LOAD is the name of a function that loads the library once, and returns NULL, or the reason why it
// cannot be loaded.
#define LOADED_LIBRARY(LOAD, FUNCTIONS, OTHERS)                                                                        \
  static struct {                                                                                                      \
    FUNCTIONS(CLINUX_DECLARE_FORWARDED)                                                                                \
    OTHERS(CLINUX_DECLARE)                                                                                             \
  } library;                                                                                                           \
  static const char *library_failure;                                                                                  \
  static void load_library(void) {                                                                                     \
    void *handle = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);                                                              \
    if (handle == NULL) {                                                                                              \
      /* The text of dlerror(3) lasts until the next call. */                                                          \
      library_failure = strdup(dlerror());                                                                             \
      return;                                                                                                          \
    }                                                                                                                  \
    FUNCTIONS(CLINUX_FIND_FORWARDED)                                                                                   \
    OTHERS(CLINUX_FIND)                                                                                                \
  }                                                                                                                    \
  const char *LOAD(void) {                                                                                             \
    static pthread_once_t once = PTHREAD_ONCE_INIT;                                                                    \
    pthread_once(&once, load_library);                                                                                 \
    return library_failure;                                                                                            \
  }                                                                                                                    \
  FUNCTIONS(CLINUX_FORWARD)

#define CLINUX_DECLARE(NAME) __typeof__(NAME) *NAME;
#define CLINUX_DECLARE_FORWARDED(RESULT, NAME, PARAMETERS, ...) CLINUX_DECLARE(NAME)
#define CLINUX_FIND(NAME)                                                                                              \
  library.NAME = (__typeof__(NAME) *)dlsym(handle, #NAME);                                                             \
  if (library.NAME == NULL) library_failure = SONAME " has no function " #NAME;
#define CLINUX_FIND_FORWARDED(RESULT, NAME, PARAMETERS, ...) CLINUX_FIND(NAME)
#define CLINUX_FORWARD(RESULT, NAME, PARAMETERS, ...)                                                                  \
  RESULT NAME PARAMETERS { return library.NAME(__VA_ARGS__); }
