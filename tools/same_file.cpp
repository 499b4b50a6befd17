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

void refuse_to_replace(const char* option, const std::string& output, const std::vector<std::string>& input_files) {
  for (const std::string& path : input_files) {
    if (output.empty() || path.empty() || !is_same_file(output, path)) continue;
    fail(ErrorCode::invalid_argument,
         fmt::format("{} would replace {}, which the command reads; give it another name", option, escape_name(path)));
  }
}

void refuse_same_outputs(std::span<const OutputOption> outputs) {
  const auto is_file = [](const std::string& name) { return !name.empty() && name != "-"; };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const OutputOption &a = outputs[k], &b = outputs[i];
      if (!is_file(a.file) || !is_file(b.file) || !is_same_file(a.file, b.file)) continue;
      fail(ErrorCode::invalid_argument, fmt::format("{} and {} are the same file, {}; give them different names",
                                                    a.name, b.name, escape_name(b.file)));
    }
  }
}

}  // namespace tern
