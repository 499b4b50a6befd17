#include "kernels/cpu/amx/packed.h"

#include <map>
#include <mutex>
#include <new>
#include <span>

namespace tern::amx {
namespace {

/// By the address of the weight and the layout. The lock is held while packing, so that plans made at once share too.
struct Cache {
  std::mutex mutex;
  std::map<std::pair<const void*, std::string>, std::weak_ptr<const float>> entries;
};

Cache& cache() {
  static Cache c;
  return c;
}

}  // namespace

std::shared_ptr<const float> packed_weight(const KernelCall& call, std::size_t input, const std::string& key,
                                           std::int64_t count, const std::function<void(float*)>& make) {
  const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
  if (call.weights != nullptr) {
    const auto stored = call.weights->packed(input, key);
    if (stored.size() == bytes && reinterpret_cast<std::uintptr_t>(stored.data()) % 64 == 0)
      return {std::shared_ptr<const float>(), reinterpret_cast<const float*>(stored.data())};
  }
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  std::erase_if(c.entries, [](const auto& e) { return e.second.expired(); });
  std::weak_ptr<const float>& entry = c.entries[{call.in[input].data, key}];
  std::shared_ptr<const float> packed = entry.lock();
  if (packed == nullptr) {
    if (call.weights != nullptr) call.weights->fetch(input);
    std::shared_ptr<float> made(new (std::align_val_t{64}) float[static_cast<std::size_t>(count)],
                                [](float* p) { ::operator delete[](p, std::align_val_t{64}); });
    make(made.get());
    packed = made;
    entry = packed;
  }
  if (call.weights != nullptr)
    call.weights->offer(input, key, std::as_bytes(std::span(packed.get(), static_cast<std::size_t>(count))));
  return packed;
}

}  // namespace tern::amx
