#include "devices/gpu/groups.h"

#include <algorithm>
#include <numeric>

namespace tern::gpu {

std::shared_ptr<const std::vector<std::size_t>> Groups::acquire(std::size_t count) {
  std::vector<std::size_t> all(users_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::lock_guard lock(mutex_);
  std::stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) { return users_[a] < users_[b]; });
  all.resize(std::min(count, all.size()));
  for (const std::size_t i : all) ++users_[i];
  return {new std::vector<std::size_t>(all), [this](const std::vector<std::size_t>* taken) {
            const std::lock_guard again(mutex_);
            for (const std::size_t i : *taken) --users_[i];
            delete taken;
          }};
}

}  // namespace tern::gpu
