// Marks functions that other programs find in a library by name.
#pragma once

#if defined(_WIN32)
#define TERN_PLATFORM_EXPORT __declspec(dllexport)
#else
#define TERN_PLATFORM_EXPORT __attribute__((visibility("default")))
#endif
