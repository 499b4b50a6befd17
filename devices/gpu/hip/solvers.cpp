// Factorizations by rocSOLVER's strided batched routines. `small` and `large` differ for eigh only: Jacobi's algorithm,
// and divide and conquer. svd uses gesvd: gesvdj works with A^H A and loses half of the digits of small values.
#include <algorithm>

#include "devices/gpu/hip/rocsolver.h"
#include "devices/gpu/libraries/solver.h"
#include "devices/gpu/status.h"

namespace tern::gpu {
namespace {

constexpr int kSweeps = 100;
constexpr std::uint64_t kAlignment = 256;

std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

class RocmSolver : public Solver {
 public:
  RocmSolver(Rocsolver& library, const MatrixBatch& batch, Routine routine)
      : library_(library), api_(library.api), m_(batch), routine_(routine), type_(static_cast<int>(batch.type)) {}

  /// Queries the workspace; false if the library refuses the batch. The lock is held.
  bool ask() {
    RocblasHandle handle = library_.handle;
    if (api_.query_begin(handle) != kSuccess) return false;
    const int error = call(handle, {}, m_.at_once);
    const int q_error = m_.kind == Factorization::qr && m_.has_vectors ? one_q(handle, {}, 0) : kSuccess;
    if (api_.query_end(handle, &work_) != kSuccess) return false;
    return is_answer(error) && is_answer(q_error);
  }

  std::uint64_t work_bytes() const override { return padded(work_) + extra_bytes(); }
  int u_columns() const override { return !m_.has_vectors ? 0 : m_.is_full ? m_.rows : m_.least(); }
  int v_rows() const override { return !m_.has_vectors ? 0 : m_.is_full ? m_.columns : m_.least(); }
  bool has_info() const override { return m_.kind != Factorization::qr; }

  tern_device_status factor(Stream stream, const Factors& f, std::int64_t count) override {
    return locked(stream, f, [&](RocblasHandle h) { return call(h, f, static_cast<int>(count)); });
  }
  tern_device_status make_q(Stream stream, const Factors& f, std::int64_t count) override {
    return locked(stream, f, [&](RocblasHandle h) {
      int error = kSuccess;
      for (std::int64_t b = 0; b < count && error == kSuccess; ++b) error = one_q(h, f, static_cast<std::uint64_t>(b));
      return error;
    });
  }

 private:
  /// Workspace queries return whether the size has grown.
  static bool is_answer(int error) {
    return error == kSuccess || error == rocsolver::kSizeIncreased || error == rocsolver::kSizeUnchanged;
  }

  template <class Call>
  tern_device_status locked(Stream stream, const Factors& f, const Call& call) {
    const std::lock_guard lock(library_.lock);
    RocblasHandle handle = nullptr;
    TERN_GPU_TRY(handle_of(library_, stream, f.work, padded(work_), &handle));
    return rocsolver_checked(call(handle), "factoring matrices");
  }

  /// Bytes in addition to the library's workspace: `e` of syevd and gesvd; residuals and sweeps of syevj.
  [[nodiscard]] std::uint64_t extra_bytes() const {
    const auto count = static_cast<std::uint64_t>(m_.at_once);
    if (m_.kind != Factorization::eigh && m_.kind != Factorization::svd) return 0;
    return padded(count * static_cast<std::uint64_t>(m_.least()) * real_bytes(m_.type)) + padded(count * 8);
  }

  int call(RocblasHandle h, const Factors& f, int count) {
    const int m = m_.rows, n = m_.columns, k = m_.least();
    const int uplo = m_.upper ? rocsolver::kUpper : rocsolver::kLower;
    const std::int64_t stride = static_cast<std::int64_t>(m) * m_.room();
    const Address extra = f.work + padded(work_);
    switch (m_.kind) {
      case Factorization::cholesky: return api_.potrf[type_](h, uplo, n, f.a, n, stride, f.info, count);
      case Factorization::lu: return api_.getrf[type_](h, m, n, f.a, m, stride, f.pivots, k, f.info, count);
      case Factorization::qr: return api_.geqrf[type_](h, m, n, f.a, m, stride, f.tau, k, count);
      case Factorization::eigh: break;
      case Factorization::svd: {
        const int vectors = !m_.has_vectors ? rocsolver::kNoSingular
                            : m_.is_full    ? rocsolver::kAllSingular
                                            : rocsolver::kSingular;
        return api_.gesvd[type_](h, vectors, vectors, m, n, f.a, m, stride, f.values, k, f.u, m,
                                 static_cast<std::int64_t>(m) * u_columns(), f.v, std::max(v_rows(), 1),
                                 static_cast<std::int64_t>(n) * v_rows(), extra, k, rocsolver::kOutOfPlace, f.info,
                                 count);
      }
    }
    const int vectors = m_.has_vectors ? rocsolver::kVectors : rocsolver::kNoVectors;
    if (routine_ == Routine::large)
      return api_.syevd[type_](h, vectors, uplo, n, f.a, n, stride, f.values, n, extra, n, f.info, count);
    const std::size_t which = parts(m_.type) == 2 ? 1 : 0;
    const Address sweeps = extra + padded(static_cast<std::uint64_t>(count) * real_bytes(m_.type));
    if (real_bytes(m_.type) == 4)
      return api_.syevj_float[which](h, rocsolver::kAscending, vectors, uplo, n, f.a, n, stride, 0, extra, kSweeps,
                                     sweeps, f.values, n, f.info, count);
    return api_.syevj_double[which](h, rocsolver::kAscending, vectors, uplo, n, f.a, n, stride, 0, extra, kSweeps,
                                    sweeps, f.values, n, f.info, count);
  }

  /// Computes Q of one matrix: rocSOLVER has no batched routine.
  int one_q(RocblasHandle h, const Factors& f, std::uint64_t b) {
    const std::uint64_t element = element_bytes(m_.type);
    const std::uint64_t matrix = static_cast<std::uint64_t>(m_.rows) * static_cast<std::uint64_t>(m_.room());
    return api_.orgqr[type_](h, m_.rows, m_.q_columns, m_.least(), f.a + b * matrix * element, m_.rows,
                             f.tau + b * static_cast<std::uint64_t>(m_.least()) * element);
  }

  Rocsolver& library_;
  const RocsolverApi& api_;
  const MatrixBatch m_;
  const Routine routine_;
  const int type_;
  std::size_t work_ = 0;
};

}  // namespace

std::unique_ptr<Solver> make_solver(const GpuDevice& d, const MatrixBatch& batch, Routine routine) {
  Rocsolver& r = rocsolver_of(d);
  if (!r.why.empty()) return nullptr;
  auto solver = std::make_unique<RocmSolver>(r, batch, routine);
  const std::lock_guard lock(r.lock);
  if (!solver->ask()) return nullptr;
  return solver;
}

tern_device_status release_solvers(const GpuDevice& d, Stream stream) {
  Rocsolver* r = opened_rocsolver(d);
  if (r == nullptr) return TERN_DEVICE_OK;
  const std::lock_guard lock(r->lock);
  return end_handle(*r, stream);
}

std::string describe_solvers(const GpuDevice& d) {
  const Rocsolver& r = rocsolver_of(d);
  return r.why.empty() ? "rocSOLVER " + r.version : r.why;
}

}  // namespace tern::gpu
