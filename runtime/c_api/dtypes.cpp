// Version of the library, and names and sizes of element types.
#include <tern/c_api.h>
#include <tern/dtype.h>

static_assert(TERN_FLOAT4_E2M1FN == static_cast<int>(tern::DType::f4_e2m1));

using namespace tern;  // NOLINT: the functions below are C's

extern "C" {

uint32_t tern_version(void) {
  return TERN_VERSION;
}

const char* tern_dtype_name(int32_t dtype) {
  return name_of(dtype < 0 || dtype >= kTensorDTypeCount ? DType::invalid : static_cast<DType>(dtype)).data();
}

int32_t tern_dtype_from_name(const char* name) {
  return name == nullptr ? TERN_DTYPE_INVALID : static_cast<int32_t>(dtype_from_name(name));
}

size_t tern_dtype_size(int32_t dtype) {
  if (dtype < 0 || dtype >= kTensorDTypeCount) return 0;
  return static_cast<size_t>(element_size(static_cast<DType>(dtype)));
}

}  // extern "C"
