// Compares every native CPU kernel with the definition of its op over generated nodes: for each op with both, the
// makers of fuzz/ops make sizes, strides, types, attributes and data from seeds. The definition is the portable source,
// compiled by the system's C++ compiler.
//   fuzz_definitions [--first SEED] [--count N] [--only OP] [--texts FOLDER]
// A node runs by its native kernel, by another algorithm of the kernel, and reproducibly. Reproducible results must
// have the definition's bits, all others come near (compare.h). --texts keeps compiled sources for later runs. Prints a
// line for each op, and ends with `N passed, N failed`.
#include "kernels/portable/definitions.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/definitions/align.h"
#include "fuzz/definitions/compare.h"
#include "fuzz/ops/one_op.h"
#include "kernels/generate/text_compiler.h"
#include "kernels/reproducible.h"

namespace {

using namespace tern;
using namespace tern::fuzz;

/// Number of compared nodes needed to cover an op.
constexpr int kNeeded = 10;
constexpr int kShaken = 4;

struct DefinitionFuzzOptions {
  std::uint64_t first = 0;
  int count = 60;
  std::string only, texts;
};

/// Outcomes of an op's nodes.
struct Counts {
  int made = 0, compared = 0, same = 0, both_failed = 0, without = 0, findings = 0;
  double share = 0;  ///< the largest of a bound
};

/// Results unlike the definition's bits, until the comparison with float64.
struct Pending {
  NodeCase node;
  std::vector<HostTensor> operands;
  std::optional<NodeCase> wide;
  NodeResults native, algorithm, defined;
};

std::size_t at(Op op) {
  return static_cast<std::size_t>(op);
}

/// Ops with both a CPU kernel and a portable kernel, except custom ops, whose kernels belong to their authors.
std::vector<Op> ops_with_both() {
  std::vector<Op> ops;
  for (Op op : all_ops()) {
    const auto native = cpu_kernels().kernels[at(op)].run, portable = portable_kernels().kernels[at(op)].run;
    if (native != nullptr && portable != nullptr && native != portable && op != Op::custom) ops.push_back(op);
  }
  return ops;
}

class DefinitionComparison {
 public:
  explicit DefinitionComparison(const DefinitionFuzzOptions& options)
      : options_(options),
        compiler_({.target = portable::kCompiledTarget, .flags = "-O1", .folder = options.texts}),
        definitions_(generate::definition_kernels(compiler_)) {}

  /// True if all nodes passed.
  bool run() {
    const std::vector<Op> ops = ops_with_both();
    collect([&] { each_node(ops, [&](const NodeCase& c) { run_case(c, Mode::definition, definitions_); }); });
    each_node(ops, [&](const NodeCase& c) { compare_bits(c); });
    collect([&] {
      for (const Pending& p : pending_) {
        if (p.wide) run_case(*p.wide, Mode::definition, definitions_);
      }
    });
    for (Pending& p : pending_) compare_numbers(p);
    return report(ops);
  }

 private:
  template <class Act>
  void each_node(const std::vector<Op>& ops, Act act) {
    for (Op op : ops) {
      if (!options_.only.empty() && op_name(op) != options_.only) continue;
      for (int i = 0; i < options_.count; ++i) {
        if (const auto c = make_case(op, options_.first + static_cast<std::uint64_t>(i))) act(*c);
      }
    }
  }

  /// Compiles all sources requested by `act` together.
  template <class Act>
  void collect(Act act) {
    compiler_.collect(true);
    act();
    compiler_.collect(false);
    compiler_.compile();
  }

  void compare_bits(const NodeCase& c) {
    Counts& n = counts_[c.op];
    ++n.made;
    Pending p{c, {}, {}, {}, {}, run_case(c, Mode::definition, definitions_)};
    if (p.defined.failed == ErrorCode::unsupported) {
      ++n.without;
      return;
    }
    const NodeResults reproducible = run_case(c, Mode::reproducible, definitions_);
    if (const Verdict v = compare_all_bits(reproducible, p.defined); !v.ok) finding(c, "reproducible", v);
    p.native = run_case(c, Mode::native, definitions_);
    p.algorithm = c.algorithm == Algorithm::none ? p.native : run_case(c, Mode::algorithm, definitions_);
    p.defined.failed ? ++n.both_failed : ++n.compared;
    if (compare_all_bits(p.native, p.defined).ok && compare_all_bits(p.algorithm, p.defined).ok) {
      n.same += p.defined.failed ? 0 : 1;
      return;
    }
    p.operands = operands_of(c);
    p.wide = widened(c, p.operands);
    pending_.push_back(std::move(p));
  }

  void compare_numbers(Pending& p) {
    References references;
    references.exact.failed = ErrorCode::unsupported;
    align(p.node, p.operands, p.native, p.defined);
    align(p.node, p.operands, p.algorithm, p.defined);
    if (p.wide) {
      references.exact = run_case(*p.wide, Mode::definition, definitions_);
      align(p.node, p.operands, references.exact, p.defined);
      for (std::uint64_t k = 0; k < kShaken; ++k) {
        references.shaken.push_back(
            run_case(shaken(*p.wide, p.operands, p.node.seed * kShaken + k), Mode::definition, definitions_));
        align(p.node, p.operands, references.shaken.back(), p.defined);
      }
    }
    const double terms = terms_of(p.node);
    judge(p.node, "", compare_near(p.native, p.defined, references, terms));
    if (p.node.algorithm != AlgorithmChoice{})
      judge(p.node, std::string(name_of(p.node.algorithm)), compare_near(p.algorithm, p.defined, references, terms));
  }

  void judge(const NodeCase& c, const std::string& how, const Verdict& v) {
    Counts& n = counts_[c.op];
    if (v.ok) n.share = std::max(n.share, v.share);
    if (!v.ok) finding(c, how, v);
  }

  void finding(const NodeCase& c, const std::string& how, const Verdict& v) {
    ++counts_[c.op].findings;
    fmt::print("FAIL {} --first {}{}: {}: {}\n", op_name(c.op), c.seed, how.empty() ? "" : ", " + how, text_of(c),
               v.difference);
  }

  bool report(const std::vector<Op>& ops) {
    int passed = 0, failed = 0;
    for (Op op : ops) {
      if (!options_.only.empty() && op_name(op) != options_.only) continue;
      const Counts& n = counts_[op];
      fmt::print(
          "{:20} {:5} made, {:5} fail in both, {:4} without definition, {:5} compared, {:5} the same bits, worst "
          "{:4.0f} "
          "% of a bound, {} findings\n",
          op_name(op), n.made, n.both_failed, n.without, n.compared, n.same, 100 * n.share, n.findings);
      const bool covered = n.compared >= std::min(kNeeded, options_.count);
      if (!covered) fmt::print("FAIL {}: fewer than {} nodes were compared\n", op_name(op), kNeeded);
      passed += n.made - std::min(n.made, n.findings);
      failed += n.findings + (covered ? 0 : 1);
    }
    fmt::print("{} texts, {} of them compiled now\n", compiler_.asked_for(), compiler_.compiled());
    fmt::print("{} passed, {} failed\n", passed, failed);
    return failed == 0 && passed > 0;
  }

  DefinitionFuzzOptions options_;
  generate::TextCompiler compiler_;
  const KernelTable& definitions_;
  std::map<Op, Counts> counts_;
  std::vector<Pending> pending_;
};

DefinitionFuzzOptions parse(int argc, char** argv) {
  DefinitionFuzzOptions o;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view a = argv[i];
    const char* value = argv[i + 1];
    if (a == "--first") o.first = std::strtoull(value, nullptr, 10);
    if (a == "--count") o.count = std::atoi(value);
    if (a == "--only") o.only = value;
    if (a == "--texts") o.texts = value;
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return DefinitionComparison(parse(argc, argv)).run() ? 0 : 1;
  } catch (const std::exception& e) {
    std::printf("FAIL %s\n0 passed, 1 failed\n", e.what());
    return 1;
  }
}
