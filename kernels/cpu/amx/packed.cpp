#include "kernels/cpu/amx/packed.h"

#include <cstring>
#include <new>
#include <span>

namespace tern::amx {
namespace {

std::shared_ptr<const float> pack(std::int64_t count, const std::function<void(float*)>& make) {
  std::shared_ptr<float> made(new (std::align_val_t{64}) float[static_cast<std::size_t>(count)],
                              [](float* p) { ::operator delete[](p, std::align_val_t{64}); });
  make(made.get());
  return made;
}

}  // namespace

std::shared_ptr<const float> packed_weight(const KernelCall& call, std::size_t input, const std::string& key,
                                           std::int64_t count, const std::function<void(float*)>& make) {
  if (call.weights == nullptr) return pack(count, make);
  const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
  const auto stored = call.weights->packed(input, key);
  if (stored.size() == bytes && reinterpret_cast<std::uintptr_t>(stored.data()) % 64 == 0)
    return {std::shared_ptr<const float>(), reinterpret_cast<const float*>(stored.data())};
  auto packed = std::static_pointer_cast<const float>(call.weights->share(input, key, [&] {
    call.weights->fetch(input);
    return pack(count, make);
  }));
  call.weights->offer(input, key, [packed, bytes] {
    std::vector<std::byte> copy(bytes);
    std::memcpy(copy.data(), packed.get(), bytes);
    return copy;
  });
  return packed;
}

}  // namespace tern::amx
