#include "tests/gpu/hip/rtc_options.h"

#include <string_view>

#include "tests/gpu/hip/settings.h"

namespace tern::gpu::hip {
namespace {

// hiprtc forwards options to its compiler, which turns a string into a code object: no option may choose another kind
// of input or output, or another side of the compilation. HIP documentation, "Programming for HIP runtime compiler":
// "the compilation options ... are the same as those of the compiler".
constexpr std::string_view kRefused[] = {"-o",
                                         "-c",
                                         "-S",
                                         "-E",
                                         "-x",
                                         "-M",
                                         "-###",
                                         "-emit-llvm",
                                         "-fsyntax-only",
                                         "--cuda-host-only",
                                         "--cuda-compile-host-device",
                                         "-target",
                                         "--target",
                                         "-mcpu",
                                         "-fplugin",
                                         "-load",
                                         "-Xclang",
                                         "-mllvm"};
constexpr std::string_view kArchitecture[] = {"--offload-arch=", "--gpu-architecture="};

bool refused(std::string_view option) {
  for (const std::string_view prefix : kRefused) {
    // -o and -offload differ; -MD and -M do not.
    if (option == prefix || (prefix == "-M" && option.starts_with(prefix)) ||
        option.starts_with(std::string(prefix) + '='))
      return true;
  }
  return !option.starts_with('-');
}

}  // namespace

RtcOptions read_options(const std::vector<std::string>& options) {
  RtcOptions result;
  // "If no architecture is given, hiprtc compiles for that of the current device."
  result.architecture = architecture();
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string& option = options[i];
    bool names_architecture = false;
    for (const std::string_view prefix : kArchitecture) {
      if (!option.starts_with(prefix)) continue;
      result.architecture = option.substr(prefix.size());
      names_architecture = true;
    }
    if (names_architecture) continue;
    // An option with a separate value argument.
    if ((option == "-I" || option == "-D" || option == "-U" || option == "-include") && i + 1 < options.size()) {
      result.clang.push_back(option);
      result.clang.push_back(options[++i]);
      continue;
    }
    if (refused(option)) {
      result.refused = "error: hiprtc does not take the option '" + option + "'\n";
      return result;
    }
    result.clang.push_back(option);
  }
  // gfx942:sramecc+:xnack-, the form of hipDeviceProp_t::gcnArchName: the features do not change the results of
  // kernels.
  result.architecture = result.architecture.substr(0, result.architecture.find(':'));
  return result;
}

}  // namespace tern::gpu::hip
