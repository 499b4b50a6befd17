// Vendors' compilers, each in a process of its own: a crash or a hang of one is an error that names it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "exporter/kernels/process.h"

namespace tern {

struct CompilerProgram {
  std::string name;       ///< name in messages: "clang-15", "hiprtc"
  std::string path;       ///< file of the program
  std::string remedy;     ///< advice in messages: "name another hiprtc by TERN_HIPRTC"
  bool explains = false;  ///< true if a failure's output is the whole message
};

/// A folder for the files of one compilation, removed with it.
class CompilerFolder {
 public:
  CompilerFolder();
  ~CompilerFolder();
  CompilerFolder(const CompilerFolder&) = delete;
  CompilerFolder& operator=(const CompilerFolder&) = delete;
  std::string file(const char* name) const { return path_ + "/" + name; }
  /// The text without the folder's path: messages name no file that is gone.
  std::string without_path(std::string text) const;

 private:
  std::string path_;
};

/// Runs it and returns what it prints. Fails (unsupported) where it ends badly or takes more than TERN_COMPILER_SECONDS
/// (300); `work` says in the error what it was doing: "compiling tern_pointwise". `folder` has the files that it reads.
std::string run_compiler(const CompilerProgram& compiler, const std::string& work,
                         const std::vector<std::string>& arguments, const CompilerFolder* folder = nullptr,
                         const EnvironmentVariables& variables = {});

/// Writes the text of a kernel. Fails (io).
void write_source(const std::string& path, const std::string& text);
/// The bytes of a file that a compiler wrote; none where it wrote none.
std::vector<std::byte> read_module(const std::string& path);

/// The module of a text, compiled when this process first asks for it. Thread-safe.
std::vector<std::byte> compile_once(const std::string& target, const std::string& text,
                                    const std::function<std::vector<std::byte>()>& compile);

}  // namespace tern
