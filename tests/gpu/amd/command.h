// Runs a command and captures its output.
#ifndef TERN_TESTS_GPU_AMD_COMMAND_H
#define TERN_TESTS_GPU_AMD_COMMAND_H

#include <filesystem>
#include <string>
#include <vector>

namespace tern::gpu::amd {

struct CommandResult {
  int status = 0;     // exit status, or -1 after a signal
  std::string error;  // standard error
};

// `arguments[0]` is the path of the program. `log` is a temporary file for the command's standard error.
CommandResult run_command(const std::vector<std::string>& arguments, const std::filesystem::path& log);

std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::string_view bytes);

// A folder deleted with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tern::gpu::amd

#endif
