// Functions of rocSOLVER and rocBLAS used by factorizations, for LAPACK's four types; tests/gpu/prototypes compares
// them with the headers, if installed. Pointers to device arrays are addresses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/gpu/api.h"

namespace tern::gpu {

using RocblasHandle = void*;

namespace rocsolver {
// rocblas_status
constexpr int kMemoryError = 5, kSizeIncreased = 9, kSizeUnchanged = 10;
// rocblas_fill, rocblas_evect, rocblas_svect, rocblas_esort, rocblas_workmode
constexpr int kUpper = 121, kLower = 122, kVectors = 211, kNoVectors = 213, kAllSingular = 191, kSingular = 192,
              kNoSingular = 194, kAscending = 252, kOutOfPlace = 201;
}  // namespace rocsolver

// Functions by type: X(name, suffixes of the symbol for the types s, d, c, z, (parameters)), after rocsolver_. Strides
// are in elements.
#define TERN_GPU_ROCSOLVER_FUNCTIONS(X)                                                                           \
  X(potrf, spotrf_strided_batched, dpotrf_strided_batched, cpotrf_strided_batched, zpotrf_strided_batched,        \
    (RocblasHandle handle, int uplo, int n, Address a, int lda, std::int64_t stride, Address info, int count))    \
  X(getrf, sgetrf_strided_batched, dgetrf_strided_batched, cgetrf_strided_batched, zgetrf_strided_batched,        \
    (RocblasHandle handle, int m, int n, Address a, int lda, std::int64_t stride, Address pivots,                 \
     std::int64_t pivot_stride, Address info, int count))                                                         \
  X(geqrf, sgeqrf_strided_batched, dgeqrf_strided_batched, cgeqrf_strided_batched, zgeqrf_strided_batched,        \
    (RocblasHandle handle, int m, int n, Address a, int lda, std::int64_t stride, Address tau,                    \
     std::int64_t tau_stride, int count))                                                                         \
  X(orgqr, sorgqr, dorgqr, cungqr, zungqr,                                                                        \
    (RocblasHandle handle, int m, int n, int k, Address a, int lda, Address tau))                                 \
  X(syevd, ssyevd_strided_batched, dsyevd_strided_batched, cheevd_strided_batched, zheevd_strided_batched,        \
    (RocblasHandle handle, int vectors, int uplo, int n, Address a, int lda, std::int64_t stride, Address w,      \
     std::int64_t w_stride, Address e, std::int64_t e_stride, Address info, int count))                           \
  X(gesvd, sgesvd_strided_batched, dgesvd_strided_batched, cgesvd_strided_batched, zgesvd_strided_batched,        \
    (RocblasHandle handle, int left, int right, int m, int n, Address a, int lda, std::int64_t stride, Address s, \
     std::int64_t s_stride, Address u, int ldu, std::int64_t u_stride, Address v, int ldv, std::int64_t v_stride, \
     Address e, std::int64_t e_stride, int mode, Address info, int count))

// Like above; `tolerance` has the real type of the matrices: two functions take a float and two a double.
#define TERN_GPU_ROCSOLVER_SYEVJ(X, Real, first, second)                                                    \
  X(Real, first, second,                                                                                    \
    (RocblasHandle handle, int sort, int vectors, int uplo, int n, Address a, int lda, std::int64_t stride, \
     Real tolerance, Address residual, int most_sweeps, Address sweeps, Address w, std::int64_t w_stride,   \
     Address info, int count))
#define TERN_GPU_ROCSOLVER_JACOBI(X)                                                 \
  TERN_GPU_ROCSOLVER_SYEVJ(X, float, ssyevj_strided_batched, cheevj_strided_batched) \
  TERN_GPU_ROCSOLVER_SYEVJ(X, double, dsyevj_strided_batched, zheevj_strided_batched)

// rocBLAS functions: X(name, symbol after rocblas_, (parameters))
#define TERN_GPU_ROCBLAS_FUNCTIONS(X)                                                      \
  X(create, create_handle, (RocblasHandle * handle))                                       \
  X(destroy, destroy_handle, (RocblasHandle handle))                                       \
  X(set_stream, set_stream, (RocblasHandle handle, Stream stream))                         \
  X(query_begin, start_device_memory_size_query, (RocblasHandle handle))                   \
  X(query_end, stop_device_memory_size_query, (RocblasHandle handle, std::size_t * bytes)) \
  X(set_workspace, set_workspace, (RocblasHandle handle, Address memory, std::size_t bytes))

struct RocsolverApi {
#define TERN_GPU_OF_TYPES(name, s, d, c, z, parameters) Status(*name[4]) parameters = {};
#define TERN_GPU_MEMBER(name, symbol, parameters) Status(*name) parameters = nullptr;
#define TERN_GPU_OF_REAL(Real, first, second, parameters) Status(*syevj_##Real[2]) parameters = {};
  TERN_GPU_ROCSOLVER_FUNCTIONS(TERN_GPU_OF_TYPES)
  TERN_GPU_ROCSOLVER_JACOBI(TERN_GPU_OF_REAL)
  TERN_GPU_ROCBLAS_FUNCTIONS(TERN_GPU_MEMBER)
#undef TERN_GPU_OF_REAL
#undef TERN_GPU_MEMBER
#undef TERN_GPU_OF_TYPES
};

}  // namespace tern::gpu
