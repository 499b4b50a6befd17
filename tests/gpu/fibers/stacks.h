// Stacks for fibers, each behind a page without access. Later blocks reuse the stacks.
#pragma once

#include <cstddef>
#include <vector>

namespace tern::fibers {

inline constexpr std::size_t kStackBytes = 256 << 10;

// Stacks taken from the free list.
class Stacks {
 public:
  explicit Stacks(std::size_t count);
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  // The lowest address of kStackBytes.
  char* operator[](std::size_t i) const { return stacks_[i]; }

 private:
  std::vector<char*> stacks_;
};

}  // namespace tern::fibers
