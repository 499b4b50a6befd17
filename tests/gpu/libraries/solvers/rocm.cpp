// The functions of rocSOLVER (librocsolver.so.0) and rocBLAS (librocblas.so.4) called by Tern, a part of this file for
// each library. They check all arguments, and launch a single kernel on the handle's stream. The handle owns the
// workspace, as in rocBLAS.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "devices/gpu/hip/rocsolver_api.h"
#include "tests/gpu/libraries/driver.h"
#include "tests/gpu/libraries/solvers/rocm_handle.h"
#include "tests/gpu/libraries/solvers/rules.h"

using namespace tern::gpu;
using namespace tern::stand_in;

constexpr int kInvalid = 11;  // rocblas_status_invalid_value

#define STAND_IN extern "C" __attribute__((visibility("default"))) int
#define FOUR(name, S, D, C, Z, parameters, ...)                           \
  STAND_IN rocsolver_##S parameters {                                     \
    return is_to_fail("rocsolver_" #S) ? kInvalid : name(0, __VA_ARGS__); \
  }                                                                       \
  STAND_IN rocsolver_##D parameters {                                     \
    return is_to_fail("rocsolver_" #D) ? kInvalid : name(1, __VA_ARGS__); \
  }                                                                       \
  STAND_IN rocsolver_##C parameters {                                     \
    return is_to_fail("rocsolver_" #C) ? kInvalid : name(2, __VA_ARGS__); \
  }                                                                       \
  STAND_IN rocsolver_##Z parameters {                                     \
    return is_to_fail("rocsolver_" #Z) ? kInvalid : name(3, __VA_ARGS__); \
  }

namespace {

RocmHandle& handle_of(void* handle, const char* function) {
  auto* const h = static_cast<RocmHandle*>(handle);
  if (h == nullptr || h->magic != RocmHandle{}.magic) misuse("%s: no handle", function);
  return *h;
}

}  // namespace

#ifdef TERN_STAND_IN_ROCBLAS

namespace {

std::atomic<int> handles = 0;  // live handles

}  // namespace

STAND_IN rocblas_create_handle(RocblasHandle* handle) {
  if (is_to_fail("rocblas_create_handle")) return kInvalid;
  auto made = std::make_unique<RocmHandle>();
  made->kernel = load(kSolverKernel);
  if (made->kernel == nullptr) return rocsolver::kMemoryError;
  *handle = made.release();
  ++handles;
  return kSuccess;
}
STAND_IN rocblas_destroy_handle(RocblasHandle handle) {
  if (is_to_fail("rocblas_destroy_handle")) return kInvalid;
  RocmHandle& h = handle_of(handle, "destroy_handle");
  h.magic = 0;
  delete &h;
  --handles;
  return kSuccess;
}
STAND_IN tern_stand_in_handles() {
  return handles;
}
STAND_IN rocblas_set_stream(RocblasHandle handle, Stream stream) {
  if (is_to_fail("rocblas_set_stream")) return kInvalid;
  handle_of(handle, "rocblas_set_stream").stream = stream;
  return kSuccess;
}
STAND_IN rocblas_start_device_memory_size_query(RocblasHandle handle) {
  if (is_to_fail("rocblas_start_device_memory_size_query")) return kInvalid;
  RocmHandle& h = handle_of(handle, "start_device_memory_size_query");
  if (h.is_asked) misuse("a query of a query");
  h.is_asked = true;
  h.needed = 0;
  return kSuccess;
}
STAND_IN rocblas_stop_device_memory_size_query(RocblasHandle handle, std::size_t* bytes) {
  RocmHandle& h = handle_of(handle, "stop_device_memory_size_query");
  if (!h.is_asked) misuse("the end of no query");
  h.is_asked = false;
  *bytes = h.needed;
  if (is_to_fail("rocblas_stop_device_memory_size_query")) return kInvalid;
  return kSuccess;
}
STAND_IN rocblas_set_workspace(RocblasHandle handle, Address memory, std::size_t bytes) {
  if (is_to_fail("rocblas_set_workspace")) return kInvalid;
  RocmHandle& h = handle_of(handle, "set_workspace");
  h.workspace = memory;
  h.work_bytes = bytes;
  return kSuccess;
}

#else

namespace {

/// Workspace of a rocSOLVER call.
std::size_t needed_for(const SolverCall& c) {
  return static_cast<std::size_t>(c.count) *
         (static_cast<std::size_t>(c.m + c.n) * element(c.type) + static_cast<std::size_t>(more_work()));
}

int execute(void* handle, SolverCall c, const char* function) {
  RocmHandle& h = handle_of(handle, function);
  const std::size_t needed = needed_for(c);
  if (h.is_asked) {
    check_extents(c, function);
    const bool grows = needed > h.needed;
    h.needed = std::max(h.needed, needed);
    return grows ? rocsolver::kSizeIncreased : rocsolver::kSizeUnchanged;
  }
  if (h.stream == nullptr) misuse("%s: on the default stream", function);
  if (h.work_bytes < needed) misuse("%s: a workspace of %zu bytes, needs %zu", function, h.work_bytes, needed);
  c.workspace = h.workspace;
  c.work_bytes = needed;
  return solve(c, h.kernel, h.stream, function) == kSuccess ? kSuccess : 6;  // rocblas_status_internal_error
}

bool is_upper(int uplo, const char* function) {
  if (uplo != rocsolver::kUpper && uplo != rocsolver::kLower) misuse("%s: uplo is %d", function, uplo);
  return uplo == rocsolver::kUpper;
}

void check_stride(std::int64_t stride, std::int64_t least, const char* function) {
  if (stride < least)
    misuse("%s: a stride of %lld, of %lld elements", function, static_cast<long long>(stride),
           static_cast<long long>(least));
}

int potrf(int type, void* h, int uplo, int n, Address a, int lda, std::int64_t stride, Address info, int count) {
  SolverCall c = solver_call(SolverRoutine::potrf, type, n, n, a, lda, count);
  c.upper = is_upper(uplo, "potrf");
  c.a_stride = stride;
  c.info = info;
  check_stride(stride, static_cast<std::int64_t>(lda) * n, "potrf");
  return execute(h, c, "potrf");
}
int getrf(int type, void* h, int m, int n, Address a, int lda, std::int64_t stride, Address pivots,
          std::int64_t pivot_stride, Address info, int count) {
  SolverCall c = solver_call(SolverRoutine::getrf, type, m, n, a, lda, count);
  c.a_stride = stride;
  c.pivots = pivots;
  c.steps = pivot_stride;
  c.info = info;
  check_stride(stride, static_cast<std::int64_t>(lda) * n, "getrf");
  check_stride(pivot_stride, std::min(m, n), "getrf");
  return execute(h, c, "getrf");
}
int geqrf(int type, void* h, int m, int n, Address a, int lda, std::int64_t stride, Address tau,
          std::int64_t tau_stride, int count) {
  SolverCall c = solver_call(SolverRoutine::geqrf, type, m, n, a, lda, count);
  c.a_stride = stride;
  c.tau = tau;
  c.steps = tau_stride;
  check_stride(stride, static_cast<std::int64_t>(lda) * n, "geqrf");
  check_stride(tau_stride, std::min(m, n), "geqrf");
  return execute(h, c, "geqrf");
}
int orgqr(int type, void* h, int m, int n, int k, Address a, int lda, Address tau) {
  SolverCall c = solver_call(SolverRoutine::orgqr, type, m, n, a, lda, 1);
  c.k = k;
  c.tau = tau;
  return execute(h, c, "orgqr");
}
SolverCall syev_call(int type, int vectors, int uplo, int n, Address a, int lda, std::int64_t stride, Address w,
                     std::int64_t w_stride, Address info, int count) {
  SolverCall c = solver_call(SolverRoutine::syev, type, n, n, a, lda, count);
  c.upper = is_upper(uplo, "syev");
  c.has_vectors = vectors == rocsolver::kVectors;
  c.a_stride = stride;
  c.values = w;
  c.steps = w_stride;
  c.info = info;
  check_stride(stride, static_cast<std::int64_t>(lda) * n, "syev");
  check_stride(w_stride, n, "syev");
  return c;
}
/// Arrays written by a routine beside its results.
void check_array(void* handle, Address array, const char* name) {
  if (!handle_of(handle, name).is_asked && (array == 0 || array % 4 != 0)) misuse("no array for the %s", name);
}
int syevd(int type, void* h, int vectors, int uplo, int n, Address a, int lda, std::int64_t stride, Address w,
          std::int64_t w_stride, Address e, std::int64_t e_stride, Address info, int count) {
  check_array(h, e, "off-diagonal of syevd");
  check_stride(e_stride, n, "syevd");
  return execute(h, syev_call(type, vectors, uplo, n, a, lda, stride, w, w_stride, info, count), "syevd");
}
template <class Real>
int syevj(int type, void* h, int sort, int vectors, int uplo, int n, Address a, int lda, std::int64_t stride,
          Real tolerance, Address residual, int most_sweeps, Address sweeps, Address w, std::int64_t w_stride,
          Address info, int count) {
  if (sort != rocsolver::kAscending || tolerance != 0 || most_sweeps < 1) misuse("syevj: order, tolerance or sweeps");
  check_array(h, residual, "residuals of syevj");
  check_array(h, sweeps, "sweeps of syevj");
  return execute(h, syev_call(type, vectors, uplo, n, a, lda, stride, w, w_stride, info, count), "syevj");
}
int gesvd(int type, void* h, int left, int right, int m, int n, Address a, int lda, std::int64_t stride, Address s,
          std::int64_t s_stride, Address u, int ldu, std::int64_t u_stride, Address v, int ldv, std::int64_t v_stride,
          Address e, std::int64_t e_stride, int mode, Address info, int count) {
  const int least = std::min(m, n);
  SolverCall c = solver_call(SolverRoutine::gesvd, type, m, n, a, lda, count);
  c.a_stride = stride;
  c.has_vectors = left != rocsolver::kNoSingular;
  c.values = s;
  c.steps = s_stride;
  c.u = u;
  c.v = v;
  if (c.has_vectors) c.u_columns = left == rocsolver::kAllSingular ? m : least;
  if (c.has_vectors) c.v_rows = right == rocsolver::kAllSingular ? n : least;
  c.info = info;
  if (left != right || mode != rocsolver::kOutOfPlace) misuse("gesvd: %d and %d, mode %d", left, right, mode);
  check_array(h, e, "off-diagonal of gesvd");
  check_stride(e_stride, least - 1, "gesvd");
  if (c.has_vectors && (ldu != m || ldv != c.v_rows || u_stride != static_cast<std::int64_t>(m) * c.u_columns ||
                        v_stride != static_cast<std::int64_t>(n) * c.v_rows))
    misuse("gesvd: ldu %d, ldv %d or strides", ldu, ldv);
  return execute(h, c, "gesvd");
}

}  // namespace

FOUR(potrf, spotrf_strided_batched, dpotrf_strided_batched, cpotrf_strided_batched, zpotrf_strided_batched,
     (void* h, int uplo, int n, Address a, int lda, std::int64_t stride, Address info, int count), h, uplo, n, a, lda,
     stride, info, count)
FOUR(getrf, sgetrf_strided_batched, dgetrf_strided_batched, cgetrf_strided_batched, zgetrf_strided_batched,
     (void* h, int m, int n, Address a, int lda, std::int64_t stride, Address pivots, std::int64_t pivot_stride,
      Address info, int count),
     h, m, n, a, lda, stride, pivots, pivot_stride, info, count)
FOUR(geqrf, sgeqrf_strided_batched, dgeqrf_strided_batched, cgeqrf_strided_batched, zgeqrf_strided_batched,
     (void* h, int m, int n, Address a, int lda, std::int64_t stride, Address tau, std::int64_t tau_stride, int count),
     h, m, n, a, lda, stride, tau, tau_stride, count)
FOUR(orgqr, sorgqr, dorgqr, cungqr, zungqr, (void* h, int m, int n, int k, Address a, int lda, Address tau), h, m, n, k,
     a, lda, tau)
FOUR(syevd, ssyevd_strided_batched, dsyevd_strided_batched, cheevd_strided_batched, zheevd_strided_batched,
     (void* h, int vectors, int uplo, int n, Address a, int lda, std::int64_t stride, Address w, std::int64_t w_stride,
      Address e, std::int64_t e_stride, Address info, int count),
     h, vectors, uplo, n, a, lda, stride, w, w_stride, e, e_stride, info, count)
FOUR(gesvd, sgesvd_strided_batched, dgesvd_strided_batched, cgesvd_strided_batched, zgesvd_strided_batched,
     (void* h, int left, int right, int m, int n, Address a, int lda, std::int64_t stride, Address s,
      std::int64_t s_stride, Address u, int ldu, std::int64_t u_stride, Address v, int ldv, std::int64_t v_stride,
      Address e, std::int64_t e_stride, int mode, Address info, int count),
     h, left, right, m, n, a, lda, stride, s, s_stride, u, ldu, u_stride, v, ldv, v_stride, e, e_stride, mode, info,
     count)

#define SYEVJ(symbol, type, Real)                                                                                     \
  STAND_IN rocsolver_##symbol(void* h, int sort, int vectors, int uplo, int n, Address a, int lda,                    \
                              std::int64_t stride, Real tolerance, Address residual, int most_sweeps, Address sweeps, \
                              Address w, std::int64_t w_stride, Address info, int count) {                            \
    if (is_to_fail("rocsolver_" #symbol)) return kInvalid;                                                            \
    return syevj(type, h, sort, vectors, uplo, n, a, lda, stride, tolerance, residual, most_sweeps, sweeps, w,        \
                 w_stride, info, count);                                                                              \
  }
SYEVJ(ssyevj_strided_batched, 0, float)
SYEVJ(dsyevj_strided_batched, 1, double)
SYEVJ(cheevj_strided_batched, 2, float)
SYEVJ(zheevj_strided_batched, 3, double)

STAND_IN rocsolver_get_version_string(char* text, std::size_t length) {
  std::strncpy(text, "3.30.1", length);
  return kSuccess;
}

#endif
