#include "text/files.h"

#include <fmt/format.h>
#include <tern/text.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "platform/path.h"

namespace tern::text {
namespace {

constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{256} << 20;
namespace fs = std::filesystem;

}  // namespace

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(platform::path_of(path), error);
}

std::string read_file(const std::string& path) {
  std::ifstream file(platform::path_of(path), std::ios::binary);
  if (!file || !is_file(path))
    fail(ErrorCode::io, fmt::format("cannot read {}: {}", path, file ? "not a file" : std::strerror(errno)));
  std::error_code error;
  const std::uintmax_t size = fs::file_size(platform::path_of(path), error);
  if (error) fail(ErrorCode::io, fmt::format("cannot read {}: {}", path, error.message()));
  if (size > kMaxFileBytes)
    fail(ErrorCode::bad_file, fmt::format("{} has {} bytes; files of text have at most {}", path, size, kMaxFileBytes));
  std::string bytes(size, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

TokenizerPaths find_tokenizer(const std::string& path) {
  std::error_code error;
  TokenizerPaths paths;
  fs::path folder = platform::path_of(path);
  if (fs::is_directory(folder, error)) {
    for (const char* name :
         {TextFiles::tokenizer, TextFiles::sentencepiece, "spiece.model", "sentencepiece.bpe.model"}) {
      const std::string file = platform::text_of(folder / name);
      if (paths.tokenizer.empty() && is_file(file)) paths.tokenizer = file;
    }
    if (paths.tokenizer.empty())
      fail(ErrorCode::io, fmt::format("{} has neither tokenizer.json nor tokenizer.model: save the tokenizer there, in "
                                      "Python by tokenizer.save_pretrained(folder)",
                                      path));
  } else {
    paths.tokenizer = path;
    folder = folder.parent_path();
  }
  const std::string configuration = platform::text_of(folder / TextFiles::configuration);
  if (is_file(configuration)) paths.configuration = configuration;
  return paths;
}

bool has_file(const Model& model, std::string_view name) {
  return std::ranges::find(model.files(), name, &FileInfo::name) != model.files().end();
}

std::string_view file_or_empty(const Model& model, std::string_view name) {
  return has_file(model, name) ? model.file(name) : std::string_view();
}

}  // namespace tern::text
