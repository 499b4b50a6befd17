// Functions of cuSOLVER and cuBLAS used by factorizations, for LAPACK's four types; tests/gpu/prototypes compares them
// with the headers. Pointers to device arrays are addresses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/gpu/api.h"

namespace tern::gpu {

using SolverHandle = void*;   ///< cusolverDnHandle_t
using BlasHandle = void*;     ///< cublasHandle_t
using JacobiOptions = void*;  ///< syevjInfo_t, gesvdjInfo_t
using SolverOptions = void*;  ///< cusolverDnParams_t

namespace cusolver {
// cusolverStatus_t, cublasStatus_t
constexpr int kAllocFailed = 2, kBlasAllocFailed = 3;
// cublasFillMode_t, cusolverEigMode_t
constexpr int kLower = 0, kUpper = 1, kNoVectors = 0, kVectors = 1;
// cudaDataType, by LapackScalar
constexpr int kTypes[] = {0, 1, 4, 5};
}  // namespace cusolver

// Functions by type: X(name, suffixes of the symbol for the types s, d, c, z, (parameters)), after cusolverDn.
#define TERN_GPU_CUSOLVER_FUNCTIONS(X)                                                                             \
  X(potrf_batched, SpotrfBatched, DpotrfBatched, CpotrfBatched, ZpotrfBatched,                                     \
    (SolverHandle handle, int uplo, int n, Address a, int lda, Address info, int count))                           \
  X(potrf_size, Spotrf_bufferSize, Dpotrf_bufferSize, Cpotrf_bufferSize, Zpotrf_bufferSize,                        \
    (SolverHandle handle, int uplo, int n, Address a, int lda, int* length))                                       \
  X(potrf, Spotrf, Dpotrf, Cpotrf, Zpotrf,                                                                         \
    (SolverHandle handle, int uplo, int n, Address a, int lda, Address work, int length, Address info))            \
  X(getrf_size, Sgetrf_bufferSize, Dgetrf_bufferSize, Cgetrf_bufferSize, Zgetrf_bufferSize,                        \
    (SolverHandle handle, int m, int n, Address a, int lda, int* length))                                          \
  X(getrf, Sgetrf, Dgetrf, Cgetrf, Zgetrf,                                                                         \
    (SolverHandle handle, int m, int n, Address a, int lda, Address work, Address pivots, Address info))           \
  X(geqrf_size, Sgeqrf_bufferSize, Dgeqrf_bufferSize, Cgeqrf_bufferSize, Zgeqrf_bufferSize,                        \
    (SolverHandle handle, int m, int n, Address a, int lda, int* length))                                          \
  X(geqrf, Sgeqrf, Dgeqrf, Cgeqrf, Zgeqrf,                                                                         \
    (SolverHandle handle, int m, int n, Address a, int lda, Address tau, Address work, int length, Address info))  \
  X(orgqr_size, Sorgqr_bufferSize, Dorgqr_bufferSize, Cungqr_bufferSize, Zungqr_bufferSize,                        \
    (SolverHandle handle, int m, int n, int k, Address a, int lda, Address tau, int* length))                      \
  X(orgqr, Sorgqr, Dorgqr, Cungqr, Zungqr,                                                                         \
    (SolverHandle handle, int m, int n, int k, Address a, int lda, Address tau, Address work, int length,          \
     Address info))                                                                                                \
  X(syevj_batched_size, SsyevjBatched_bufferSize, DsyevjBatched_bufferSize, CheevjBatched_bufferSize,              \
    ZheevjBatched_bufferSize,                                                                                      \
    (SolverHandle handle, int vectors, int uplo, int n, Address a, int lda, Address w, int* length,                \
     JacobiOptions options, int count))                                                                            \
  X(syevj_batched, SsyevjBatched, DsyevjBatched, CheevjBatched, ZheevjBatched,                                     \
    (SolverHandle handle, int vectors, int uplo, int n, Address a, int lda, Address w, Address work, int length,   \
     Address info, JacobiOptions options, int count))                                                              \
  X(gesvdj_batched_size, SgesvdjBatched_bufferSize, DgesvdjBatched_bufferSize, CgesvdjBatched_bufferSize,          \
    ZgesvdjBatched_bufferSize,                                                                                     \
    (SolverHandle handle, int vectors, int m, int n, Address a, int lda, Address s, Address u, int ldu, Address v, \
     int ldv, int* length, JacobiOptions options, int count))                                                      \
  X(gesvdj_batched, SgesvdjBatched, DgesvdjBatched, CgesvdjBatched, ZgesvdjBatched,                                \
    (SolverHandle handle, int vectors, int m, int n, Address a, int lda, Address s, Address u, int ldu, Address v, \
     int ldv, Address work, int length, Address info, JacobiOptions options, int count))                           \
  X(gesvdj_size, Sgesvdj_bufferSize, Dgesvdj_bufferSize, Cgesvdj_bufferSize, Zgesvdj_bufferSize,                   \
    (SolverHandle handle, int vectors, int econ, int m, int n, Address a, int lda, Address s, Address u, int ldu,  \
     Address v, int ldv, int* length, JacobiOptions options))                                                      \
  X(gesvdj, Sgesvdj, Dgesvdj, Cgesvdj, Zgesvdj,                                                                    \
    (SolverHandle handle, int vectors, int econ, int m, int n, Address a, int lda, Address s, Address u, int ldu,  \
     Address v, int ldv, Address work, int length, Address info, JacobiOptions options))

// Common functions: X(name, symbol after cusolverDn, (parameters))
#define TERN_GPU_CUSOLVER_COMMON(X)                                                 \
  X(create, Create, (SolverHandle * handle))                                        \
  X(destroy, Destroy, (SolverHandle handle))                                        \
  X(set_stream, SetStream, (SolverHandle handle, Stream stream))                    \
  X(syevj_create, CreateSyevjInfo, (JacobiOptions * options))                       \
  X(syevj_destroy, DestroySyevjInfo, (JacobiOptions options))                       \
  X(syevj_tolerance, XsyevjSetTolerance, (JacobiOptions options, double tolerance)) \
  X(gesvdj_create, CreateGesvdjInfo, (JacobiOptions * options))                     \
  X(gesvdj_destroy, DestroyGesvdjInfo, (JacobiOptions options))                     \
  X(gesvdj_tolerance, XgesvdjSetTolerance, (JacobiOptions options, double tolerance))

// Available since CUDA 12.6.2.
#define TERN_GPU_CUSOLVER_NEWER(X)                                                                           \
  X(options_create, CreateParams, (SolverOptions * options))                                                 \
  X(options_destroy, DestroyParams, (SolverOptions options))                                                 \
  X(syev_batched_size, XsyevBatched_bufferSize,                                                              \
    (SolverHandle handle, SolverOptions options, int vectors, int uplo, std::int64_t n, int type, Address a, \
     std::int64_t lda, int w_type, Address w, int compute, std::size_t* bytes, std::size_t* host_bytes,      \
     std::int64_t count))                                                                                    \
  X(syev_batched, XsyevBatched,                                                                              \
    (SolverHandle handle, SolverOptions options, int vectors, int uplo, std::int64_t n, int type, Address a, \
     std::int64_t lda, int w_type, Address w, int compute, Address work, std::size_t bytes, void* host_work, \
     std::size_t host_bytes, Address info, std::int64_t count))

// cuBLAS functions: by type as above, and common to all types.
#define TERN_GPU_CUBLAS_FUNCTIONS(X)                                                         \
  X(getrf_batched, SgetrfBatched, DgetrfBatched, CgetrfBatched, ZgetrfBatched,               \
    (BlasHandle handle, int n, Address a, int lda, Address pivots, Address info, int count)) \
  X(geqrf_batched, SgeqrfBatched, DgeqrfBatched, CgeqrfBatched, ZgeqrfBatched,               \
    (BlasHandle handle, int m, int n, Address a, int lda, Address tau, int* info, int count))
#define TERN_GPU_CUBLAS_COMMON(X)                  \
  X(blas_create, Create_v2, (BlasHandle * handle)) \
  X(blas_destroy, Destroy_v2, (BlasHandle handle)) \
  X(blas_set_stream, SetStream_v2, (BlasHandle handle, Stream stream))

struct CusolverApi {
#define TERN_GPU_OF_TYPES(name, s, d, c, z, parameters) Status(*name[4]) parameters = {};
#define TERN_GPU_MEMBER(name, symbol, parameters) Status(*name) parameters = nullptr;
  TERN_GPU_CUSOLVER_FUNCTIONS(TERN_GPU_OF_TYPES)
  TERN_GPU_CUBLAS_FUNCTIONS(TERN_GPU_OF_TYPES)
  TERN_GPU_CUSOLVER_COMMON(TERN_GPU_MEMBER)
  TERN_GPU_CUSOLVER_NEWER(TERN_GPU_MEMBER)
  TERN_GPU_CUBLAS_COMMON(TERN_GPU_MEMBER)
#undef TERN_GPU_MEMBER
#undef TERN_GPU_OF_TYPES
};

}  // namespace tern::gpu
