// A sum by the threads of the pool.
#pragma once

#include <atomic>
#include <cstdint>

#include "threads/parallel.h"

namespace tern {

inline std::int64_t sum_below(std::int64_t n) {
  std::atomic<std::int64_t> sum = 0;
  parallel_for(n, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) sum += i;
  });
  return sum;
}

}  // namespace tern
