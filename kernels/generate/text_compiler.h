// Runs portable kernels in the host's memory like a device: the system's C++ compiler compiles their texts at run time.
// For tests and benchmarks; the library contains texts compiled in advance.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernels/generate/text_namespace.h"
#include "kernels/portable/compiled.h"

namespace tern::generate {

/// Kernels run on the threads of the run; all other functions are called from a single thread.
class TextCompiler : public portable::Launcher {
 public:
  struct Options {
    portable::Target target;
    std::string flags = "-O1";  ///< options of the compiler, $CXX or c++
    /// Folder caching compiled texts; empty: no cache.
    std::string folder;
  };
  explicit TextCompiler(Options options);

  /// While on, texts are only recorded, and a launch fails with ErrorCode::unsupported.
  void collect(bool on) { collecting_ = on; }
  /// Compiles all recorded texts, many in a run of the compiler, and several runs at a time.
  void compile();
  /// Fails if a kernel has reported a failure since the last call, like waiting for a device.
  void finish();
  /// Texts compiled by this process, and all requested texts.
  std::size_t compiled() const { return compiled_; }
  std::size_t asked_for() const { return kernels_.size(); }

  const portable::Target& target() const override { return options_.target; }
  portable::KernelHandle kernel(const std::string& key, const std::string& name,
                                const std::function<std::string()>& text) override;
  void launch(portable::KernelHandle kernel, std::span<const portable::LaunchArgument> arguments, std::int64_t items,
              std::uint32_t group) override;
  void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) override;
  void upload(std::byte* to, const void* from, std::uint64_t bytes) override;
  void download(void* to, const std::byte* from, std::uint64_t bytes) override;
  std::unique_ptr<portable::Memory> allocate(std::uint64_t bytes) override;
  std::byte* failure() override { return reinterpret_cast<std::byte*>(&failure_); }

 private:
  struct Kernel {
    portable::TextHash content;
    portable::CompiledFunction run = nullptr;  ///< null: noted
  };
  struct Noted {
    Text text;
    portable::TextHash content;
  };
  void load(const std::string& path);

  Options options_;
  bool collecting_ = false;
  std::map<std::string, portable::KernelHandle> handles_;  ///< by key
  std::vector<Kernel> kernels_;
  std::map<portable::TextHash, Noted> noted_;
  std::map<portable::TextHash, portable::CompiledFunction> functions_;
  std::size_t compiled_ = 0;
  std::int32_t failure_ = 0;
};

/// cpu_kernels(), but ops with a portable kernel run it through `launcher`, in the host's memory: the definitions. A
/// process has a single such launcher, set by the first call.
const KernelTable& definition_kernels(portable::Launcher& launcher);

}  // namespace tern::generate
