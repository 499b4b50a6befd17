// Vendors' compilers, each in its own process: a crash or hang becomes an error naming the compiler.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "platform/process.h"

namespace tern {

struct CompilerProgram {
  std::string name;       ///< name in messages: "clang-15", "hiprtc"
  std::string path;       ///< file of the program
  std::string remedy;     ///< advice in messages: "set the library of another hiprtc in TERN_HIPRTC"
  bool explains = false;  ///< true if a failure's output is the whole message
};

/// Folder for the files of one compilation, removed by the destructor.
class CompilerFolder {
 public:
  CompilerFolder();
  ~CompilerFolder();
  CompilerFolder(const CompilerFolder&) = delete;
  CompilerFolder& operator=(const CompilerFolder&) = delete;
  std::string file(const char* name) const { return path_ + "/" + name; }
  /// Removes the folder's path from the text: messages name no deleted file.
  std::string remove_path(std::string text) const;

 private:
  std::string path_;
};

/// Runs the compiler and returns its output. Fails (unsupported) after a failed exit or more than TERN_COMPILER_SECONDS
/// (300); `task` names the task in the error: "compiling tern_pointwise". `folder` has the input files.
std::string run_compiler(const CompilerProgram& compiler, const std::string& task,
                         const std::vector<std::string>& arguments, const CompilerFolder* folder = nullptr,
                         const platform::EnvironmentVariables& variables = {});

/// Writes the text of a kernel. Fails (io).
void write_source(const std::string& path, const std::string& text);
/// Bytes of a compiler's output file; empty if the file is missing.
std::vector<std::byte> read_module(const std::string& path);

/// Module of a source, compiled at the process's first request. Thread-safe.
std::vector<std::byte> compile_once(const std::string& target, const std::string& text,
                                    const std::function<std::vector<std::byte>()>& compile);

}  // namespace tern
