// Creates the cuSOLVER or cuBLAS solver of a batch.
#include "devices/gpu/cuda/cuda_solver.h"

namespace tern::gpu {
namespace {

std::unique_ptr<CudaSolver> solver_of(Cusolver& c, const MatrixBatch& m, bool small) {
  switch (m.kind) {
    case Factorization::cholesky: return cholesky_solver(c, m, small);
    case Factorization::eigh: return eigh_solver(c, m, small);
    case Factorization::lu: return lu_solver(c, m, small);
    case Factorization::qr: return qr_solver(c, m, small);
    case Factorization::svd: break;
  }
  return svd_solver(c, m, small);
}

}  // namespace

std::unique_ptr<Solver> make_solver(const GpuDevice& d, const MatrixBatch& batch, Routine routine) {
  Cusolver& c = cusolver_of(d);
  if (!c.why.empty()) return nullptr;
  std::unique_ptr<CudaSolver> solver = solver_of(c, batch, routine == Routine::small);
  const std::lock_guard lock(c.lock);
  return solver->ask(c.handles.solver) ? std::move(solver) : nullptr;
}

tern_device_status release_solvers(const GpuDevice& d, Stream stream) {
  Cusolver* c = opened_cusolver(d);
  if (c == nullptr) return TERN_DEVICE_OK;
  const std::lock_guard lock(c->lock);
  return end_handles(*c, stream);
}

std::string describe_solvers(const GpuDevice& d) {
  const Cusolver& c = cusolver_of(d);
  return c.why.empty() ? "cuSOLVER " + c.version : c.why;
}

}  // namespace tern::gpu
