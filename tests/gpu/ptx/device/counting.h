// Counts the work of a launch while its blocks run: selects blocks to run and record, and computes figures of the whole
// launch.
#pragma once

#include <cstdint>

#include "tests/gpu/counts.h"
#include "tests/gpu/ptx/device/recorder.h"
#include "tests/gpu/ptx/device/sector_set.h"

namespace tern::emulated {

class Counting {
 public:
  Counting(tern_emulated_counts& counts, std::uint64_t blocks) : counts_(counts), blocks_(blocks) {}

  // True if a block must run. The first block always runs: its work decides about all others.
  bool must_run(std::uint64_t block) const { return !decided_ || runs_all_blocks_ || recorded(block); }
  void begin_block(std::uint64_t block) { recording_ = recorded(block); }
  void end_thread(const tern_thread& thread);
  void end_block();
  // Scales the recorded figures to the grid, and writes the counts.
  void finish();

  void access(const tern_thread& thread, int line, tern_access_kind kind, std::uint64_t address, std::uint32_t bytes);
  void shared_access(const tern_thread& thread, int line, tern_access_kind kind, std::uint64_t address,
                     std::uint32_t bytes);

 private:
  // Number of recorded blocks of a large grid, in the middle of equal parts of the grid, so that edges and beginning
  // have their natural weight.
  static constexpr std::uint64_t kRecorded = 8;
  bool recorded(std::uint64_t block) const;
  void record(const tern_thread& thread, const Site& site, std::uint64_t address, std::uint32_t bytes);

  tern_emulated_counts& counts_;
  const std::uint64_t blocks_;
  Recorder recorder_;
  SectorSet touched_[TERN_ACCESS_KINDS];
  double operations_ = 0, tensor_operations_ = 0, local_bytes_ = 0;  // of recorded blocks
  double block_work_ = 0;                                            // work of the running block
  std::uint64_t recorded_blocks_ = 0;
  std::uint32_t warp_ = 0;  // last recorded warp
  bool recording_ = false, decided_ = false, runs_all_blocks_ = false;
};

}  // namespace tern::emulated
