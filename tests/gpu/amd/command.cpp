#include "tests/gpu/amd/command.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/gpu/amd/error.h"

extern char** environ;

namespace tern::gpu::amd {
namespace fs = std::filesystem;

CommandResult run_command(const std::vector<std::string>& arguments, const fs::path& log) {
  std::vector<char*> raw;
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int failure = posix_spawn(&child, raw[0], &actions, nullptr, raw.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw Error(arguments[0] + " does not start: " + std::strerror(failure));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw Error(arguments[0] + ": waiting failed: " + std::strerror(errno));
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(log)};
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(path.string() + " cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw Error(path.string() + " cannot be written");
}

TemporaryFolder::TemporaryFolder() {
  std::string name = fs::temp_directory_path() / "tern-emulated-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw Error(name + " cannot be made: " + std::strerror(errno));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace tern::gpu::amd
