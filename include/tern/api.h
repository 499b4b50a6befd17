// TERN_API exports a name from the shared library; all other names are hidden. Tern's own build defines TERN_EXPORTS.
#pragma once

#if !defined(_WIN32)
#define TERN_API __attribute__((visibility("default")))
#elif defined(TERN_EXPORTS)
#define TERN_API __declspec(dllexport)
#else
#define TERN_API
#endif
