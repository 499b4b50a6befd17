#include "kernels/cpu/products/packed_weight.h"

#include <cstring>
#include <new>
#include <span>
#include <vector>

namespace tern::tiles {
namespace {

std::shared_ptr<const std::byte> pack(std::int64_t bytes, const MakePacked& make) {
  std::shared_ptr<std::byte> made(new (std::align_val_t{64}) std::byte[static_cast<std::size_t>(bytes)],
                                  [](std::byte* p) { ::operator delete[](p, std::align_val_t{64}); });
  make(made.get());
  return made;
}

/// The stored weight, or null.
const std::byte* find(const KernelCall& call, std::size_t input, const std::string& key, std::int64_t bytes) {
  const auto stored = call.weights->packed(input, key);
  const bool fits =
      stored.size() == static_cast<std::size_t>(bytes) && reinterpret_cast<std::uintptr_t>(stored.data()) % 64 == 0;
  return fits ? stored.data() : nullptr;
}

}  // namespace

std::shared_ptr<const std::byte> packed_weight(const KernelCall& call, std::size_t input, const std::string& key,
                                               std::int64_t bytes, const MakePacked& make) {
  if (call.weights == nullptr) return pack(bytes, make);
  if (const std::byte* stored = find(call, input, key, bytes)) return {std::shared_ptr<const std::byte>(), stored};
  auto packed = std::static_pointer_cast<const std::byte>(call.weights->share(input, key, [&] {
    call.weights->fetch(input);
    return pack(bytes, make);
  }));
  call.weights->offer(input, key,
                      [packed, bytes] { return std::vector<std::byte>(packed.get(), packed.get() + bytes); });
  return packed;
}

const std::byte* stored_weight(const KernelCall& call, std::size_t input, const std::string& key, std::int64_t bytes,
                               const MakePacked& make) {
  if (call.weights == nullptr || call.constant == nullptr || !call.constant[input] || call.in[input].data == nullptr)
    return nullptr;
  if (const std::byte* stored = find(call, input, key, bytes)) return stored;
  call.weights->offer(input, key, [make, bytes] {
    std::vector<std::byte> made(static_cast<std::size_t>(bytes) + 64);
    // Tiles are written in whole lines of the cache.
    const std::size_t skip = (64 - reinterpret_cast<std::uintptr_t>(made.data()) % 64) % 64;
    make(made.data() + skip);
    std::memmove(made.data(), made.data() + skip, static_cast<std::size_t>(bytes));
    made.resize(static_cast<std::size_t>(bytes));
    return made;
  });
  return nullptr;
}

}  // namespace tern::tiles
