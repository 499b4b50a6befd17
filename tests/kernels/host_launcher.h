// Runs the portable kernels in the memory of the test, so that a node is tested on them as on the CPU's own: their text
// is compiled by the system's C++ compiler.
#pragma once

#include <dlfcn.h>
#include <tern/error.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "kernels/portable/failure.h"
#include "kernels/portable/launches.h"

namespace tern::test {

class HostLauncher : public portable::Launcher {
 public:
  static HostLauncher& instance() {
    static HostLauncher launcher;
    return launcher;
  }

  const portable::Target& target() const override { return target_; }

  portable::KernelHandle kernel(const std::string& key, const std::string& name,
                                const std::function<std::string()>& text) override {
    if (const auto found = kernels_.find(key); found != kernels_.end()) return found->second;
    std::string folder = (std::filesystem::temp_directory_path() / "tern_kernel_XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) fail(ErrorCode::io, "no folder for kernels");
    const std::string at = folder + "/kernel";
    std::ofstream(at + ".cpp") << text();
    const char* compiler = std::getenv("CXX");
    const std::string command = std::string(compiler != nullptr && *compiler != 0 ? compiler : "c++") +
                                " -std=c++17 -O1 -w -shared -fPIC -ffp-contract=off " + at + ".cpp -o " + at + ".so";
    const int status = std::system(command.c_str());
    void* library = status == 0 ? dlopen((at + ".so").c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    std::filesystem::remove_all(folder);
    if (library == nullptr) fail(ErrorCode::runtime, "the text of " + name + " does not compile");
    functions_.push_back(reinterpret_cast<Function>(dlsym(library, name.c_str())));
    return kernels_[key] = static_cast<portable::KernelHandle>(functions_.size() - 1);
  }

  void launch(portable::KernelHandle kernel, std::span<const portable::Argument> arguments, std::int64_t items,
              std::uint32_t) override {
    std::vector<const void*> list;
    for (const portable::Argument& a : arguments) list.push_back(a.data);
    functions_[static_cast<std::size_t>(kernel)](list.data(), 0, items);
  }
  void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) override { std::memmove(to, from, bytes); }
  void upload(std::byte* to, const void* from, std::uint64_t bytes) override { std::memcpy(to, from, bytes); }
  void download(void* to, const std::byte* from, std::uint64_t bytes) override { std::memcpy(to, from, bytes); }
  std::unique_ptr<portable::Memory> allocate(std::uint64_t bytes) override {
    struct Block : portable::Memory {
      std::vector<std::byte> bytes;
    };
    auto block = std::make_unique<Block>();
    block->bytes.resize(bytes);
    block->data = block->bytes.data();
    return block;
  }
  std::byte* failure() override { return reinterpret_cast<std::byte*>(&failure_); }

  /// Fails where a kernel has written a failure, as waiting for a device does.
  void finish() {
    const int number = std::exchange(failure_, 0);
    if (number != 0) fail(ErrorCode::runtime, std::string(portable::failure_message(number)));
  }

 private:
  using Function = void (*)(const void* const* arguments, long begin, long end);
  portable::Target target_;
  std::map<std::string, portable::KernelHandle> kernels_;
  std::vector<Function> functions_;
  std::int32_t failure_ = 0;
};

}  // namespace tern::test
