#include "runtime/devices/cpu/load_bytes.h"

#include <cstdint>
#include <cstring>

#include "platform/memory.h"

namespace tern {
namespace {

constexpr std::size_t kWorthAskingFor = 64 << 10;  // bytes of zeros

bool is_zero(std::span<const std::byte> bytes) {
  return bytes.front() == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

/// Returns false if the system refuses the pages, for example locked memory.
bool release_pages(std::byte* begin, std::byte* end) {
  return begin >= end || platform::clear_aligned(begin, static_cast<std::size_t>(end - begin));
}

}  // namespace

void load_bytes(std::byte* to, std::span<const std::byte> from) {
  if (from.empty()) return;
  const std::size_t page = platform::page_size();
  const auto at = reinterpret_cast<std::uintptr_t>(to);
  std::byte *const end = to + from.size(), *const first = to + (page - at % page) % page,
                   *const last = end - reinterpret_cast<std::uintptr_t>(end) % page;
  if (from.size() < kWorthAskingFor || !is_zero(from) || !release_pages(first, last)) {
    std::memcpy(to, from.data(), from.size());
    return;
  }
  std::memset(to, 0, static_cast<std::size_t>(first - to));
  std::memset(last, 0, static_cast<std::size_t>(end - last));
}

}  // namespace tern
