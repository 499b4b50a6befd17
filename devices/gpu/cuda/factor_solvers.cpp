// Cholesky, LU and QR by cuSOLVER and cuBLAS.
#include "devices/gpu/cuda/cuda_solver.h"

namespace tern::gpu {
namespace {

class CholeskyBatched : public CudaSolver {
 public:
  using CudaSolver::CudaSolver;
  bool ask(SolverHandle) override { return true; }
  int call(const Cusolver::Handles& h, const Factors& f, int count) override {
    return api_.potrf_batched[type_](h.solver, uplo(), m_.rows, f.a_places, m_.rows, f.info, count);
  }
};

class CholeskyEach : public CudaSolver {
 public:
  using CudaSolver::CudaSolver;
  bool ask(SolverHandle handle) override {
    return api_.potrf_size[type_](handle, uplo(), m_.rows, 0, m_.rows, &length_) == kSuccess;
  }
  int call(const Cusolver::Handles& h, const Factors& f, int count) override {
    return for_each_matrix(count, [&](std::uint64_t b) {
      return api_.potrf[type_](h.solver, uplo(), m_.rows, a_of(f, b), m_.rows, f.workspace, length_, f.info + 4 * b);
    });
  }
};

class LuBatched : public CudaSolver {
 public:
  using CudaSolver::CudaSolver;
  bool ask(SolverHandle) override { return m_.rows == m_.columns; }
  int call(const Cusolver::Handles& h, const Factors& f, int count) override {
    return cublas_error(api_.getrf_batched[type_](h.blas, m_.rows, f.a_places, m_.rows, f.pivots, f.info, count));
  }
};

class LuEach : public CudaSolver {
 public:
  using CudaSolver::CudaSolver;
  bool ask(SolverHandle handle) override {
    return api_.getrf_size[type_](handle, m_.rows, m_.columns, 0, m_.rows, &length_) == kSuccess;
  }
  int call(const Cusolver::Handles& h, const Factors& f, int count) override {
    return for_each_matrix(count, [&](std::uint64_t b) {
      return api_.getrf[type_](h.solver, m_.rows, m_.columns, a_of(f, b), m_.rows, f.workspace,
                               f.pivots + 4 * b * min_side(), f.info + 4 * b);
    });
  }
};

/// Computes Q matrix by matrix: neither library has a batched routine.
class QrEach : public CudaSolver {
 public:
  using CudaSolver::CudaSolver;
  bool ask(SolverHandle handle) override {
    int q_length = 0;
    const bool ok = api_.geqrf_size[type_](handle, m_.rows, m_.columns, 0, m_.rows, &length_) == kSuccess;
    if (!ok || !m_.has_vectors) return ok;
    if (api_.orgqr_size[type_](handle, m_.rows, m_.q_columns, m_.min_side(), 0, m_.rows, 0, &q_length) != kSuccess)
      return false;
    length_ = std::max(length_, q_length);
    return true;
  }
  /// Returns false: only invalid arguments can fail.
  bool has_info() const override { return false; }
  int call(const Cusolver::Handles& h, const Factors& f, int count) override {
    return for_each_matrix(count, [&](std::uint64_t b) {
      return api_.geqrf[type_](h.solver, m_.rows, m_.columns, a_of(f, b), m_.rows, tau_of(f, b), f.workspace, length_,
                               f.info + 4 * b);
    });
  }
  tern_device_status make_q(Stream stream, const Factors& f, std::int64_t count) override {
    return locked(stream, [&](const Cusolver::Handles& h) {
      return for_each_matrix(static_cast<int>(count), [&](std::uint64_t b) {
        return api_.orgqr[type_](h.solver, m_.rows, m_.q_columns, m_.min_side(), a_of(f, b), m_.rows, tau_of(f, b),
                                 f.workspace, length_, f.info + 4 * b);
      });
    });
  }

 private:
  [[nodiscard]] Address tau_of(const Factors& f, std::uint64_t b) const {
    return f.tau + b * min_side() * element_bytes(m_.type);
  }
};

class QrBatched : public QrEach {
 public:
  using QrEach::QrEach;
  int call(const Cusolver::Handles& h, const Factors& f, int count) override {
    int info = 0;  // error in the arguments
    return cublas_error(
        api_.geqrf_batched[type_](h.blas, m_.rows, m_.columns, f.a_places, m_.rows, f.tau_places, &info, count));
  }
};

}  // namespace

std::unique_ptr<CudaSolver> cholesky_solver(Cusolver& c, const MatrixBatch& m, bool small) {
  if (small) return std::make_unique<CholeskyBatched>(c, m);
  return std::make_unique<CholeskyEach>(c, m);
}

std::unique_ptr<CudaSolver> lu_solver(Cusolver& c, const MatrixBatch& m, bool small) {
  if (small && m.rows == m.columns) return std::make_unique<LuBatched>(c, m);
  return std::make_unique<LuEach>(c, m);
}

std::unique_ptr<CudaSolver> qr_solver(Cusolver& c, const MatrixBatch& m, bool small) {
  if (small) return std::make_unique<QrBatched>(c, m);
  return std::make_unique<QrEach>(c, m);
}

}  // namespace tern::gpu
