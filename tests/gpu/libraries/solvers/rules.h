// Shared checks of all stand-ins for solvers, and their launch.
#pragma once

#include "devices/gpu/api.h"
#include "tests/gpu/libraries/driver.h"
#include "tests/gpu/libraries/solvers/call.h"

namespace tern::stand_in {

/// The arguments common to every routine.
inline SolverCall solver_call(SolverRoutine routine, int type, int m, int n, std::uint64_t a, int lda, int count) {
  SolverCall c{};
  c.routine = routine;
  c.type = type;
  c.m = m;
  c.n = n;
  c.a = a;
  c.lda = lda;
  c.count = count;
  c.steps = m < n ? m : n;
  return c;
}

/// Bytes of an element.
constexpr std::uint64_t element(int type) {
  constexpr std::uint64_t kBytes[] = {4, 8, 8, 16};
  return kBytes[type];
}

/// More of a workspace for each matrix: TERN_STAND_IN_WORK, in MiB.
std::uint64_t more_work();

/// Ends the process for wrong extents.
void check_extents(const SolverCall& call, const char* function);
/// Ends the process if an array is missing or misaligned; arrays of numbers have the alignment of the type.
void check_arrays(const SolverCall& call, const char* function);
/// Checks and launches: the driver's status.
gpu::Status solve(const SolverCall& call, gpu::Function kernel, gpu::Stream stream, const char* function);

}  // namespace tern::stand_in
