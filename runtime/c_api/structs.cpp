#include "runtime/c_api/structs.h"

#include <tern/error.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/c_api/errors.h"

namespace tern::c_api {

void read_struct(void* to, std::size_t size, const void* from) {
  if (from == nullptr) return;
  std::uint32_t given = 0;
  std::memcpy(&given, from, sizeof given);
  if (given < 2 * sizeof given)
    fail(ErrorCode::invalid_argument, "the options' `size` is not set: use their initializer, TERN_..._INIT");
  std::memcpy(to, from, std::min<std::size_t>(size, given));
}

void write_info(const tern_value_info& from, tern_value_info* to) {
  require_pointer(to, "`info`");
  const std::uint32_t size = to->size;
  if (size < 2 * sizeof size) fail(ErrorCode::invalid_argument, "the `size` of tern_value_info is not set");
  std::memcpy(to, &from, std::min<std::size_t>(size, sizeof from));
  to->size = size;
}

}  // namespace tern::c_api
