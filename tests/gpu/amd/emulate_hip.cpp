// Compiles HIP sources for the emulated GPU: emulate_hip FILE|FOLDER... compiles all on two threads, and prints the
// errors and the time. emulate_hip --ir FILE prints the translation of LLVM's IR of a GPU.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/gpu/amd/command.h"
#include "tests/gpu/amd/compile.h"
#include "tests/gpu/amd/ir/translate.h"

namespace fs = std::filesystem;
namespace amd = tern::gpu::amd;

namespace {

std::vector<fs::path> texts(int count, char** names) {
  std::vector<fs::path> files;
  for (int i = 0; i < count; ++i) {
    if (!fs::is_directory(names[i])) {
      files.emplace_back(names[i]);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(names[i])) files.push_back(entry.path());
  }
  return files;
}

int compile_all(const std::vector<fs::path>& files) {
  std::atomic<std::size_t> next{0}, failed{0};
  std::mutex printing;
  const auto begin = std::chrono::steady_clock::now();
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      const amd::CompileResult result =
          amd::compile({amd::read_file(files[i]), "kernel.hip", "gfx942", {"-ffp-contract=off", "-w"}, {}});
      if (result.ok) continue;
      ++failed;
      const std::lock_guard lock(printing);
      std::printf("FAIL %s: %.600s\n", files[i].filename().c_str(), result.log.c_str());
    }
  };
  {
    std::jthread other(work);
    work();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%zu texts, %zu failed, %.1f s\n", files.size(), failed.load(), seconds.count());
  return failed == 0 && !files.empty() ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 3 && std::string_view(arguments[1]) == "--ir") {
    std::fputs(amd::translate(amd::read_file(arguments[2])).c_str(), stdout);
    return 0;
  }
  return compile_all(texts(count - 1, arguments + 1));
}
