// Assignment of multiprocessor groups to parts of a device.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace tern::gpu {

/// Counts the users of each group, so that parts share groups only if necessary.
class Groups {
 public:
  explicit Groups(std::size_t count) : users_(count, 0) {}
  /// Takes the `count` groups with the fewest users, for the lifetime of the result.
  std::shared_ptr<const std::vector<std::size_t>> acquire(std::size_t count);

 private:
  std::mutex mutex_;
  std::vector<unsigned> users_;
};

}  // namespace tern::gpu
