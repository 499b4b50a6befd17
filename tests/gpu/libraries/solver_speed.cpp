// solver_speed DEVICE SECONDS [--small]: the time of each factorization by Tern's kernels and by both routines of the
// vendor, for `./dev gpu-check`. Prints a line for each batch: kind, type, side, matrices, and milliseconds by the
// device's clock: own, small, large. --small: tiny batches, as a smoke test. Ends after SECONDS.
#include <sys/wait.h>
#include <tern/tern.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
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
double measure_batch(const char* device, const Kind& kind, DType type, std::int64_t count, std::int64_t n,
                     double hopeless) {
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

/// A batch to measure.
struct Request {
  const Kind* kind;
  DType type;
  std::int64_t count, n;
  double hopeless;
};

/// A process that measures batches with one routine: the plugin reads its variable once. Created before the driver is
/// opened.
class Worker {
 public:
  Worker(const char* device, const char* variable, const char* routine) {
    int requests[2], answers[2];
    if (::pipe(requests) != 0 || ::pipe(answers) != 0) throw std::runtime_error("no pipe");
    process_ = ::fork();
    if (process_ < 0) throw std::runtime_error("no process");
    if (process_ == 0) {
      for (const int end : open_ends()) ::close(end);
      ::close(requests[1]);
      ::close(answers[0]);
      ::setenv(variable, routine, 1);
      ::_exit(serve(device, requests[0], answers[1]));
    }
    ::close(requests[0]);
    ::close(answers[1]);
    request_ = requests[1];
    answer_ = answers[0];
    open_ends().insert(open_ends().end(), {request_, answer_});
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    ::close(request_);
    ::close(answer_);
    ::waitpid(process_, nullptr, 0);
  }

  double measure(const Request& request) const {
    double ms = 0;
    if (::write(request_, &request, sizeof request) != sizeof request || ::read(answer_, &ms, sizeof ms) != sizeof ms)
      throw std::runtime_error("a process that measures has ended");
    return ms;
  }

 private:
  /// Ends of this process's pipes, which other workers must not hold open.
  static std::vector<int>& open_ends() {
    static std::vector<int> ends;
    return ends;
  }
  static int serve(const char* device, int requests, int answers) {
    Request r{};
    try {
      while (::read(requests, &r, sizeof r) == sizeof r) {
        const double ms = measure_batch(device, *r.kind, r.type, r.count, r.n, r.hopeless);
        if (::write(answers, &ms, sizeof ms) != sizeof ms) return 1;
      }
    } catch (const std::exception& e) {
      std::fprintf(stderr, "\nFAIL %s\n", e.what());
      return 1;
    }
    return 0;
  }

  pid_t process_ = -1;
  int request_ = -1, answer_ = -1;
};

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
    const Worker own(device, variable, "own"), small(device, variable, "small"), large(device, variable, "large");
    for (const Type& type : kTypes) {
      for (const std::int64_t n : kSides) {
        for (const Kind& kind : kKinds) {
          for (const std::int64_t most : {std::int64_t{1}, std::int64_t{1} << 16}) {
            if (Clock::now() > end || (is_small && (n != 4 || type.letter != 's' || most == 1))) continue;
            const std::int64_t count = is_small ? 3 : std::clamp<std::int64_t>(kElements / (n * n), 1, most);
            std::printf("%s %c %lld %lld", kind.name, type.letter, static_cast<long long>(n),
                        static_cast<long long>(count));
            const double own_ms = own.measure({&kind, type.dtype, count, n, kForEver});
            const Request request{&kind, type.dtype, count, n, kHopeless * own_ms};
            std::printf(" %.4f %.4f %.4f\n", own_ms, small.measure(request), large.measure(request));
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
