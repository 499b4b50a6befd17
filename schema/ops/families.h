// Families of ops: one file each, with shape rules and records.
#pragma once

#include <span>

#include "schema/op_record.h"

namespace tern::ops {

#define TERN_FAMILIES(X) \
  X(movement)            \
  X(pointwise)           \
  X(quantized)           \
  X(reductions)          \
  X(normalizations)      \
  X(indexing)            \
  X(contractions)        \
  X(windows)             \
  X(sampling)            \
  X(linalg)              \
  X(spectral)            \
  X(training)            \
  X(control)

#define TERN_FAMILY(name) std::span<const OpRecord> name##_ops();
TERN_FAMILIES(TERN_FAMILY)
#undef TERN_FAMILY

}  // namespace tern::ops
