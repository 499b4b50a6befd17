#include "exporter/kernels/msl.h"

namespace tern {

std::vector<std::byte> compile_msl(const std::string& /*name*/, const std::string& text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::string msl_compiler() {
  return "none: Metal's language is compiled by the device's system";
}

}  // namespace tern
