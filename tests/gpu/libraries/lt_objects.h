// The descriptors of the stand-ins for cuBLASLt and hipBLASLt, and their attributes with sizes and meaning.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/gpu/libraries/lt_api.h"

namespace tern::stand_in {

struct Layout {
  std::uint32_t magic = kMagic;
  int type = 0;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0, batch_offset = 0;
  std::int32_t batch = 1;
  static constexpr std::uint32_t kMagic = 0x1a401;
};

struct Description {
  std::uint32_t magic = kMagic;
  int compute = 0, scale = 0;
  std::int32_t trans_a = gpu::names::kLtNormal, trans_b = gpu::names::kLtNormal;
  std::uint32_t epilogue = 1;  // CUBLASLT_EPILOGUE_DEFAULT, HIPBLASLT_EPILOGUE_DEFAULT
  std::uint64_t bias = 0;
  std::int32_t bias_type = -1;  // -1: D's type
  std::uint64_t scale_a = 0, scale_b = 0;
  std::int32_t scale_mode_a = 0, scale_mode_b = 0;
  static constexpr std::uint32_t kMagic = 0x1a402;
};

struct Preference {
  std::uint32_t magic = kMagic;
  std::uint64_t workspace = 0;   // "Default is 0 (no workspace memory allowed)."
  std::uint32_t reductions = 7;  // "CUBLASLT_REDUCTION_SCHEME_MASK": every scheme
  // "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES [...] uint32_t, default: 256 bytes"
  std::uint32_t alignments[4] = {256, 256, 256, 256};
  static constexpr std::uint32_t kMagic = 0x1a403;
};

/// The object behind a handle; a dead handle or another kind is misuse.
template <class T>
T& object(void* handle, const char* function);

/// "cublasLtMatmulDescSetAttribute: CUBLAS_STATUS_INVALID_VALUE if buf is NULL or sizeInBytes doesn't match the size of
/// the internal storage for the selected attribute."
void set(Layout& layout, int attribute, const void* value, std::size_t bytes);
void set(Description& description, int attribute, const void* value, std::size_t bytes);
void set(Preference& preference, int attribute, const void* value, std::size_t bytes);

}  // namespace tern::stand_in
