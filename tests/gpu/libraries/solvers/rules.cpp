#include "tests/gpu/libraries/solvers/rules.h"

#include <cstdlib>
#include <cstring>

namespace tern::stand_in {
namespace {

void check(std::uint64_t address, std::uint64_t alignment, bool is_needed, const char* name, const char* function) {
  if (address == 0 && is_needed) misuse("%s: %s is null", function, name);
  if (address % alignment != 0)
    misuse("%s: %s lies at 0x%llx", function, name, static_cast<unsigned long long>(address));
}

/// Ends the process if two arrays share bytes. gesvdj takes U and V even without filling both.
void check_apart(const SolverCall& c, const char* function) {
  if (c.u_columns == 0) return;
  const std::uint64_t number = element(c.type), count = static_cast<std::uint64_t>(c.count);
  const struct {
    std::uint64_t begin, bytes;
  } arrays[] = {{c.u, count * static_cast<std::uint64_t>(c.m) * static_cast<std::uint64_t>(c.u_columns) * number},
                {c.v, count * static_cast<std::uint64_t>(c.n) * static_cast<std::uint64_t>(c.v_rows) * number},
                {c.workspace, c.work_bytes}};
  for (const auto& a : arrays)
    for (const auto& b : arrays)
      if (&a != &b && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes)
        misuse("%s: U, V or work overlap", function);
}

}  // namespace

std::uint64_t more_work() {
  const char* const mib = std::getenv("TERN_STAND_IN_WORK");
  return mib == nullptr ? 0 : static_cast<std::uint64_t>(std::atoi(mib)) << 20;
}

void check_extents(const SolverCall& c, const char* function) {
  if (c.m < 1 || c.n < 1 || c.count < 1) misuse("%s: %d x %d, %d of them", function, c.m, c.n, c.count);
  if (c.lda < c.m) misuse("%s: lda is %d, of %d rows", function, c.lda, c.m);
  // "m >= n >= k" (LAPACK, orgqr)
  if (c.routine == SolverRoutine::orgqr && (c.m < c.n || c.n < c.k))
    misuse("%s: %d x %d, k %d", function, c.m, c.n, c.k);
}

void check_arrays(const SolverCall& c, const char* function) {
  const std::uint64_t number = element(c.type);
  const bool has_values = c.routine == SolverRoutine::syev || c.routine == SolverRoutine::gesvd;
  const bool has_tau = c.routine == SolverRoutine::geqrf || c.routine == SolverRoutine::orgqr;
  check(c.a, c.a_is_list ? 8 : number, true, "A", function);
  check(c.tau, c.a_is_list ? 8 : number, has_tau, "tau", function);
  check(c.values, number / (c.type < 2 ? 1 : 2), has_values, "the values", function);
  check(c.pivots, 4, c.routine == SolverRoutine::getrf, "the pivots", function);
  check(c.info, 4, false, "info", function);
  check(c.u, number, c.u_columns != 0, "U", function);
  check(c.v, number, c.v_rows != 0, "V", function);
  check(c.workspace, 16, c.work_bytes != 0, "the workspace", function);
  check_apart(c, function);
}

gpu::Status solve(const SolverCall& c, gpu::Function kernel, gpu::Stream stream, const char* function) {
  check_extents(c, function);
  check_arrays(c, function);
  return launch(kernel, &c, stream);
}

}  // namespace tern::stand_in
