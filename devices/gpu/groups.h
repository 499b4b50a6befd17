// Which groups of a device's multiprocessors the parts have.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace tern::gpu {

/// Counts the parts that have each of a device's groups, so that parts share groups only where they must.
class Groups {
 public:
  explicit Groups(std::size_t count) : users_(count, 0) {}
  /// The groups with the fewest users, `count` of them, for as long as the result lives.
  std::shared_ptr<const std::vector<std::size_t>> take(std::size_t count);

 private:
  std::mutex mutex_;
  std::vector<unsigned> users_;
};

}  // namespace tern::gpu
