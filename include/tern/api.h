// TERN_API marks what the shared library exports; everything else in it is hidden.
#pragma once

#define TERN_API __attribute__((visibility("default")))
