#include "bench/definitions.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <tern/tern.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numbers>
#include <random>
#include <vector>

#include "bench/definition_nodes.h"
#include "dtypes/convert.h"
#include "dtypes/cpu_features.h"
#include "exporter/builder.h"
#include "kernels/generate/text_compiler.h"
#include "runtime/prepared.h"

namespace tern::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kLeast = 2e-3;  ///< seconds per measurement; short runs are repeated
constexpr int kTurns = 7;
constexpr std::uint64_t kMaxMemory = std::uint64_t{4} << 30;

std::int64_t count_of(const std::vector<std::int64_t>& sizes) {
  std::int64_t count = 1;
  for (std::int64_t s : sizes) count *= s;
  return count;
}

double number(const Operand& o, std::int64_t i, std::mt19937_64& random) {
  const auto unit = [&] { return std::uniform_real_distribution<double>()(random); };
  const auto last = static_cast<double>(o.sizes.empty() ? 1 : o.sizes.back());
  const double share = std::fmod(static_cast<double>(i), last) / last;
  switch (o.fill) {
    case Fill::unit: return unit();
    case Fill::sorted: return share;
    case Fill::places: return std::floor(unit() * static_cast<double>(o.below));
    case Fill::offsets: return std::floor(share * static_cast<double>(o.below));
    case Fill::pivots: return std::fmod(static_cast<double>(i), last) + 1;
    default: return std::normal_distribution<double>()(random);
  }
}

/// Makes matrices symmetric and diagonally dominant.
void make_definite(std::vector<double>& v, std::int64_t n) {
  for (std::size_t i = 0; i < v.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i), row = at / n % n, column = at % n;
    if (row == column) v[i] = 2 * static_cast<double>(n);
    if (row > column) v[i] = v[static_cast<std::size_t>(at + (column - row) * n + row - column)];
  }
}

Tensor tensor_of(const Operand& o, DType type, std::mt19937_64& random) {
  Tensor t(o.dtype == DType::invalid ? type : o.dtype, o.sizes);
  std::vector<double> v(static_cast<std::size_t>(count_of(o.sizes)));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = number(o, static_cast<std::int64_t>(i), random);
  if (o.fill == Fill::definite) make_definite(v, o.sizes.back());
  convert(v.data(), DType::f64, t.data(), t.dtype(), t.numel());
  return t;
}

struct NodeProgram {
  std::shared_ptr<const Program> program;
  std::vector<Tensor> inputs;
};

NodeProgram program_of(const Row& row, DType type) {
  std::mt19937_64 random(1);
  NodeProgram made;
  auto program = std::make_shared<Program>();
  program->functions.emplace_back();
  program->functions[0].name = "forward";
  program->functions[0].entry = true;
  Builder b(*program, 0);
  Node node;
  node.op = row.op;
  node.attrs = row.attrs;
  for (const Operand& o : row.inputs) {
    if (o.fill == Fill::absent) {
      node.inputs.push_back(kNoValue);
      continue;
    }
    made.inputs.push_back(tensor_of(o, type, random));
    const ValueId v = b.add_value({made.inputs.back().dtype(), Dims(o.sizes.begin(), o.sizes.end())});
    b.function().inputs.push_back({FunctionInput::Kind::user, v, 0, "x", {}});
    node.inputs.push_back(v);
  }
  for (Attr& a : node.attrs) {
    if (a.key == AttrKey::symbols) a.data = Dims{program->pool.symbol("n", 0, INT64_MAX)};
    if (a.key == AttrKey::dtype && std::get<Dims>(a.data).empty()) a.data = Dims{static_cast<std::int64_t>(type)};
  }
  for (ValueId v : b.add(node)) b.function().outputs.push_back({FunctionOutput::Kind::tensor, v, "y"});
  made.program = program;
  return made;
}

class TimedSession {
 public:
  TimedSession(const NodeProgram& p, int threads, const KernelTable* kernels) : inputs_(p.inputs) {
    PrepareOptions options;
    options.threads = threads;
    options.weight_cache = "off";
    options.max_memory = kMaxMemory;
    PreparationSettings settings;
    settings.kernels = kernels;
    session_ = std::make_unique<Session>(PreparedModel(prepare_program(p.program, options, settings)));
    run(1);
    const double once = run(1);
    repeats_ = std::clamp(static_cast<int>(kLeast / once), 1, 10000);
  }
  void take_turn() { times_.push_back(run(repeats_)); }
  double microseconds() {
    std::ranges::sort(times_);
    return 1e6 * times_[times_.size() / 2];
  }

 private:
  /// Seconds for each.
  double run(int times) {
    const auto start = Clock::now();
    for (int i = 0; i < times; ++i) session_->run(inputs_);
    return std::chrono::duration<double>(Clock::now() - start).count() / times;
  }
  std::vector<Tensor> inputs_;
  std::unique_ptr<Session> session_;
  int repeats_ = 1;
  std::vector<double> times_;
};

void measure(const Row& row, DType type, const KernelTable& definitions) {
  const NodeProgram program = program_of(row, type);
  std::string line = fmt::format("{:20} {:24} {:10}", op_name(row.op), row.name, name_of(type));
  for (int threads : {1, 2}) {
    TimedSession native(program, threads, nullptr), defined(program, threads, &definitions);
    for (int i = 0; i < kTurns; ++i) {
      native.take_turn();
      defined.take_turn();
    }
    const double a = native.microseconds(), b = defined.microseconds();
    line += fmt::format(" {:10.1f} {:10.1f} {:7.2f}", a, b, b / a);
  }
  fmt::print("{}\n", line);
}

}  // namespace

void measure_definitions(const std::string& only) {
  // As kernels/CMakeLists.txt has it.
  const char* flags = is_baseline_cpu() ? "-Os" : "-O2 -mavx2 -mfma -mf16c";
  generate::TextCompiler compiler({.target = portable::kCompiledTarget, .flags = flags, .folder = {}});
  const KernelTable& definitions = generate::definition_kernels(compiler);
  fmt::print("{:56} {:>29} {:>29}\n{:56} {:>10} {:>10} {:>7} {:>10} {:>10} {:>7}\n", "", "one thread, us",
             "two threads, us", "", "native", "definition", "ratio", "native", "definition", "ratio");
  for (const Row& row : rows()) {
    const bool is_native =
        cpu_kernels().kernels[static_cast<std::size_t>(row.op)].run != portable::compiled_kernel(row.op).run;
    if (only.empty() ? !is_native : op_name(row.op) != only) continue;
    for (DType type : row.types) {
      try {
        measure(row, type, definitions);
      } catch (const Error& e) {
        fmt::print("{:20} {:24} {:10} {}\n", op_name(row.op), row.name, name_of(type), e.what());
      }
      std::fflush(stdout);
    }
  }
}

}  // namespace tern::bench
