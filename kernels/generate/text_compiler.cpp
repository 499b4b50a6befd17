#include "kernels/generate/text_compiler.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "kernels/portable/failure.h"
#include "platform/environment.h"
#include "platform/folder.h"
#include "platform/library.h"

namespace tern::generate {
namespace {

namespace fs = std::filesystem;

/// Texts per run of the compiler: many texts share the fixed time of a run, few texts fill all processors.
constexpr std::size_t kBatch = 16;
/// Symbol exported by a compiled file: its texts, ended by an entry without a function.
constexpr const char* kTable = "tern_compiled_texts";

portable::TextHash hash_of_file(const std::string& flags, const std::vector<portable::TextHash>& texts) {
  std::string all = flags;
  for (const portable::TextHash& h : texts) all += fmt::format(" {:016x}{:016x}", h[0], h[1]);
  return portable::hash_of(all);
}

/// A source of these texts and their table.
std::string source_of(const std::vector<std::pair<portable::TextHash, Text>>& batch) {
  std::string source = kBeforeTexts, table;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto& [hash, text] = batch[i];
    source += wrap_in_namespace(text, i);
    table += fmt::format("  {{{{0x{:016x}u, 0x{:016x}u}}, text_{}::{}}},\n", hash[0], hash[1], i, text.name);
  }
  return source +
         fmt::format(
             "struct tern_compiled_text {{ unsigned long long key[2]; void (*run)(const void* const*, long long, long "
             "long); }};\n"
             "extern \"C\" __attribute__((visibility(\"default\"))) const tern_compiled_text {}[] = {{\n{}  {{}}}};\n",
             kTable, table);
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Compiles PATH.cpp to PATH.so. Returns the compiler's output on failure.
std::string compile_file(const std::string& path, const std::string& flags) {
  const std::string compiler = platform::trusted_variable("CXX").value_or("");
  const std::string command =
      fmt::format("{0} -std=c++17 -w -shared -fPIC -ffp-contract=off -fno-math-errno {1} {2}.cpp -o {2}.tmp 2> {2}.log",
                  compiler.empty() ? "c++" : compiler, flags, path);
  if (std::system(command.c_str()) != 0) return command + "\n" + read_text(path + ".log").substr(0, 4000);
  fs::rename(path + ".tmp", path + ".so");
  fs::remove(path + ".log");
  fs::remove(path + ".cpp");
  return {};
}

}  // namespace

TextCompiler::TextCompiler(Options options) : options_(std::move(options)) {
  if (options_.folder.empty()) return;
  fs::create_directories(options_.folder);
  for (const auto& entry : fs::directory_iterator(options_.folder)) {
    if (entry.path().extension() == ".so") load(entry.path().string());
  }
}

void TextCompiler::load(const std::string& path) {
  void* library = platform::open_library(path);
  const auto* text =
      library == nullptr ? nullptr : static_cast<const portable::CompiledText*>(platform::find_symbol(library, kTable));
  if (text == nullptr) fail(ErrorCode::io, path + " has no compiled texts: remove it");
  for (; text->run != nullptr; ++text) functions_[text->key] = text->run;
}

portable::KernelHandle TextCompiler::kernel(const std::string& key, const std::string& name,
                                            const std::function<std::string()>& text) {
  auto [found, is_new] = handles_.try_emplace(key, static_cast<portable::KernelHandle>(kernels_.size()));
  if (is_new) {
    Text made{name, text()};
    const portable::TextHash content = portable::hash_of(options_.flags + "\n" + made.text);
    const auto known = functions_.find(content);
    kernels_.push_back({content, known == functions_.end() ? nullptr : known->second});
    if (known == functions_.end()) noted_[content] = {std::move(made), content};
  }
  if (!collecting_ && kernels_[static_cast<std::size_t>(found->second)].run == nullptr) compile();
  return found->second;
}

void TextCompiler::compile() {
  if (noted_.empty()) return;
  std::string folder = options_.folder;
  if (folder.empty()) {
    folder = platform::make_temporary_folder("tern_kernel_");
    if (folder.empty()) fail(ErrorCode::io, "no folder for kernels");
  }
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t size = std::clamp<std::size_t>((noted_.size() + threads - 1) / threads, 1, kBatch);
  std::vector<std::string> paths;
  std::vector<std::pair<portable::TextHash, Text>> batch;
  const auto write = [&] {
    std::vector<portable::TextHash> hashes;
    hashes.reserve(batch.size());
    for (const auto& [hash, text] : batch) hashes.push_back(hash);
    const portable::TextHash name = hash_of_file(options_.flags, hashes);
    paths.push_back(fmt::format("{}/{:016x}{:016x}", folder, name[0], name[1]));
    std::ofstream(paths.back() + ".cpp") << source_of(batch);
    batch.clear();
  };
  for (auto& [hash, noted] : noted_) {
    batch.emplace_back(hash, std::move(noted.text));
    if (batch.size() == size) write();
  }
  if (!batch.empty()) write();
  compiled_ += noted_.size();
  noted_.clear();

  std::vector<std::string> errors(paths.size());
  {
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> workers;
    for (std::size_t t = 0; t < std::min(threads, paths.size()); ++t) {
      workers.emplace_back([&] {
        for (std::size_t i = next++; i < paths.size(); i = next++) errors[i] = compile_file(paths[i], options_.flags);
      });
    }
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!errors[i].empty()) fail(ErrorCode::runtime, "the texts of kernels do not compile: " + errors[i]);
    load(paths[i] + ".so");
  }
  if (options_.folder.empty()) fs::remove_all(folder);
  for (Kernel& k : kernels_) {
    if (k.run == nullptr) k.run = functions_.at(k.content);
  }
}

void TextCompiler::finish() {
  const int number = std::exchange(failure_, 0);
  if (number != 0) fail(ErrorCode::runtime, portable::failure_message(number));
}

void TextCompiler::launch(portable::KernelHandle kernel, std::span<const portable::LaunchArgument> arguments,
                          std::int64_t items, std::uint32_t) {
  if (collecting_) fail(ErrorCode::unsupported, "texts are being collected");
  portable::run_items(kernels_[static_cast<std::size_t>(kernel)].run, arguments, items);
}

void TextCompiler::copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  std::memmove(to, from, bytes);
}
void TextCompiler::upload(std::byte* to, const void* from, std::uint64_t bytes) {
  std::memcpy(to, from, bytes);
}
void TextCompiler::download(void* to, const std::byte* from, std::uint64_t bytes) {
  std::memcpy(to, from, bytes);
}

std::unique_ptr<portable::Memory> TextCompiler::allocate(std::uint64_t bytes) {
  struct Block : portable::Memory {
    std::vector<std::uint64_t> words;
  };
  auto block = std::make_unique<Block>();
  block->words.resize((bytes + 7) / 8);
  block->data = reinterpret_cast<std::byte*>(block->words.data());
  return block;
}

}  // namespace tern::generate
