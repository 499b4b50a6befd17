// Stacks for fibers, each behind a page without access. They are kept for the next block.
#pragma once

#include <cstddef>
#include <vector>

namespace tern::fibers {

inline constexpr std::size_t kStackBytes = 256 << 10;

// Some stacks, taken from those that are free.
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
