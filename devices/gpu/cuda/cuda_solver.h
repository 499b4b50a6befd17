// Shared code of factorizations by cuSOLVER and cuBLAS.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>

#include "devices/gpu/cuda/cusolver.h"
#include "devices/gpu/libraries/solver.h"
#include "devices/gpu/status.h"

namespace tern::gpu {

/// Queries and calls hold the library's lock.
class CudaSolver : public Solver {
 public:
  CudaSolver(Cusolver& library, const MatrixBatch& batch)
      : library_(library), api_(library.api), m_(batch), type_(static_cast<int>(batch.type)) {}

  std::uint64_t work_bytes() const override {
    return length_ < 0 ? kNoRoom : static_cast<std::uint64_t>(length_) * element_bytes(m_.type) + bytes_;
  }
  /// Queries the workspace; false if the library refuses the batch.
  virtual bool ask(SolverHandle handle) = 0;

  tern_device_status factor(Stream stream, const Factors& f, std::int64_t count) override {
    return locked(stream, [&](const Cusolver::Handles& h) { return call(h, f, static_cast<int>(count)); });
  }

 protected:
  virtual int call(const Cusolver::Handles& h, const Factors& f, int count) = 0;

  template <class Call>
  tern_device_status locked(Stream stream, const Call& call) {
    const std::lock_guard lock(library_.lock);
    Cusolver::Handles handles;
    TERN_GPU_TRY(handles_of(library_, stream, &handles));
    return cusolver_checked(call(handles), "factoring matrices");
  }
  /// Calls `call` for each matrix until a call fails.
  template <class Call>
  static int for_each_matrix(int count, const Call& call) {
    int error = kSuccess;
    for (int b = 0; b < count && error == kSuccess; ++b) error = call(static_cast<std::uint64_t>(b));
    return error;
  }
  [[nodiscard]] Address a_of(const Factors& f, std::uint64_t b) const {
    return f.a +
           b * static_cast<std::uint64_t>(m_.rows) * static_cast<std::uint64_t>(m_.room()) * element_bytes(m_.type);
  }
  [[nodiscard]] std::uint64_t min_side() const { return static_cast<std::uint64_t>(m_.min_side()); }
  [[nodiscard]] int uplo() const { return m_.upper ? cusolver::kUpper : cusolver::kLower; }
  [[nodiscard]] int vectors() const { return m_.has_vectors ? cusolver::kVectors : cusolver::kNoVectors; }
  [[nodiscard]] double epsilon() const {
    return real_bytes(m_.type) == 4 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  }

  Cusolver& library_;
  const CusolverApi& api_;
  const MatrixBatch m_;
  const int type_;
  int length_ = 0;           ///< workspace in elements
  std::uint64_t bytes_ = 0;  ///< further workspace in bytes
};

// Solvers for Cholesky, LU, QR, eigenvalues and singular values. `small` selects batched routines; otherwise cuSOLVER
// processes single matrices in turn (eigh: by its QR algorithm).
std::unique_ptr<CudaSolver> cholesky_solver(Cusolver& c, const MatrixBatch& m, bool small);
std::unique_ptr<CudaSolver> lu_solver(Cusolver& c, const MatrixBatch& m, bool small);
std::unique_ptr<CudaSolver> qr_solver(Cusolver& c, const MatrixBatch& m, bool small);
std::unique_ptr<CudaSolver> eigh_solver(Cusolver& c, const MatrixBatch& m, bool small);
std::unique_ptr<CudaSolver> svd_solver(Cusolver& c, const MatrixBatch& m, bool small);

}  // namespace tern::gpu
