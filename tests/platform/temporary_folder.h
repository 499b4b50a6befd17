// A temporary folder for a test.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "platform/folder.h"
#include "platform/path.h"

namespace tern::platform {

class TestFolder {
 public:
  TestFolder() : path_(make_temporary_folder("tern-platform-")) {}
  ~TestFolder() { std::filesystem::remove_all(path_of(path_)); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string read_text(const std::string& path) {
  std::ifstream in(path_of(path), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path_of(path), std::ios::binary) << text;
}

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace tern::platform
