#include "tools/text_files/attach.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <tern/text.h>

#include <filesystem>
#include <fstream>

#include "exporter/attach_file.h"
#include "schema/attached_file.h"
#include "tools/text.h"

namespace tern {
namespace {

namespace fs = std::filesystem;

std::string read_text_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  if (!file || !fs::is_regular_file(path, error))
    fail(ErrorCode::io, fmt::format("cannot read {}", escape_name(path.string())));
  const std::uintmax_t size = fs::file_size(path, error);
  if (error || size > kMaxFileSize)
    fail(ErrorCode::invalid_argument, fmt::format("{} is too large: files of an archive have at most {} bytes",
                                                  escape_name(path.string()), kMaxFileSize));
  std::string text(static_cast<std::size_t>(size), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (static_cast<std::size_t>(file.gcount()) != text.size())
    fail(ErrorCode::io, fmt::format("cannot read all of {}", escape_name(path.string())));
  return text;
}

/// Files of a folder, by the name in the archive.
std::vector<std::pair<std::string, fs::path>> files_of_folder(const fs::path& folder) {
  std::vector<std::pair<std::string, fs::path>> files;
  const auto add = [&](const char* name, const char* in_folder) {
    std::error_code error;
    const bool exists = fs::is_regular_file(folder / in_folder, error);
    if (exists) files.emplace_back(name, folder / in_folder);
    return exists;
  };
  const bool has_tokenizer =
      add(TextFiles::tokenizer, "tokenizer.json") || add(TextFiles::sentencepiece, "tokenizer.model") ||
      add(TextFiles::sentencepiece, "spiece.model") || add(TextFiles::sentencepiece, "sentencepiece.bpe.model");
  if (!has_tokenizer)
    fail(ErrorCode::io, fmt::format("--tokenizer: {} has neither tokenizer.json nor tokenizer.model; in Python "
                                    "tokenizer.save_pretrained(folder) writes them",
                                    escape_name(folder.string())));
  for (const char* name : {TextFiles::configuration, TextFiles::chat_template, TextFiles::generation}) add(name, name);
  return files;
}

}  // namespace

std::vector<std::string> attach_tokenizer(Program& program, const std::string& path) {
  std::error_code error;
  std::vector<std::pair<std::string, fs::path>> files;
  if (fs::is_directory(path, error)) {
    files = files_of_folder(path);
  } else {
    files.emplace_back(path.ends_with(".json") ? TextFiles::tokenizer : TextFiles::sentencepiece, path);
  }
  std::string tokenizer, configuration, chat_template, names;
  for (const auto& [name, file] : files) {
    std::string text = read_text_file(file);
    const auto bytes = std::as_bytes(std::span(text));
    attach_file(program, name, {bytes.begin(), bytes.end()});
    names += (names.empty() ? "" : ", ") + name;
    if (name == TextFiles::tokenizer || name == TextFiles::sentencepiece)
      tokenizer = std::move(text);
    else if (name == TextFiles::configuration)
      configuration = std::move(text);
    else if (name == TextFiles::chat_template)
      chat_template = std::move(text);
  }
  std::vector<std::string> notes = check_text_files(tokenizer, configuration, chat_template);
  notes.insert(notes.begin(), "carries " + names);
  return notes;
}

}  // namespace tern
