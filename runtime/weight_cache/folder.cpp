#include "runtime/weight_cache/folder.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace tern {
namespace {

constexpr std::uint64_t kDefaultMegabytes = 8192;
constexpr std::string_view kOff = "off";

std::uint64_t limit_of_environment() {
  const std::string text = user_variable("TERN_WEIGHT_CACHE_MB");
  std::uint64_t megabytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), megabytes);
  const bool valid = !text.empty() && error == std::errc() && end == text.data() + text.size();
  return (valid ? std::min(megabytes, ~std::uint64_t{0} >> 20) : kDefaultMegabytes) << 20;
}

/// Returns "off", a path, or an empty string. An option's path may be relative: the program has chosen the path.
std::string path_of(const std::string& choice) {
  if (!choice.empty()) return choice;
  const std::string given = user_variable("TERN_WEIGHT_CACHE");
  return given == kOff || given.starts_with('/') ? given : default_cache_path("weights");
}

}  // namespace

CacheFolder::CacheFolder(const std::string& choice)
    : UserFolder(path_of(choice) == kOff ? std::string() : path_of(choice)), limit_(limit_of_environment()) {
  if (path_.empty()) problem_ = path_of(choice) == kOff ? "it is off" : "this user has no home folder for the cache";
}

}  // namespace tern
