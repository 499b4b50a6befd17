// Launches that are counted (../counts.h), in the order in which they ran.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/gpu/machine/counters_api.h"
#include "tests/gpu/machine/work.h"

namespace tern::emulator {

class Memory;

// What launches have that this thread puts on streams.
void set_tag(uint64_t tag);
uint64_t current_tag();

class CountedLaunches {
 public:
  // Translations made from now on count, or do not where `most_work` is negative.
  void start(double most_work) {
    on_ = most_work >= 0;
    most_work_ = most_work;
  }
  bool on() const { return on_; }
  // Runs the kernel, or only blocks of it (tern_emulated_counts::most_work). One that has run before with the same
  // sizes is not counted again: its counts are taken over, also where they depend on data.
  void run(const Launch& launch, tern_emulated_launch call, bool in_graph, const Memory& memory);
  // Those since the last call, valid until the next.
  const std::vector<tern_emulator_launch>& take();

 private:
  struct Counted {
    Launch launch;
    tern_emulated_counts counts = {};
  };
  bool on_ = false;
  double most_work_ = 0;
  std::map<std::string, Counted> known_;  // by all that decides how a launch goes to memory
  std::vector<tern_emulator_launch> launches_, taken_;
};

}  // namespace tern::emulator
