#include "exporter/kernels/add_kernels.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "exporter/constants.h"
#include "loader/hash.h"

namespace tern {
namespace {

struct Module {
  std::string name, text;
  std::vector<std::byte> bytes;
};

bool has_sparse_states(const Program& program) {
  return std::ranges::any_of(program.states, [](const State& s) { return s.type.blocks.sparse(); });
}

/// The kinds of the target, and each with sparse matrix units without them, too, if the program has a sparse weight.
std::vector<DeviceKind> kinds_of(const Program& program, const KernelTarget& target) {
  constexpr auto kSparse = static_cast<std::uint64_t>(TERN_DEVICE_SPARSE);
  std::vector<DeviceKind> kinds = target.kinds;
  if (!has_sparse_states(program)) return kinds;
  for (DeviceKind kind : target.kinds) {
    if ((kind.features & kSparse) == 0) continue;
    kind.name = "GPU without sparse matrix units";
    kind.features &= ~kSparse;
    kinds.push_back(kind);
  }
  return kinds;
}

/// The kernels of all kinds of devices, each text once.
std::vector<Module> record_all(const Program& program, const KernelTarget& target, const SymbolSizes& sizes,
                               KernelReport& report) {
  std::map<std::string, std::string> texts;
  const std::vector<DeviceKind> kinds = kinds_of(program, target);
  for (const DeviceKind& kind : kinds) {
    try {
      texts.merge(record_kernels(program, kind, sizes));
    } catch (const Error& e) {
      if (e.code() != ErrorCode::unsupported) throw;
      report.left_out.push_back(fmt::format("{}: {}", kind.name, e.what()));
    }
  }
  if (report.left_out.size() == kinds.size()) {
    fail(ErrorCode::unsupported, fmt::format("--target {}: no device can run the program: {}", target.name,
                                             report.left_out.empty() ? "there is none" : report.left_out.front()));
  }
  std::vector<Module> modules;
  for (const auto& [text, name] : texts) modules.push_back({name, text, {}});
  return modules;
}

/// Compilers run as separate processes: one per core.
void compile_all(std::vector<Module>& modules, const KernelTarget& target) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto compile_next = [&] {
    try {
      for (std::size_t i = next++; i < modules.size(); i = next++)
        modules[i].bytes = target.compile(modules[i].name, modules[i].text);
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
      next = modules.size();
    }
  };
  {
    std::vector<std::jthread> workers;
    for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) workers.emplace_back(compile_next);
    compile_next();
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace

KernelReport add_kernels(Program& program, const KernelTarget& target, const SymbolSizes& sizes) {
  KernelReport report;
  const std::string compiler = target.compiler();  // fails early if the compiler is missing
  std::vector<Module> modules = record_all(program, target, sizes, report);
  compile_all(modules, target);
  for (Module& m : modules) {
    const Hash128 hash = hash_of(std::as_bytes(std::span(m.text)));
    report.bytes += m.bytes.size();
    program.kernels.push_back({m.name, target.name, hash.low, hash.high, add_storage(program, std::move(m.bytes))});
  }
  report.kernels = modules.size();
  const std::string label = fmt::format("{}, by {}", target.name, compiler);
  const auto cached = std::ranges::find(program.metadata, "kernels", [](const auto& m) { return m.first; });
  if (cached == program.metadata.end()) {
    program.metadata.emplace_back("kernels", label);
  } else {
    cached->second += "; " + label;  // modules of an earlier target
  }
  return report;
}

}  // namespace tern
