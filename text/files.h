// Files of tokenizers and chat templates: in folders, and attached to archives.
#pragma once

#include <tern/error.h>
#include <tern/tern.h>

#include <string>
#include <string_view>

namespace tern::text {

struct TokenizerPaths {
  std::string tokenizer;
  std::string configuration;  ///< tokenizer_config.json beside it, or empty
};

/// Files of a folder or a file. Throws io if there is none.
TokenizerPaths find_tokenizer(const std::string& path);
/// Contents of a file of at most 256 MiB.
std::string read_file(const std::string& path);
bool is_file(const std::string& path);

bool has_file(const Model& model, std::string_view name);
std::string_view file_or_empty(const Model& model, std::string_view name);

/// Calls `f`, and puts the path before messages of bad files.
template <class F>
auto add_path_to_errors(const std::string& path, F f) {
  try {
    return f();
  } catch (const Error& e) {
    if (e.code() == ErrorCode::io) throw;
    throw Error(e.code(), path + ": " + e.what());
  }
}

}  // namespace tern::text
