#include "runtime/memory.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <cstdlib>

namespace tern {

void Buffer::Free::operator()(std::byte* p) const {
  std::free(p);
}

void Buffer::reserve(std::uint64_t bytes) {
  if (bytes <= size_) return;
  data_.reset();
  size_ = 0;
  const std::uint64_t rounded = (bytes + 63) / 64 * 64;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(64, rounded)));
  if (data_ == nullptr) fail(ErrorCode::out_of_memory, fmt::format("{} bytes could not be allocated", bytes));
  size_ = rounded;
}

}  // namespace tern
