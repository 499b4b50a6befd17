// The emulated CUDA driver's own functions, of this process.
#pragma once

#include <cstdint>
#include <span>

#include "tests/gpu/machine/counters_api.h"

namespace tern::gpu_model {

class Emulator {
 public:
  // Finds the emulated driver like the plugin: libcuda.so.1 by LD_LIBRARY_PATH. Throws tern::Error for any other
  // driver.
  Emulator();

  // Turns counting on; see tern_emulated_counts::most_work.
  void count(double most_work) const { count_(most_work); }
  // Tags later launches of this thread.
  void tag(std::uint64_t tag) const { tag_(tag); }
  tern_emulator_figures figures() const {
    tern_emulator_figures figures{};
    figures_(&figures);
    return figures;
  }
  // Launches since the last call.
  std::span<const tern_emulator_launch> take() const {
    std::uint64_t count = 0;
    const tern_emulator_launch* launches = take_(&count);
    return {launches, count};
  }

 private:
  decltype(&tern_emulator_count) count_;
  decltype(&tern_emulator_tag) tag_;
  decltype(&tern_emulator_take) take_;
  decltype(&tern_emulator_counters) figures_;
};

}  // namespace tern::gpu_model
