#include "fuzz/run/trial.h"

#include <tern/error.h>
#include <tern/graph.h>
#include <tern/tern.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "fuzz/run/wild.h"
#include "kernels/algorithm.h"
#include "kernels/cpu/processor.h"
#include "loader/archive.h"
#include "runtime/prepared.h"
#include "schema/program.h"

namespace tern::fuzz {
namespace {

constexpr std::int64_t kMaxElements = 1 << 20;  ///< per input
constexpr std::uint64_t kMaxMemory = 32 << 20;  ///< bytes per session: kernels are slow under sanitizers
constexpr std::int64_t kMaxIterations = 50;

template <class Options>
Options limited(Options o) {
  o.threads = 1;
  o.max_iterations = kMaxIterations;
  if constexpr (requires { o.max_memory; }) o.max_memory = kMaxMemory;
  if constexpr (requires { o.max_seconds; }) o.max_seconds = 2;
  return o;
}

/// Values for the symbols, near the lower ends of their ranges, and for all expressions.
std::vector<std::int64_t> choose_sizes(const Program& program, Choices& c) {
  std::vector<std::int64_t> symbols, values(program.pool.nodes().size());
  for (const Symbol& s : program.pool.symbols()) {
    const std::int64_t low = std::max<std::int64_t>(s.min, 0);
    const std::int64_t more = c.pick<std::int64_t>({0, 1, 2, 3, 5, 8});
    symbols.push_back(s.max - low > more ? low + more : std::max(low, s.max));
  }
  evaluate(program.pool.nodes(), symbols, values);
  return values;
}

/// Inputs, or nullopt if a size is invalid or too large.
std::optional<std::vector<Tensor>> make_inputs(const Function& f, const std::vector<std::int64_t>& sizes, Choices& c) {
  std::vector<Tensor> inputs;
  for (const FunctionInput& in : f.inputs) {
    if (in.kind != FunctionInput::Kind::user) continue;
    const TensorType& type = f.values[static_cast<std::size_t>(in.value)].type;
    std::vector<std::int64_t> shape;
    std::int64_t count = 1;
    for (Dim d : type.shape) {
      const std::int64_t size = d.is_const() ? d.value() : sizes[d.index()];
      if (size < 0 || size > kMaxElements || (count *= std::max<std::int64_t>(size, 1)) > kMaxElements)
        return std::nullopt;
      shape.push_back(size);
    }
    Tensor t(type.dtype, shape);
    fill(c, type.dtype, {static_cast<std::byte*>(t.data()), t.byte_size()});
    inputs.push_back(std::move(t));
  }
  return inputs;
}

class ProgramTrial {
 public:
  ProgramTrial(std::shared_ptr<const Program> program, Choices& c) : program_(std::move(program)), c_(c) {}

  Outcome run() {
    outcome_.kind = Outcome::too_large;
    for (const Function& f : program_->functions) {
      if (!f.entry) continue;
      const auto inputs = make_inputs(f, choose_sizes(*program_, c_), c_);
      if (!inputs) continue;
      PrepareOptions plain = limited(PrepareOptions{}), reproducible = plain;
      reproducible.reproducible = true;
      attempt([&] { in_session(f.name, plain, *inputs); });
      attempt([&] { in_session(f.name, reproducible, *inputs); });
      PrepareOptions narrow = plain;
      narrow.threads = 3;
      narrow.precision = c_.pick({Precision::bfloat16, Precision::float16});
      attempt([&] { in_session(f.name, narrow, *inputs); });
      attempt([&] { as_graph(f.name, plain, *inputs); });
      if (has_algorithms()) attempt([&] { by_algorithm(f.name, c_.chance(50) ? plain : narrow, *inputs); });
      if (outcome_.kind == Outcome::finding) break;
    }
    return outcome_;
  }

 private:
  template <class Act>
  void attempt(Act act) {
    if (outcome_.kind == Outcome::finding) return;
    try {
      act();
      outcome_.kind = Outcome::clean;
    } catch (const Error& e) {
      if (e.code() == ErrorCode::internal) {
        outcome_.kind = Outcome::finding;
      } else if (outcome_.kind != Outcome::clean) {
        outcome_.kind = Outcome::failed;
      }
      outcome_.message = e.what();
    } catch (const std::exception& e) {
      outcome_ = {Outcome::finding, std::string("not a tern::Error: ") + e.what()};
    }
  }

  /// Write-backs change copies: each mode starts from the same inputs.
  static std::vector<Tensor> copies(const std::vector<Tensor>& inputs) {
    std::vector<Tensor> r;
    r.reserve(inputs.size());
    for (const Tensor& t : inputs) r.push_back(t.clone());
    return r;
  }
  /// Each byte of the results is touched.
  static void look_at(const std::vector<Tensor>& results) {
    unsigned sum = 0;
    for (const Tensor& t : results) {
      const auto* bytes = static_cast<const unsigned char*>(t.data());
      for (std::size_t i = 0; i < t.byte_size(); ++i) sum += bytes[i];
    }
    volatile unsigned seen = sum;
    (void)seen;
  }

  void in_session(const std::string& function, const PrepareOptions& options, const std::vector<Tensor>& inputs) {
    run_twice(prepare_program(program_, options), function, inputs);
  }
  static void run_twice(std::shared_ptr<const PreparedProgram> prepared, const std::string& function,
                        const std::vector<Tensor>& inputs) {
    Session session((PreparedModel(std::move(prepared))));
    const std::vector<Tensor> own = copies(inputs);
    look_at(session.run(function, own));
    look_at(session.run(function, own));
  }
  void as_graph(const std::string& function, const PrepareOptions& options, const std::vector<Tensor>& inputs) {
    const Stream stream(options.device);
    Session session(PreparedModel(prepare_program(program_, options)), stream);
    const std::vector<Tensor> own = copies(inputs);
    Graph graph;
    graph.capture_begin(stream);
    const std::vector<Tensor>* results = nullptr;
    try {
      results = &session.run(function, own);
    } catch (...) {
      graph.capture_end();
      throw;
    }
    graph.capture_end();
    for (int i = 0; i < 2; ++i) graph.replay();
    session.stream().synchronize();
    look_at(*results);
  }
  static bool has_several(const Node& n) {
    return !cpu_kernels().kernels[static_cast<std::size_t>(n.op)].algorithms.empty();
  }
  bool has_algorithms() const {
    return std::ranges::any_of(program_->functions,
                               [](const Function& f) { return std::ranges::any_of(f.nodes, has_several); });
  }
  void by_algorithm(const std::string& function, const PrepareOptions& options, const std::vector<Tensor>& inputs) {
    Tuning tuning{cpu::processor(), 1, {}};
    const std::string name(kAlgorithmNames[c_.index(std::size(kAlgorithmNames))].name);
    for (std::uint32_t f = 0; f < program_->functions.size(); ++f) {
      const auto& nodes = program_->functions[f].nodes;
      for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        if (has_several(nodes[i])) tuning.choices.push_back({f, i, name});
      }
    }
    const auto prepared = prepare_program(program_, options, {.tuning = &tuning});
    run_twice(prepared, function, inputs);
  }

  std::shared_ptr<const Program> program_;
  Choices& c_;
  Outcome outcome_;
};

}  // namespace

Outcome run_archive(std::span<const std::byte> archive, Choices& c) {
  std::shared_ptr<const Program> program;
  try {
    program = open_archive(archive, {Access::map, Verify::never});
  } catch (const Error& e) {
    return {e.code() == ErrorCode::internal ? Outcome::finding : Outcome::refused, e.what()};
  }
  return ProgramTrial(std::move(program), c).run();
}

}  // namespace tern::fuzz
