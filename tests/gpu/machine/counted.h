// Counted launches (../counts.h), in execution order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/gpu/machine/counters_api.h"
#include "tests/gpu/machine/work.h"

namespace tern::emulator {

class Memory;

// Tag of later launches of this thread.
void set_tag(uint64_t tag);
uint64_t current_tag();

class CountedLaunches {
 public:
  // Starts or, for a negative `most_work`, stops counting in later translations.
  void start(double most_work) {
    is_enabled_ = most_work >= 0;
    most_work_ = most_work;
  }
  bool is_enabled() const { return is_enabled_; }
  // Runs the kernel, or only some blocks (tern_emulated_counts::most_work). A repeated launch with equal sizes is not
  // counted again: its counts are reused, even data-dependent counts.
  void run(const Launch& launch, tern_emulated_launch call, bool in_graph, const Memory& memory);
  // Launches since the last call, valid until the next call.
  const std::vector<tern_emulator_launch>& take_launches();

 private:
  struct Counted {
    Launch launch;
    tern_emulated_counts counts = {};
  };
  bool is_enabled_ = false;
  double most_work_ = 0;
  std::map<std::string, Counted> cached_counts_;  // keyed by everything that determines a launch's memory accesses
  std::vector<tern_emulator_launch> launches_, taken_launches_;
};

}  // namespace tern::emulator
