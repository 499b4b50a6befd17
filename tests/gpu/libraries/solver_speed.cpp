// solver_speed DEVICE SECONDS [--small]: the time of each factorization by Tern's kernels and by both routines of the
// vendor, for `./dev gpu-check`. Prints a line for each batch: kind, type, side, matrices, and milliseconds by the
// device's clock: own, small, large. --small: tiny batches, as a smoke test. Ends after SECONDS.
#include <tern/tern.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "schema/linalg_kinds.h"
#include "tests/runtime/support.h"

namespace {

using namespace tern;
using namespace tern::testing;
using Clock = std::chrono::steady_clock;

struct Kind {
  const char* name;
  Op op;
};
constexpr Kind kKinds[] = {
    {"cholesky", Op::cholesky}, {"eigh", Op::eigh}, {"lu", Op::lu_factor}, {"qr", Op::qr}, {"svd", Op::svd}};
struct Type {
  char letter;
  DType dtype;
};
constexpr Type kTypes[] = {{'s', DType::f32}, {'d', DType::f64}, {'c', DType::c64}, {'z', DType::c128}};
// Ordered so that an early end leaves measurements over the whole range.
constexpr std::int64_t kSides[] = {32, 128, 16, 512, 8, 64, 256, 4};
constexpr std::int64_t kElements = 1 << 22;  // elements of a batch that fills the device
constexpr int kRunCount = 5;
constexpr double kHopeless = 10, kForEver = 1e9;  // times the milliseconds of Tern's kernels; milliseconds
constexpr double kFirst = 200;                    // milliseconds allowed for making handles

template <class T>
void fill(Tensor& t, std::int64_t n) {
  T* at = t.span<T>().data();
  for (std::size_t i = 0; i < t.byte_size() / sizeof(T); ++i) {
    const auto r = static_cast<std::int64_t>(i) / n % n, c = static_cast<std::int64_t>(i) % n;
    const auto hash = static_cast<std::uint32_t>((std::min(r, c) * 7919 + std::max(r, c) * 104729) % 1009);
    at[i] = static_cast<T>(static_cast<float>(hash) / 1009 + (r == c ? static_cast<float>(n) : 0));
  }
}

/// Symmetric and positive definite: valid for each factorization.
Tensor matrices(DType type, std::int64_t count, std::int64_t n) {
  Tensor t(type, {count, n, n});
  if (type == DType::f32) fill<float>(t, n);
  if (type == DType::f64) fill<double>(t, n);
  if (type == DType::c64) fill<std::complex<float>>(t, n);
  if (type == DType::c128) fill<std::complex<double>>(t, n);
  return t;
}

/// Milliseconds of the node's fastest run, or of the first run if slower than `hopeless`.
double measure(const char* device, const Kind& kind, DType type, std::int64_t count, std::int64_t n, double hopeless) {
  TestProgram p;
  const ValueId x = p.input(type, {Dim(count), Dim(n), Dim(n)});
  std::vector<Attr> attributes;
  if (kind.op == Op::qr) attributes = {attr(AttrKey::mode, Dim(static_cast<std::int64_t>(QrKind::reduced)))};
  for (const ValueId v : p.b().add_all(kind.op, {x}, attributes)) p.output(v);
  PrepareOptions options;
  options.device = device;
  Session session(p.model().prepare(options));
  const std::vector<Tensor> inputs = {matrices(type, count, n)};
  double least = 0;
  for (int i = 0; i <= kRunCount; ++i) {  // the first run makes handles
    session.set_profiling(true);          // from zero
    session.run(inputs);
    double ms = 0;
    for (const NodeTime& node : session.profile()) ms += node.seconds * 1e3;
    least = i <= 1 ? ms : std::min(least, ms);
    if (ms > (i == 0 ? std::max(hopeless, kFirst) : hopeless)) break;
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: solver_speed DEVICE SECONDS [--small]; for example: solver_speed cuda 60\n", stderr);
    return 2;
  }
  const char* const device = argv[1];
  const bool is_small = argc > 3 && std::strcmp(argv[3], "--small") == 0;
  const auto end = Clock::now() + std::chrono::duration<double>(std::atof(argv[2]));
  const char* const variable = std::string(device).starts_with("cuda") ? "TERN_CUDA_SOLVER" : "TERN_ROCM_SOLVER";
  try {
    for (const Type& type : kTypes) {
      for (const std::int64_t n : kSides) {
        for (const Kind& kind : kKinds) {
          for (const std::int64_t most : {std::int64_t{1}, std::int64_t{1} << 16}) {
            if (Clock::now() > end || (is_small && (n != 4 || type.letter != 's' || most == 1))) continue;
            const std::int64_t count = is_small ? 3 : std::clamp<std::int64_t>(kElements / (n * n), 1, most);
            std::printf("%s %c %lld %lld", kind.name, type.letter, static_cast<long long>(n),
                        static_cast<long long>(count));
            double own = 0;
            for (const char* routine : {"own", "small", "large"}) {
              setenv(variable, routine, 1);
              const bool is_own = std::strcmp(routine, "own") == 0;
              const double ms = measure(device, kind, type.dtype, count, n, is_own ? kForEver : kHopeless * own);
              if (is_own) own = ms;
              std::printf(" %.4f", ms);
            }
            std::printf("\n");
            std::fflush(stdout);
          }
        }
      }
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "\nFAIL %s\n", e.what());
    return 1;
  }
}
