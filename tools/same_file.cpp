#include "tools/same_file.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <filesystem>
#include <system_error>

#include "tools/text.h"

namespace tern {

namespace fs = std::filesystem;

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::exists(a, error) && !fs::is_regular_file(a, error)) return false;
  if (fs::equivalent(a, b, error)) return true;
  return fs::weakly_canonical(a, error) == fs::weakly_canonical(b, error);
}

void refuse_to_replace(const char* option, const std::string& output, const std::vector<std::string>& read) {
  for (const std::string& path : read) {
    if (output.empty() || path.empty() || !is_same_file(output, path)) continue;
    fail(ErrorCode::invalid_argument,
         fmt::format("{} would replace {}, which the command reads; give it another name", option, escape_name(path)));
  }
}

}  // namespace tern
