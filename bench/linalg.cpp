#include "bench/linalg.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <tern/linalg.h>
#include <tern/tern.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <ctime>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>

#include "dtypes/convert.h"
#include "exporter/builder.h"
#include "exporter/lower/linalg.h"
#include "runtime/prepared.h"
#include "schema/passes/dead_code.h"

namespace tern::bench {
namespace {

using Outputs = std::vector<ValueId>;
ValueId by_lower(Builder& b, ValueId a, ValueId rhs, TransposeKind op) {
  return triangular_solve(b, a, rhs, {.upper = false, .left = true, .unit = false, .op = op});
}
struct Operation {
  std::string_view name;
  Outputs (*add)(Builder& b, ValueId a, ValueId rhs);  ///< null: `call`
  bool definite = false, symmetric = false;
  void (*call)(const Tensor& a, int threads) = nullptr;  ///< a function of tern/linalg.h
};
constexpr Operation kOperations[] = {
    {"cholesky", [](Builder& b, ValueId a, ValueId) { return b.add_all(Op::cholesky, {a}, {}); }, true, true},
    {"solve",
     [](Builder& b, ValueId a, ValueId rhs) {
       const Outputs f = lu_factor(b, a, true);
       return Outputs{lu_solve(b, f[0], f[1], rhs, true, TransposeKind::none)};
     }},
    {"inv", [](Builder& b, ValueId a, ValueId) { return Outputs{inverse(b, a, true).first}; }},
    {"qr",
     [](Builder& b, ValueId a, ValueId) {
       return b.add_all(Op::qr, {a}, {attr(AttrKey::mode, Dim(static_cast<int>(QrKind::reduced)))});
     }},
    {"eigh", [](Builder& b, ValueId a, ValueId) { return eigh(b, a, false); }, false, true},
    {"eigvalsh", [](Builder& b, ValueId a, ValueId) { return Outputs{eigh(b, a, false)[0]}; }, false, true},
    {"svd", [](Builder& b, ValueId a, ValueId) { return svd(b, a, false); }},
    {"svdvals", [](Builder& b, ValueId a, ValueId) { return Outputs{singular_values(b, a)}; }},
    {"lu_factor",
     [](Builder& b, ValueId a, ValueId) {
       const Outputs f = lu_factor(b, a, true);
       return Outputs{f[0], f[1]};
     }},
    {"det", nullptr, false, false, [](const Tensor& a, int threads) { linalg::det(a, {.threads = threads}); }},
    {"slogdet", nullptr, false, false, [](const Tensor& a, int threads) { linalg::slogdet(a, {.threads = threads}); }},
    {"pinv", nullptr, false, false, [](const Tensor& a, int threads) { linalg::pinv(a, {.threads = threads}); }},
    {"matrix_exp", nullptr, false, false,
     [](const Tensor& a, int threads) { linalg::matrix_exp(a, {.threads = threads}); }},
    {"eig", nullptr, false, false, [](const Tensor& a, int threads) { linalg::eig(a, {.threads = threads}); }},
    {"ldl_factor", nullptr, false, true,
     [](const Tensor& a, int threads) { linalg::ldl_factor(a, {.threads = threads}); }},
    {"triangular_solve",
     [](Builder& b, ValueId a, ValueId rhs) { return Outputs{by_lower(b, a, rhs, TransposeKind::none)}; }, true, true},
    {"cholesky_solve",
     [](Builder& b, ValueId a, ValueId rhs) {
       return Outputs{by_lower(b, a, by_lower(b, a, rhs, TransposeKind::none), TransposeKind::adjoint)};
     },
     true, true},
    {"lstsq",
     [](Builder& b, ValueId a, ValueId rhs) {
       const DType type = b.dtype(a);
       const bool wide = type == DType::f64 || type == DType::c128;
       const double epsilon = (wide ? 0x1p-52 : 0x1p-23) * static_cast<double>(b.size(a, -1).value());  // torch's
       return Outputs{b.add_all(
           Op::lstsq, {a, rhs},
           {attr(AttrKey::mode, Dim(static_cast<int>(LstsqKind::gelsy))), attr_number(AttrKey::epsilon, epsilon)})[0]};
     }},
};

/// Normally distributed matrices; hermitian matrices, and positive definite matrices with a raised diagonal.
Tensor matrices(DType type, std::int64_t batch, std::int64_t n, std::int64_t columns, const Operation& o) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::vector<std::complex<double>> v(static_cast<std::size_t>(batch * n * columns));
  for (auto& x : v) x = {normal(random), is_complex(type) ? normal(random) : 0};
  for (std::int64_t i = 0; o.symmetric && i < batch; ++i) {
    auto* m = v.data() + i * n * n;
    for (std::int64_t r = 0; r < n; ++r) {
      m[r * n + r] = o.definite ? 4.0 * static_cast<double>(n) + 4 : m[r * n + r].real();
      for (std::int64_t c = 0; c < r; ++c) m[c * n + r] = std::conj(m[r * n + c]);
    }
  }
  Tensor t(type, {batch, n, columns});
  convert(v.data(), DType::c128, t.data(), type, t.numel());
  return t;
}

struct Running {
  std::vector<Tensor> inputs;
  std::shared_ptr<Session> session;
  std::function<void()> function;

  void run() { session != nullptr ? void(session->run(inputs)) : function(); }
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
    if (o.add == nullptr) {
      r.function = [a = r.inputs[0], threads, call = o.call] { call(a, threads); };
      r.run();
      return r;
    }
    for (ValueId v : o.add(b, values[0], values[1])) {
      b.function().outputs.push_back({FunctionOutput::Kind::tensor, v, "y"});
    }
    remove_dead_code(*program);
    PrepareOptions options;
    options.threads = threads;
    options.weight_cache = "off";
    options.max_memory = std::uint64_t{8} << 30;
    r.session = std::make_shared<Session>(PreparedModel(prepare_program(program, options, {})));
    r.run();
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
    constexpr std::pair<std::string_view, DType> kTypes[] = {
        {"float32", DType::f32}, {"float64", DType::f64}, {"complex64", DType::c64}, {"complex128", DType::c128}};
    const auto* known = std::ranges::find(kTypes, std::string_view(type), &std::pair<std::string_view, DType>::first);
    if (known == std::end(kTypes)) fail(ErrorCode::invalid_argument, "no type '" + type + "'");
    running = make(op, known->second, n, batch, threads);
    return "ok";
  }
  const double cpu = cpu_seconds();
  const auto start = std::chrono::steady_clock::now();
  running.run();
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
