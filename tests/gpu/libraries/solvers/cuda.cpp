// The functions of cuSOLVER (libcusolver.so.12) and cuBLAS (libcublas.so.13) called by Tern, a part of this file for
// each library. They check all arguments, and launch a single kernel on the handle's stream.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>

#include "devices/gpu/cuda/cusolver_api.h"
#include "tests/gpu/libraries/driver.h"
#include "tests/gpu/libraries/solvers/rules.h"

using namespace tern::gpu;
using namespace tern::stand_in;

constexpr int kInvalid = 3;  // CUSOLVER_STATUS_INVALID_VALUE, and CUBLAS_STATUS_ALLOC_FAILED

#define STAND_IN extern "C" __attribute__((visibility("default"))) int
// FOUR(PREFIX, NAME, S, D, C, Z, (PARAMETERS), ARGUMENTS...): the symbols of the four types call NAME(type,
// ARGUMENTS...).
#define FOUR(prefix, name, S, D, C, Z, parameters, ...)              \
  STAND_IN prefix##S parameters {                                    \
    return is_to_fail(#prefix #S) ? kInvalid : name(0, __VA_ARGS__); \
  }                                                                  \
  STAND_IN prefix##D parameters {                                    \
    return is_to_fail(#prefix #D) ? kInvalid : name(1, __VA_ARGS__); \
  }                                                                  \
  STAND_IN prefix##C parameters {                                    \
    return is_to_fail(#prefix #C) ? kInvalid : name(2, __VA_ARGS__); \
  }                                                                  \
  STAND_IN prefix##Z parameters {                                    \
    return is_to_fail(#prefix #Z) ? kInvalid : name(3, __VA_ARGS__); \
  }

namespace {

struct Handle {
  std::uint32_t magic = 0x736f6c76;
  Function kernel = nullptr;
  Stream stream = nullptr;
};

std::atomic<int> handles = 0;  // live handles

Handle& handle_of(void* handle, const char* function) {
  auto* const h = static_cast<Handle*>(handle);
  if (h == nullptr || h->magic != Handle{}.magic) misuse("%s: no handle", function);
  return *h;
}

int make_handle(void** handle) {
  auto made = std::make_unique<Handle>();
  made->kernel = load(kSolverKernel);
  if (made->kernel == nullptr) return cusolver::kAllocFailed;
  *handle = made.release();
  ++handles;
  return kSuccess;
}

int end_handle(void* handle, const char* function) {
  Handle& h = handle_of(handle, function);
  h.magic = 0;
  delete &h;
  --handles;
  return kSuccess;
}

int execute(void* handle, const SolverCall& call, const char* function) {
  const Handle& h = handle_of(handle, function);
  if (h.stream == nullptr) misuse("%s: on the default stream", function);
  return solve(call, h.kernel, h.stream, function) == kSuccess ? kSuccess : 6;  // EXECUTION_FAILED
}

}  // namespace

STAND_IN tern_stand_in_handles() {
  return handles;
}

#ifdef TERN_STAND_IN_CUBLAS

namespace {

int getrf_batched(int type, void* handle, int n, Address a, int lda, Address pivots, Address info, int count) {
  SolverCall c = solver_call(SolverRoutine::getrf, type, n, n, a, lda, count);
  c.a_is_list = true;
  c.pivots = pivots;
  c.info = info;
  return execute(handle, c, "getrfBatched");
}

int geqrf_batched(int type, void* handle, int m, int n, Address a, int lda, Address tau, int* info, int count) {
  if (info == nullptr) misuse("geqrfBatched: info is on the host");
  *info = 0;
  SolverCall c = solver_call(SolverRoutine::geqrf, type, m, n, a, lda, count);
  c.a_is_list = true;
  c.tau = tau;
  return execute(handle, c, "geqrfBatched");
}

}  // namespace

STAND_IN cublasGetProperty(int part, int* value) {
  constexpr int kVersion[] = {13, 0, 0};
  *value = kVersion[part];
  return kSuccess;
}
STAND_IN cublasCreate_v2(BlasHandle* handle) {
  if (is_to_fail("cublasCreate_v2")) return kInvalid;
  return make_handle(handle);
}
STAND_IN cublasDestroy_v2(BlasHandle handle) {
  if (is_to_fail("cublasDestroy_v2")) return kInvalid;
  return end_handle(handle, "cublasDestroy");
}
STAND_IN cublasSetStream_v2(BlasHandle handle, Stream stream) {
  if (is_to_fail("cublasSetStream_v2")) return kInvalid;
  handle_of(handle, "cublasSetStream").stream = stream;
  return kSuccess;
}
FOUR(cublas, getrf_batched, SgetrfBatched, DgetrfBatched, CgetrfBatched, ZgetrfBatched,
     (BlasHandle h, int n, Address a, int lda, Address pivots, Address info, int count), h, n, a, lda, pivots, info,
     count)
FOUR(cublas, geqrf_batched, SgeqrfBatched, DgeqrfBatched, CgeqrfBatched, ZgeqrfBatched,
     (BlasHandle h, int m, int n, Address a, int lda, Address tau, int* info, int count), h, m, n, a, lda, tau, info,
     count)

#else

namespace {

/// The length of a workspace, an argument of the call. May overflow an int, as in the library.
int length_for(int m, int n, int count = 1) {
  return static_cast<int>(count * (16 + m + 2 * n + static_cast<std::int64_t>(more_work() / sizeof(float))));
}

void check_length(const char* function, int length, int needed) {
  if (length < needed) misuse("%s: a workspace of %d elements, asked for %d", function, length, needed);
}
int tell(int* length, int needed) {
  if (length == nullptr) misuse("a _bufferSize without a place for it");
  *length = needed;
  return kSuccess;
}
SolverCall with_work(SolverCall c, Address work, int length) {
  c.workspace = work;
  c.work_bytes = static_cast<std::uint64_t>(length) * element(c.type);
  return c;
}
bool is_upper(int uplo, const char* function) {
  if (uplo != 0 && uplo != 1) misuse("%s: uplo is %d", function, uplo);
  return uplo == 1;
}

/// syevjInfo_t and gesvdjInfo_t.
struct Options {
  std::uint32_t magic;
  double tolerance = 0;
};
constexpr std::uint32_t kSyevj = 0x7379, kGesvdj = 0x6765, kParams = 0x7061;

Options& options_of(void* options, std::uint32_t kind, const char* function) {
  auto* const o = static_cast<Options*>(options);
  if (o == nullptr || o->magic != kind) misuse("%s: options of another kind", function);
  return *o;
}
int make_options(void** options, std::uint32_t kind) {
  *options = new Options{kind};
  return kSuccess;
}
int end_options(void* options, std::uint32_t kind, const char* function) {
  Options& o = options_of(options, kind, function);
  o.magic = 0;
  delete &o;
  return kSuccess;
}
void check_tolerance(void* options, std::uint32_t kind, int type, const char* function) {
  const double least = type == 0 || type == 2 ? 1e-7 : 2e-16;  // the type's limit: a smaller tolerance changes nothing
  if (options_of(options, kind, function).tolerance < least) misuse("%s: no tolerance of the type", function);
}

int potrf_batched(int type, void* h, int uplo, int n, Address a, int lda, Address info, int count) {
  SolverCall c = solver_call(SolverRoutine::potrf, type, n, n, a, lda, count);
  c.upper = is_upper(uplo, "potrfBatched");
  c.a_is_list = true;
  c.info = info;
  return execute(h, c, "potrfBatched");
}
int potrf_size(int, void*, int, int n, Address, int, int* length) {
  return tell(length, length_for(n, n));
}
int potrf(int type, void* h, int uplo, int n, Address a, int lda, Address work, int length, Address info) {
  check_length("potrf", length, length_for(n, n));
  SolverCall c = with_work(solver_call(SolverRoutine::potrf, type, n, n, a, lda, 1), work, length);
  c.upper = is_upper(uplo, "potrf");
  c.info = info;
  return execute(h, c, "potrf");
}
int getrf_size(int, void*, int m, int n, Address, int, int* length) {
  return tell(length, length_for(m, n));
}
int getrf(int type, void* h, int m, int n, Address a, int lda, Address work, Address pivots, Address info) {
  SolverCall c = with_work(solver_call(SolverRoutine::getrf, type, m, n, a, lda, 1), work, length_for(m, n));
  c.pivots = pivots;
  c.info = info;
  return execute(h, c, "getrf");
}
int geqrf_size(int, void*, int m, int n, Address, int, int* length) {
  return tell(length, length_for(m, n));
}
int geqrf(int type, void* h, int m, int n, Address a, int lda, Address tau, Address work, int length, Address info) {
  check_length("geqrf", length, length_for(m, n));
  SolverCall c = with_work(solver_call(SolverRoutine::geqrf, type, m, n, a, lda, 1), work, length);
  c.tau = tau;
  if (info == 0) misuse("geqrf: info is null");
  return execute(h, c, "geqrf");
}
int orgqr_size(int, void*, int m, int n, int, Address, int, Address, int* length) {
  return tell(length, length_for(m, n));
}
int orgqr(int type, void* h, int m, int n, int k, Address a, int lda, Address tau, Address work, int length,
          Address info) {
  check_length("orgqr", length, length_for(m, n));
  SolverCall c = with_work(solver_call(SolverRoutine::orgqr, type, m, n, a, lda, 1), work, length);
  c.k = k;
  c.tau = tau;
  if (info == 0) misuse("orgqr: info is null");
  return execute(h, c, "orgqr");
}

SolverCall syev_call(int type, int vectors, bool upper, int n, Address a, int lda, Address w, Address info, int count) {
  SolverCall c = solver_call(SolverRoutine::syev, type, n, n, a, lda, count);
  c.has_vectors = vectors == cusolver::kVectors;
  c.upper = upper;
  c.a_stride = static_cast<std::int64_t>(lda) * n;
  c.values = w;
  c.info = info;
  if (info == 0) misuse("eigenvalues without info");
  return c;
}
int syevj_batched_size(int type, void*, int, int, int n, Address, int, Address, int* length, void* options, int count) {
  check_tolerance(options, kSyevj, type, "syevjBatched_bufferSize");
  return tell(length, length_for(n, n, count));
}
int syevj_batched(int type, void* h, int vectors, int uplo, int n, Address a, int lda, Address w, Address work,
                  int length, Address info, void* options, int count) {
  check_tolerance(options, kSyevj, type, "syevjBatched");
  check_length("syevjBatched", length, length_for(n, n, count));
  const bool upper = is_upper(uplo, "syevjBatched");
  return execute(h, with_work(syev_call(type, vectors, upper, n, a, lda, w, info, count), work, length),
                 "syevjBatched");
}

SolverCall gesvd_call(int type, int vectors, bool full, int m, int n, Address a, int lda, Address s, Address u, int ldu,
                      Address v, int ldv, Address info, int count) {
  SolverCall c = solver_call(SolverRoutine::gesvd, type, m, n, a, lda, count);
  const int least = std::min(m, n);
  c.has_vectors = vectors == cusolver::kVectors;
  c.a_stride = static_cast<std::int64_t>(lda) * n;
  c.values = s;
  c.u = u;
  c.v = v;
  c.u_columns = full ? m : least;
  c.v_rows = full ? n : least;
  c.v_is_plain = true;
  c.info = info;
  if (ldu != m || ldv != n) misuse("gesvdj: ldu %d, ldv %d of %d x %d", ldu, ldv, m, n);
  if (info == 0) misuse("singular values without info");
  return c;
}
int gesvdj_batched_size(int type, void*, int, int m, int n, Address, int, Address, Address, int, Address, int,
                        int* length, void* options, int count) {
  check_tolerance(options, kGesvdj, type, "gesvdjBatched_bufferSize");
  if (m > 32 || n > 32) return kInvalid;  // "The parameters m and n are limited to 32"
  return tell(length, length_for(m, n, count));
}
int gesvdj_batched(int type, void* h, int vectors, int m, int n, Address a, int lda, Address s, Address u, int ldu,
                   Address v, int ldv, Address work, int length, Address info, void* options, int count) {
  check_tolerance(options, kGesvdj, type, "gesvdjBatched");
  check_length("gesvdjBatched", length, length_for(m, n, count));
  if (m > 32 || n > 32) misuse("gesvdjBatched: %d x %d", m, n);
  return execute(h,
                 with_work(gesvd_call(type, vectors, true, m, n, a, lda, s, u, ldu, v, ldv, info, count), work, length),
                 "gesvdjBatched");
}
int gesvdj_size(int type, void*, int, int, int m, int n, Address, int, Address, Address, int, Address, int, int* length,
                void* options) {
  check_tolerance(options, kGesvdj, type, "gesvdj_bufferSize");
  return tell(length, length_for(m, n));
}
int gesvdj(int type, void* h, int vectors, int econ, int m, int n, Address a, int lda, Address s, Address u, int ldu,
           Address v, int ldv, Address work, int length, Address info, void* options) {
  check_tolerance(options, kGesvdj, type, "gesvdj");
  check_length("gesvdj", length, length_for(m, n));
  return execute(
      h, with_work(gesvd_call(type, vectors, econ == 0, m, n, a, lda, s, u, ldu, v, ldv, info, 1), work, length),
      "gesvdj");
}

}  // namespace

FOUR(cusolverDn, potrf_batched, SpotrfBatched, DpotrfBatched, CpotrfBatched, ZpotrfBatched,
     (void* h, int uplo, int n, Address a, int lda, Address info, int count), h, uplo, n, a, lda, info, count)
FOUR(cusolverDn, potrf_size, Spotrf_bufferSize, Dpotrf_bufferSize, Cpotrf_bufferSize, Zpotrf_bufferSize,
     (void* h, int uplo, int n, Address a, int lda, int* length), h, uplo, n, a, lda, length)
FOUR(cusolverDn, potrf, Spotrf, Dpotrf, Cpotrf, Zpotrf,
     (void* h, int uplo, int n, Address a, int lda, Address work, int length, Address info), h, uplo, n, a, lda, work,
     length, info)
FOUR(cusolverDn, getrf_size, Sgetrf_bufferSize, Dgetrf_bufferSize, Cgetrf_bufferSize, Zgetrf_bufferSize,
     (void* h, int m, int n, Address a, int lda, int* length), h, m, n, a, lda, length)
FOUR(cusolverDn, getrf, Sgetrf, Dgetrf, Cgetrf, Zgetrf,
     (void* h, int m, int n, Address a, int lda, Address work, Address pivots, Address info), h, m, n, a, lda, work,
     pivots, info)
FOUR(cusolverDn, geqrf_size, Sgeqrf_bufferSize, Dgeqrf_bufferSize, Cgeqrf_bufferSize, Zgeqrf_bufferSize,
     (void* h, int m, int n, Address a, int lda, int* length), h, m, n, a, lda, length)
FOUR(cusolverDn, geqrf, Sgeqrf, Dgeqrf, Cgeqrf, Zgeqrf,
     (void* h, int m, int n, Address a, int lda, Address tau, Address work, int length, Address info), h, m, n, a, lda,
     tau, work, length, info)
FOUR(cusolverDn, orgqr_size, Sorgqr_bufferSize, Dorgqr_bufferSize, Cungqr_bufferSize, Zungqr_bufferSize,
     (void* h, int m, int n, int k, Address a, int lda, Address tau, int* length), h, m, n, k, a, lda, tau, length)
FOUR(cusolverDn, orgqr, Sorgqr, Dorgqr, Cungqr, Zungqr,
     (void* h, int m, int n, int k, Address a, int lda, Address tau, Address work, int length, Address info), h, m, n,
     k, a, lda, tau, work, length, info)
FOUR(cusolverDn, syevj_batched_size, SsyevjBatched_bufferSize, DsyevjBatched_bufferSize, CheevjBatched_bufferSize,
     ZheevjBatched_bufferSize,
     (void* h, int vectors, int uplo, int n, Address a, int lda, Address w, int* length, void* options, int count), h,
     vectors, uplo, n, a, lda, w, length, options, count)
FOUR(cusolverDn, syevj_batched, SsyevjBatched, DsyevjBatched, CheevjBatched, ZheevjBatched,
     (void* h, int vectors, int uplo, int n, Address a, int lda, Address w, Address work, int length, Address info,
      void* options, int count),
     h, vectors, uplo, n, a, lda, w, work, length, info, options, count)
FOUR(cusolverDn, gesvdj_batched_size, SgesvdjBatched_bufferSize, DgesvdjBatched_bufferSize, CgesvdjBatched_bufferSize,
     ZgesvdjBatched_bufferSize,
     (void* h, int vectors, int m, int n, Address a, int lda, Address s, Address u, int ldu, Address v, int ldv,
      int* length, void* options, int count),
     h, vectors, m, n, a, lda, s, u, ldu, v, ldv, length, options, count)
FOUR(cusolverDn, gesvdj_batched, SgesvdjBatched, DgesvdjBatched, CgesvdjBatched, ZgesvdjBatched,
     (void* h, int vectors, int m, int n, Address a, int lda, Address s, Address u, int ldu, Address v, int ldv,
      Address work, int length, Address info, void* options, int count),
     h, vectors, m, n, a, lda, s, u, ldu, v, ldv, work, length, info, options, count)
FOUR(cusolverDn, gesvdj_size, Sgesvdj_bufferSize, Dgesvdj_bufferSize, Cgesvdj_bufferSize, Zgesvdj_bufferSize,
     (void* h, int vectors, int econ, int m, int n, Address a, int lda, Address s, Address u, int ldu, Address v,
      int ldv, int* length, void* options),
     h, vectors, econ, m, n, a, lda, s, u, ldu, v, ldv, length, options)
FOUR(cusolverDn, gesvdj, Sgesvdj, Dgesvdj, Cgesvdj, Zgesvdj,
     (void* h, int vectors, int econ, int m, int n, Address a, int lda, Address s, Address u, int ldu, Address v,
      int ldv, Address work, int length, Address info, void* options),
     h, vectors, econ, m, n, a, lda, s, u, ldu, v, ldv, work, length, info, options)

STAND_IN cusolverDnCreate(SolverHandle* handle) {
  if (is_to_fail("cusolverDnCreate")) return kInvalid;
  return make_handle(handle);
}
STAND_IN cusolverDnDestroy(SolverHandle handle) {
  if (is_to_fail("cusolverDnDestroy")) return kInvalid;
  return end_handle(handle, "cusolverDnDestroy");
}
STAND_IN cusolverDnSetStream(SolverHandle handle, Stream stream) {
  if (is_to_fail("cusolverDnSetStream")) return kInvalid;
  handle_of(handle, "cusolverDnSetStream").stream = stream;
  return kSuccess;
}
STAND_IN cusolverDnCreateSyevjInfo(JacobiOptions* options) {
  if (is_to_fail("cusolverDnCreateSyevjInfo")) return kInvalid;
  return make_options(options, kSyevj);
}
STAND_IN cusolverDnDestroySyevjInfo(JacobiOptions options) {
  return end_options(options, kSyevj, "cusolverDnDestroySyevjInfo");
}
STAND_IN cusolverDnXsyevjSetTolerance(JacobiOptions options, double tolerance) {
  if (is_to_fail("cusolverDnXsyevjSetTolerance")) return kInvalid;
  options_of(options, kSyevj, "cusolverDnXsyevjSetTolerance").tolerance = tolerance;
  return kSuccess;
}
STAND_IN cusolverDnCreateGesvdjInfo(JacobiOptions* options) {
  if (is_to_fail("cusolverDnCreateGesvdjInfo")) return kInvalid;
  return make_options(options, kGesvdj);
}
STAND_IN cusolverDnDestroyGesvdjInfo(JacobiOptions options) {
  return end_options(options, kGesvdj, "cusolverDnDestroyGesvdjInfo");
}
STAND_IN cusolverDnXgesvdjSetTolerance(JacobiOptions options, double tolerance) {
  if (is_to_fail("cusolverDnXgesvdjSetTolerance")) return kInvalid;
  options_of(options, kGesvdj, "cusolverDnXgesvdjSetTolerance").tolerance = tolerance;
  return kSuccess;
}
STAND_IN cusolverDnCreateParams(SolverOptions* options) {
  if (is_to_fail("cusolverDnCreateParams")) return kInvalid;
  return make_options(options, kParams);
}
STAND_IN cusolverDnDestroyParams(SolverOptions options) {
  return end_options(options, kParams, "cusolverDnDestroyParams");
}

#if !defined(TERN_STAND_IN_NO_SYEV_BATCHED)  // before CUDA 12.6.2
namespace {

constexpr std::size_t kHostBytes = 64;

/// Scalar of cudaDataType; both types of a call agree.
int type_of(int number, int real, int compute) {
  const auto* const at = std::ranges::find(cusolver::kTypes, number);
  const auto type = static_cast<int>(at - std::begin(cusolver::kTypes));
  if (type > 3 || compute != number || real != cusolver::kTypes[type % 2]) misuse("XsyevBatched: types");
  return type;
}
std::size_t syev_bytes(int type, std::int64_t n, std::int64_t count) {
  return static_cast<std::size_t>(count * length_for(static_cast<int>(n), static_cast<int>(n))) * element(type);
}

}  // namespace

STAND_IN cusolverDnXsyevBatched_bufferSize(SolverHandle, SolverOptions options, int, int, std::int64_t n, int number,
                                           Address, std::int64_t, int real, Address, int compute, std::size_t* bytes,
                                           std::size_t* host_bytes, std::int64_t count) {
  options_of(options, kParams, "XsyevBatched_bufferSize");
  if (is_to_fail("cusolverDnXsyevBatched_bufferSize")) return kInvalid;
  *bytes = syev_bytes(type_of(number, real, compute), n, count);
  *host_bytes = kHostBytes;
  return kSuccess;
}
STAND_IN cusolverDnXsyevBatched(SolverHandle h, SolverOptions options, int vectors, int uplo, std::int64_t n,
                                int number, Address a, std::int64_t lda, int real, Address w, int compute, Address work,
                                std::size_t bytes, void* host, std::size_t host_bytes, Address info,
                                std::int64_t count) {
  options_of(options, kParams, "XsyevBatched");
  if (is_to_fail("cusolverDnXsyevBatched")) return kInvalid;
  const int type = type_of(number, real, compute);
  if (bytes < syev_bytes(type, n, count) || host == nullptr || host_bytes < kHostBytes)
    misuse("XsyevBatched: workspaces of %zu and %zu bytes", bytes, host_bytes);
  std::fill_n(static_cast<char*>(host), kHostBytes, '\xA5');
  SolverCall c = syev_call(type, vectors, is_upper(uplo, "XsyevBatched"), static_cast<int>(n), a, static_cast<int>(lda),
                           w, info, static_cast<int>(count));
  c.workspace = work;
  c.work_bytes = bytes;
  return execute(h, c, "XsyevBatched");
}
#endif

/// The version of CUDA 13.0. TERN_STAND_IN_CUSOLVER replaces the major version.
STAND_IN cusolverGetProperty(int part, int* value) {
  const char* const major = std::getenv("TERN_STAND_IN_CUSOLVER");
  const int version[] = {major == nullptr ? 12 : std::atoi(major), 0, 4};
  *value = version[part];
  return kSuccess;
}

#endif
