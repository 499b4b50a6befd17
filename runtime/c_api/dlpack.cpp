// Converts tern_array from and to DLPack.
#include <tern/dlpack.h>

#include "runtime/c_api/arrays.h"
#include "runtime/c_api/errors.h"
#include "runtime/tensor_view.h"

using namespace tern;         // NOLINT: the functions below are C's
using namespace tern::c_api;  // NOLINT

extern "C" {

tern_status tern_array_from_dlpack(const struct DLManagedTensor* from, tern_array* array) {
  return guarded([&] { describe(view_of_dlpack(from), array); });
}

tern_status tern_array_to_dlpack(const tern_array* array, struct DLManagedTensor** result) {
  return guarded([&] {
    require_pointer(array, "`array`");
    require_pointer(result, "`result`");
    *result = to_dlpack(tensor_of(*array).clone());
  });
}

}  // extern "C"
