#include "bench/linalg.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <tern/tern.h>

#include <chrono>
#include <ctime>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>

#include "dtypes/convert.h"
#include "exporter/builder.h"
#include "exporter/lower/linalg.h"
#include "runtime/prepared.h"

namespace tern::bench {
namespace {

using Outputs = std::vector<ValueId>;
struct Operation {
  std::string_view name;
  Outputs (*add)(Builder& b, ValueId a, ValueId rhs);
  bool definite = false, symmetric = false;
};
constexpr Operation kOperations[] = {
    {"cholesky", [](Builder& b, ValueId a, ValueId) { return b.add_all(Op::cholesky, {a}, {}); }, true, true},
    {"solve",
     [](Builder& b, ValueId a, ValueId rhs) {
       const Outputs f = lu_factor(b, a, true);
       return Outputs{lu_solve(b, f[0], f[1], rhs, true, Transpose::none)};
     }},
    {"inv", [](Builder& b, ValueId a, ValueId) { return Outputs{inverse(b, a, true).first}; }},
    {"qr",
     [](Builder& b, ValueId a, ValueId) {
       return b.add_all(Op::qr, {a}, {attr(AttrKey::mode, Dim(static_cast<int>(QrMode::reduced)))});
     }},
    {"eigh", [](Builder& b, ValueId a, ValueId) { return eigh(b, a, false); }, false, true},
    {"eigvalsh", [](Builder& b, ValueId a, ValueId) { return Outputs{eigh(b, a, false)[0]}; }, false, true},
    {"svd", [](Builder& b, ValueId a, ValueId) { return svd(b, a, false); }},
    {"svdvals", [](Builder& b, ValueId a, ValueId) { return Outputs{singular_values(b, a)}; }},
};

/// Normal numbers; symmetric ones, and such with a diagonal that makes them positive definite.
Tensor matrices(DType type, std::int64_t batch, std::int64_t n, std::int64_t columns, const Operation& o) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::vector<double> v(static_cast<std::size_t>(batch * n * columns));
  for (double& x : v) x = normal(random);
  for (std::int64_t i = 0; o.symmetric && i < batch; ++i) {
    double* m = v.data() + i * n * n;
    for (std::int64_t r = 0; r < n; ++r) {
      if (o.definite) m[r * n + r] = 4.0 * static_cast<double>(n) + 4;
      for (std::int64_t c = 0; c < r; ++c) m[c * n + r] = m[r * n + c];
    }
  }
  Tensor t(type, {batch, n, columns});
  convert(v.data(), DType::f64, t.data(), type, t.numel());
  return t;
}

struct Running {
  std::vector<Tensor> inputs;
  std::unique_ptr<Session> session;
};

Running make(const std::string& name, DType type, std::int64_t n, std::int64_t batch, int threads) {
  for (const Operation& o : kOperations) {
    if (o.name != name) continue;
    auto program = std::make_shared<Program>();
    program->functions.emplace_back();
    program->functions[0].name = "forward";
    program->functions[0].entry = true;
    Builder b(*program, 0);
    Running r;
    std::vector<ValueId> values;
    for (const std::int64_t columns : {n, std::int64_t{1}}) {
      r.inputs.push_back(matrices(type, batch, n, columns, columns == n ? o : Operation{}));
      values.push_back(b.add_value({type, {Dim(batch), Dim(n), Dim(columns)}}));
      b.function().inputs.push_back({FunctionInput::Kind::user, values.back(), 0, "x", {}});
    }
    for (ValueId v : o.add(b, values[0], values[1])) {
      b.function().outputs.push_back({FunctionOutput::Kind::tensor, v, "y"});
    }
    PrepareOptions options;
    options.threads = threads;
    options.weight_cache = "off";
    options.max_memory = std::uint64_t{8} << 30;
    r.session = std::make_unique<Session>(Prepared(prepare_program(program, options, {})));
    r.session->run(r.inputs);
    return r;
  }
  fail(ErrorCode::invalid_argument, "no operation '" + name + "'");
}

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::string answer(std::istream& line, Running& running) {
  std::string command, op, type;
  line >> command;
  if (command == "make") {
    std::int64_t n = 0, batch = 0;
    int threads = 0;
    line >> op >> type >> n >> batch >> threads;
    running = {};
    running = make(op, type == "float64" ? DType::f64 : DType::f32, n, batch, threads);
    return "ok";
  }
  const double cpu = cpu_seconds();
  const auto start = std::chrono::steady_clock::now();
  running.session->run(running.inputs);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return fmt::format("{:.9f} {:.9f}", wall, cpu_seconds() - cpu);
}

}  // namespace

int serve_linalg() {
  Running running;
  for (std::string text; std::getline(std::cin, text);) {
    std::istringstream line(text);
    std::cout << answer(line, running) << std::endl;
  }
  return 0;
}

}  // namespace tern::bench
