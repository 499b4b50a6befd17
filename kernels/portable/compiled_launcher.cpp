#include <tern/error.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "kernels/portable/compiled.h"
#include "threads/parallel.h"

namespace tern::portable {
namespace {

/// Launches longer than this (nanoseconds) are divided among threads.
constexpr double kCompiledLauncherLong = 20000;
constexpr std::size_t kMostArguments = 65;

class CompiledLauncher : public Launcher {
 public:
  const Target& target() const override { return kCompiledTarget; }

  KernelHandle kernel(const std::string& key, const std::string& name, const std::function<std::string()>&) override {
    const std::span<const CompiledText> texts = compiled_texts();
    const TextHash hash = hash_of(key);
    const auto at = std::ranges::lower_bound(texts, hash, {}, &CompiledText::key);
    if (at == texts.end() || at->key != hash) {
      fail(ErrorCode::unsupported, "no kernel '" + name.substr(name.find('_') + 1) +
                                       "' for these element types and attributes was compiled into this build: run "
                                       "without `reproducible`, or with a build that has LAPACK");
    }
    return static_cast<KernelHandle>(at - texts.begin());
  }

  void launch(KernelHandle kernel, std::span<const LaunchArgument> arguments, std::int64_t items,
              std::uint32_t) override {
    run_items(compiled_texts()[static_cast<std::size_t>(kernel)].run, arguments, items);
  }

  void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) override { std::memmove(to, from, bytes); }
  void upload(std::byte* to, const void* from, std::uint64_t bytes) override { std::memcpy(to, from, bytes); }
  void download(void* to, const std::byte* from, std::uint64_t bytes) override { std::memcpy(to, from, bytes); }

  std::unique_ptr<Memory> allocate(std::uint64_t bytes) override {
    struct Block : Memory {
      std::vector<std::uint64_t> words;
    };
    auto block = std::make_unique<Block>();
    block->words.resize((bytes + 7) / 8);
    block->data = reinterpret_cast<std::byte*>(block->words.data());
    return block;
  }

  std::byte* failure() override {
    thread_local std::int32_t number = 0;
    return reinterpret_cast<std::byte*>(&number);
  }
};

}  // namespace

TextHash hash_of(std::string_view key) {
  const XXH128_hash_t h = XXH3_128bits(key.data(), key.size());
  return {h.high64, h.low64};
}

// The first items predict the time of the others.
void run_items(CompiledFunction run, std::span<const LaunchArgument> arguments, std::int64_t items) {
  std::array<const void*, kMostArguments> list;
  for (std::size_t i = 0; i < arguments.size(); ++i) list.at(i) = arguments[i].data;
  const std::int64_t first = std::max<std::int64_t>(items / 64, 1);
  const auto start = std::chrono::steady_clock::now();
  run(list.data(), 0, first);
  const double took = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  const std::int64_t rest = items - first;
  const double expected = took * static_cast<double>(rest) / static_cast<double>(first);
  parallel_for(rest, expected > kCompiledLauncherLong ? 1 : rest,
               [&](std::int64_t begin, std::int64_t end) { run(list.data(), first + begin, first + end); });
}

Launcher& compiled_launcher() {
  static CompiledLauncher launcher;
  return launcher;
}

}  // namespace tern::portable
