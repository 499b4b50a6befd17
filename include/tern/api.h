// TERN_API exports a name from the shared library; all other names are hidden.
#pragma once

#define TERN_API __attribute__((visibility("default")))
