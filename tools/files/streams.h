// Reads and writes tensors through standard input and output, devices and pipes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tern {

/// Reads standard input to the end. Throws Error (io).
std::vector<std::byte> read_all_input();

/// A new file in the folder for temporary files, removed by the destructor.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& prefix);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Writes the file's bytes to the device or pipe, or to standard output for "-". Throws Error (io).
void copy_to_stream(const std::string& file, const std::string& stream);

}  // namespace tern
