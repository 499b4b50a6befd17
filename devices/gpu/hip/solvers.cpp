// Factorizations by rocSOLVER's strided batched routines. Routine::small and Routine::large differ for eigh only:
// Jacobi's algorithm (syevj), and divide and conquer (syevd). svd uses gesvd: gesvdj works with A^H A and loses half of
// the digits of small singular values.
#include <algorithm>

#include "devices/gpu/hip/rocsolver.h"
#include "devices/gpu/libraries/solver.h"
#include "devices/gpu/status.h"

namespace tern::gpu {
namespace {

constexpr int kMaxJacobiSweeps = 100;
constexpr std::uint64_t kPartAlignment = 256;

std::uint64_t align_up(std::uint64_t bytes) {
  return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

class RocmSolver : public Solver {
 public:
  RocmSolver(Rocsolver& library, const MatrixBatch& batch, Routine routine)
      : library_(library), api_(library.api), m_(batch), routine_(routine), type_(static_cast<int>(batch.type)) {}

  /// Queries the workspace; false if the library refuses the batch. The lock is held.
  bool query_workspace() {
    RocblasHandle handle = library_.handle;
    if (api_.query_begin(handle) != kSuccess) return false;
    const int error = call(handle, {}, m_.max_per_call);
    const int q_error = m_.kind == Factorization::qr && m_.has_vectors ? make_one_q(handle, {}, 0) : kSuccess;
    if (api_.query_end(handle, &library_work_bytes_) != kSuccess) return false;
    return is_query_success(error) && is_query_success(q_error);
  }

  std::uint64_t work_bytes() const override { return align_up(library_work_bytes_) + extra_bytes(); }
  int u_columns() const override { return !m_.has_vectors ? 0 : m_.is_full ? m_.rows : m_.min_side(); }
  int v_rows() const override { return !m_.has_vectors ? 0 : m_.is_full ? m_.columns : m_.min_side(); }
  bool has_info() const override { return m_.kind != Factorization::qr; }

  tern_device_status factor(Stream stream, const Factors& f, std::int64_t count) override {
    return call_locked(stream, f, [&](RocblasHandle h) { return call(h, f, static_cast<int>(count)); });
  }
  tern_device_status make_q(Stream stream, const Factors& f, std::int64_t count) override {
    return call_locked(stream, f, [&](RocblasHandle h) {
      int error = kSuccess;
      for (std::int64_t index = 0; index < count && error == kSuccess; ++index)
        error = make_one_q(h, f, static_cast<std::uint64_t>(index));
      return error;
    });
  }

 private:
  /// True for the codes of a successful workspace query; rocBLAS also reports a change of the size.
  static bool is_query_success(int error) {
    return error == kSuccess || error == rocsolver::kSizeIncreased || error == rocsolver::kSizeUnchanged;
  }

  /// Calls `call` with the stream's handle, whose workspace starts at f.work.
  template <class Call>
  tern_device_status call_locked(Stream stream, const Factors& f, const Call& call) {
    const std::lock_guard lock(library_.lock);
    RocblasHandle handle = nullptr;
    TERN_GPU_TRY(handle_of(library_, stream, f.workspace, align_up(library_work_bytes_), &handle));
    return rocsolver_checked(call(handle), "factoring matrices");
  }

  /// Bytes in addition to the library's workspace: `e` of syevd and gesvd; residuals and sweeps of syevj.
  [[nodiscard]] std::uint64_t extra_bytes() const {
    const auto count = static_cast<std::uint64_t>(m_.max_per_call);
    if (m_.kind != Factorization::eigh && m_.kind != Factorization::svd) return 0;
    return align_up(count * static_cast<std::uint64_t>(m_.min_side()) * real_bytes(m_.type)) + align_up(count * 8);
  }

  /// Runs the factorization of `count` matrices, or adds its needs to a workspace query.
  int call(RocblasHandle h, const Factors& f, int count) {
    const int m = m_.rows, n = m_.columns, k = m_.min_side();
    const int uplo = m_.upper ? rocsolver::kUpper : rocsolver::kLower;
    const std::int64_t stride = static_cast<std::int64_t>(m) * m_.room();
    const Address extra = f.workspace + align_up(library_work_bytes_);
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
    const std::size_t component = component_count(m_.type) == 2 ? 1 : 0;
    const Address sweeps = extra + align_up(static_cast<std::uint64_t>(count) * real_bytes(m_.type));
    if (real_bytes(m_.type) == 4)
      return api_.syevj_float[component](h, rocsolver::kAscending, vectors, uplo, n, f.a, n, stride, 0, extra,
                                         kMaxJacobiSweeps, sweeps, f.values, n, f.info, count);
    return api_.syevj_double[component](h, rocsolver::kAscending, vectors, uplo, n, f.a, n, stride, 0, extra,
                                        kMaxJacobiSweeps, sweeps, f.values, n, f.info, count);
  }

  /// Computes Q of matrix `index`: rocSOLVER has no batched routine.
  int make_one_q(RocblasHandle h, const Factors& f, std::uint64_t index) {
    const std::uint64_t element = element_bytes(m_.type);
    const std::uint64_t matrix = static_cast<std::uint64_t>(m_.rows) * static_cast<std::uint64_t>(m_.room());
    return api_.orgqr[type_](h, m_.rows, m_.q_columns, m_.min_side(), f.a + index * matrix * element, m_.rows,
                             f.tau + index * static_cast<std::uint64_t>(m_.min_side()) * element);
  }

  Rocsolver& library_;
  const RocsolverApi& api_;
  const MatrixBatch m_;
  const Routine routine_;
  const int type_;
  std::size_t library_work_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Solver> make_solver(const GpuDevice& d, const MatrixBatch& batch, Routine routine) {
  Rocsolver& library = rocsolver_of(d);
  if (!library.why.empty()) return nullptr;
  auto solver = std::make_unique<RocmSolver>(library, batch, routine);
  const std::lock_guard lock(library.lock);
  if (!solver->query_workspace()) return nullptr;
  return solver;
}

tern_device_status release_solvers(const GpuDevice& d, Stream stream) {
  Rocsolver* library = opened_rocsolver(d);
  if (library == nullptr) return TERN_DEVICE_OK;
  const std::lock_guard lock(library->lock);
  return end_handle(*library, stream);
}

std::string describe_solvers(const GpuDevice& d) {
  const Rocsolver& library = rocsolver_of(d);
  return library.why.empty() ? "rocSOLVER " + library.version : library.why;
}

}  // namespace tern::gpu
