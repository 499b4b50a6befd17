/* The version of these headers; tern_version() of tern/c_api.h returns the library's version. Plain C99, only macros.
 *
 * Before version 1.0 a minor version may change the interface; the soname then changes, too (libtern.so.0.1). The build
 * reads the version of the library and of its packages from here.
 */
#ifndef TERN_VERSION_H
#define TERN_VERSION_H

#define TERN_VERSION_MAJOR 0
#define TERN_VERSION_MINOR 1
#define TERN_VERSION_PATCH 0
/* The version as a number, to compare: `#if TERN_VERSION >= 200` is 0.2.0 or later. */
#define TERN_VERSION (TERN_VERSION_MAJOR * 10000 + TERN_VERSION_MINOR * 100 + TERN_VERSION_PATCH)
/* The version as text: "0.1.0". */
#define TERN_VERSION_STRING TERN_VERSION_JOIN_(TERN_VERSION_MAJOR, TERN_VERSION_MINOR, TERN_VERSION_PATCH)
#define TERN_VERSION_JOIN_(major, minor, patch) TERN_VERSION_QUOTE_(major, minor, patch)
#define TERN_VERSION_QUOTE_(major, minor, patch) #major "." #minor "." #patch

#endif
