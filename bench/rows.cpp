#include "bench/rows.h"

#include <fmt/format.h>
#include <tern/tern.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "exporter/builder.h"
#include "exporter/constants.h"

namespace tern::bench {
namespace {

constexpr std::int64_t kElements = 16 << 20;
constexpr int kTurns = 15;

/// An op applied to x.
struct RowOp {
  const char* name;
  ValueId (*add)(Builder& b, ValueId x);
};

template <Op kOp, int kInputs>
ValueId norm(Builder& b, ValueId x) {
  Node n;
  n.op = kOp;
  n.inputs = {x};
  for (int i = 1; i < kInputs; ++i) n.inputs.push_back(b.full({b.size(x, -1)}, 0.5, DType::f32));
  n.set(AttrKey::k, Dims{Dim(1)});
  n.set(AttrKey::epsilon, std::vector<double>{1e-5});
  return b.add(n)[0];
}
template <int kLog>
ValueId softmax(Builder& b, ValueId x) {
  return b.add(Op::softmax, {x}, {attr(AttrKey::axis, Dim(1)), attr(AttrKey::log, Dim(kLog))});
}
ValueId argmax(Builder& b, ValueId x) {
  return b.reduce(x, "argmax", {1}, false, DType::i64);
}
ValueId copied(Builder& b, ValueId x) {
  return b.expr("x + 1", {{"x", x}}, DType::f32);
}
ValueId sum(Builder& b, ValueId x) {
  return b.reduce(x, "sum", {1}, false, DType::f32);
}
ValueId largest(Builder& b, ValueId x) {
  return b.reduce(x, "max", {1}, false, DType::f32);
}
ValueId variance(Builder& b, ValueId x) {
  return b.reduce(x, "var", {1}, false, DType::f32);
}

constexpr RowOp kOps[] = {
    {"copy", copied},
    {"softmax", softmax<0>},
    {"log_softmax", softmax<1>},
    {"layer_norm", norm<Op::layer_norm, 3>},
    {"rms_norm", norm<Op::rms_norm, 2>},
    {"sum", sum},
    {"max", largest},
    {"argmax", argmax},
    {"var", variance},
};

Model model_of(const RowOp& op, std::int64_t length) {
  auto program = std::make_shared<Program>();
  program->source = std::make_shared<ExtendableSource>(nullptr, 0);
  program->functions.emplace_back();
  Builder b(*program, 0);
  Function& f = b.function();
  f.name = "forward";
  f.entry = true;
  const ValueId x = b.add_value({DType::f32, {Dim(kElements / length), Dim(length)}}, "x");
  f.inputs.push_back({FunctionInput::Kind::user, x, 0, "x", {}});
  const ValueId y = op.add(b, x);
  b.function().outputs.push_back({FunctionOutput::Kind::tensor, y, "y"});
  return Model(program);
}

}  // namespace

void measure_rows(std::span<const std::string> devices, std::int64_t length) {
  Tensor x(DType::f32, {kElements / length, length});
  std::uint32_t state = 1;
  for (float& v : x.span<float>()) {
    state = state * 1664525 + 1013904223;
    v = static_cast<float>(state >> 8) / (1 << 23) - 1;
  }
  for (const std::string& device : devices) {
    struct Measured {
      std::unique_ptr<Session> session;
      double seconds = 1e9, bytes = 0;
    };
    std::vector<Measured> all;
    PrepareOptions options;
    options.device = device;
    for (const RowOp& op : kOps) {
      all.push_back({std::make_unique<Session>(model_of(op, length).prepare(options))});
      all.back().session->run({x});
    }
    for (int turn = 0; turn < kTurns; ++turn) {
      for (Measured& m : all) {
        m.session->set_profiling(true);
        m.session->run({x});
        // The node reading x; other nodes generate parameters.
        for (const NodeTime& t : m.session->profile()) {
          if (t.bytes < 2 * kElements) continue;
          m.seconds = std::min(m.seconds, t.seconds);
          m.bytes = t.bytes;
        }
      }
    }
    const double copy = all[0].bytes / all[0].seconds;
    for (std::size_t i = 0; i < all.size(); ++i) {
      fmt::print("{:12} {:12} rows of {:6}: {:9.1f} us, {:5.1f} % of copying\n", device, kOps[i].name, length,
                 all[i].seconds * 1e6, all[i].bytes / all[i].seconds / copy * 100);
    }
  }
}

}  // namespace tern::bench
