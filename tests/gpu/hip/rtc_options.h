// The options of hiprtcCompileProgram.
#ifndef TERN_TESTS_GPU_HIP_RTC_OPTIONS_H
#define TERN_TESTS_GPU_HIP_RTC_OPTIONS_H

#include <string>
#include <vector>

namespace tern::gpu::hip {

struct RtcOptions {
  std::string architecture;
  std::vector<std::string> clang;
  std::string refused;  // reason; empty if all options are accepted
};

RtcOptions read_options(const std::vector<std::string>& options);

}  // namespace tern::gpu::hip

#endif
