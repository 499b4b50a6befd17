#include "tests/gpu/compile_c.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

extern char** environ;

namespace tern::emulated {
namespace {

namespace fs = std::filesystem;

// Bits follow the written operations: no fusion, reordering or assumptions. The translator checks the code, so warnings
// are useless.
const char* const kFlags[] = {"-O1",
                              "-w",
                              "-fPIC",
                              "-shared",
                              "-ffp-contract=off",
                              "-fwrapv",
                              "-fno-strict-aliasing",
                              "-fno-math-errno",
                              "-fno-trapping-math"};

std::string hash_of(const std::string& text) {
  // FNV-1a of 64 bits, twice with different starts.
  std::string result;
  for (std::uint64_t hash : {0xcbf29ce484222325ull, 0x84222325cbf29ce4ull}) {
    for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3ull;
    char digits[20];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
    result += digits;
  }
  return result;
}

// A folder for this process, deleted at its end.
class PrivateFolder {
 public:
  PrivateFolder() {
    std::string name = (fs::temp_directory_path() / "tern-emulator-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder " + name + ": " + std::strerror(errno));
    path_ = name;
  }
  ~PrivateFolder() {
    std::error_code ignored;
    if (owner_ == getpid()) fs::remove_all(path_, ignored);  // not from a fork
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  pid_t owner_ = getpid();
};

fs::path cache_folder() {
  if (const char* named = std::getenv("TERN_EMULATOR_CACHE"); named && *named) {
    fs::create_directories(named);
    return named;
  }
  static const PrivateFolder folder;
  return folder.path();
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Runs a program with its output in a file; true on success.
bool run(const std::vector<std::string>& command, const fs::path& output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error) throw std::runtime_error(command[0] + " does not start: " + std::strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error(command[0] + ": " + std::strerror(errno));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

struct Compiler {
  const char *variable, *command, *standard, *suffix;
};
constexpr Compiler kCompilers[] = {
    // indexed by Language
    {"TERN_EMULATOR_CC", "gcc", "-std=gnu17", ".c"},
    {"TERN_EMULATOR_CXX", "g++", "-std=gnu++17", ".cpp"},
    {"TERN_EMULATOR_CXX", "g++", "-std=gnu++14", ".cpp"},
};

std::string time_of(const fs::path& file) {
  std::error_code error;
  return std::to_string(fs::last_write_time(file, error).time_since_epoch().count()) + '\n';
}

// A change of any dependency changes the cache name.
std::string stamp(const CompileOptions& options) {
  std::string text = options.library + '\n' + (options.library.empty() ? "" : time_of(options.library));
  for (const std::string& folder : options.includes) text += folder + '\n';
  for (const std::string& file : options.depends) text += file + '\n' + time_of(file);
  return text;
}

}  // namespace

std::string compile_c(const std::string& c, const CompileOptions& options) {
  static std::atomic<unsigned> number{0};
  const Compiler& compiler = kCompilers[static_cast<int>(options.language)];
  const char* named = std::getenv(compiler.variable);
  std::vector<std::string> command = {named && *named ? named : compiler.command, compiler.standard};
  command.insert(command.end(), std::begin(kFlags), std::end(kFlags));
  command.insert(command.end(), options.flags.begin(), options.flags.end());
#if defined(__x86_64__)
  // fma and conversions of half as instructions.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) command.push_back("-march=x86-64-v3");
#endif
  std::string all = c + '\n' + stamp(options);
  for (const std::string& argument : command) all += '\n' + argument;
  const std::string key = hash_of(all);
  const fs::path folder = cache_folder(), library = folder / (key + ".so");
  if (fs::exists(library)) return library.string();

  const std::string part = key + "." + std::to_string(getpid()) + "." + std::to_string(number++);
  const fs::path source = folder / (part + compiler.suffix), made = folder / (part + ".so"),
                 log = folder / (part + ".log");
  if (!(std::ofstream(source, std::ios::binary) << c)) throw std::runtime_error("cannot write " + source.string());
  for (const std::string& path : options.includes) command.push_back("-I" + path);
  command.insert(command.end(), {source.string(), "-o", made.string()});
  if (!options.library.empty())
    command.insert(command.end(), {options.library, "-Wl,-rpath," + fs::path(options.library).parent_path().string()});
  command.emplace_back("-lm");
  const bool succeeded = run(command, log);
  const std::string messages = succeeded ? "" : read(log).substr(0, 4000);
  std::error_code ignored;
  fs::remove(log, ignored);
  if (!succeeded) {
    throw std::runtime_error(command[0] + " does not compile " + source.string() + ", which is kept:\n" + messages);
  }
  fs::remove(source, ignored);
  fs::rename(made, library);  // others see the whole file or none
  return library.string();
}

}  // namespace tern::emulated
