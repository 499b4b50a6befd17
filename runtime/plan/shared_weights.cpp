#include "runtime/plan/shared_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tern {

std::shared_ptr<const void> SharedWeights::share(const TensorView& weight, const std::string& key,
                                                 const std::function<std::shared_ptr<const void>()>& pack) {
  const auto rank = static_cast<std::size_t>(weight.rank);
  std::pair name{static_cast<const std::byte*>(weight.data),
                 fmt::format("{}; {} {} {}", key, static_cast<int>(weight.dtype), fmt::join(weight.shape(), ","),
                             fmt::join(std::span(weight.strides).first(rank), ","))};
  const std::lock_guard lock(mutex_);
  std::erase_if(packed_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<const void>& entry = packed_[std::move(name)];
  std::shared_ptr<const void> shared = entry.lock();
  if (shared == nullptr) entry = shared = pack();
  return shared;
}

}  // namespace tern
