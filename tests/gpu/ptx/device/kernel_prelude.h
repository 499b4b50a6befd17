/* All includes of a translated kernel. */
#include "tests/gpu/ptx/device/bit_fields.h"
#include "tests/gpu/ptx/device/convert.h"
#include "tests/gpu/ptx/device/memory.h"
