#include "runtime/weight_cache/folder.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "platform/environment.h"
#include "platform/path.h"

namespace tern {
namespace {

constexpr std::uint64_t kDefaultMegabytes = 8192;
constexpr std::string_view kDisabled = "off";

std::uint64_t limit_of_environment() {
  const std::string text = platform::trusted_variable("TERN_WEIGHT_CACHE_MB").value_or("");
  std::uint64_t megabytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), megabytes);
  const bool valid = !text.empty() && error == std::errc() && end == text.data() + text.size();
  return (valid ? std::min(megabytes, ~std::uint64_t{0} >> 20) : kDefaultMegabytes) << 20;
}

/// Returns "off", a path, or an empty string. An option's path may be relative: the program has chosen the path.
std::string cache_path(const std::string& choice) {
  if (!choice.empty()) return choice;
  const std::string given = platform::trusted_variable("TERN_WEIGHT_CACHE").value_or("");
  return given == kDisabled || platform::path_of(given).is_absolute() ? given : default_cache_path("weights");
}

}  // namespace

CacheFolder::CacheFolder(const std::string& choice)
    : UserFolder(cache_path(choice) == kDisabled ? std::string() : cache_path(choice)), limit_(limit_of_environment()) {
  if (path_.empty())
    problem_ = cache_path(choice) == kDisabled ? "it is off" : "this user has no home folder for the cache";
}

}  // namespace tern
