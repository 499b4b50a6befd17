#include "devices/gpu/libraries/matrix_kernels.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "devices/gpu/libraries/helper_kernels.h"

namespace tern::gpu {
namespace {

constexpr HelperKernels kMatrixKernels{"tern_matrices", "matrices", 128};

// REAL and PARTS define the type. NVRTC has no <stdint.h>.
constexpr const char* kMatrixText = R"(
typedef long long i64;
struct Input {
  i64 sizes[16], strides[16];
  i64 row, column, matrix;
  int rank, rows, columns, triangle;
};
struct Output {
  i64 count, matrix, row, column;
  int rows, columns, triangle, conjugate;
};

// A matrix for each block.
extern "C" __global__ void tern_pack(const REAL* from, REAL* to, REAL* tau, int* unfinished, i64* a_places, i64* tau_places,
                                     i64 steps, Input p) {
  __shared__ int wrong;
  const i64 b = blockIdx.x;
  if (threadIdx.x == 0) wrong = 0;
  __syncthreads();
  i64 at = 0, rest = b;
  for (int k = p.rank - 1; k >= 0; --k) {
    at += rest % p.sizes[k] * p.strides[k];
    rest /= p.sizes[k];
  }
  REAL* matrix = to + b * p.matrix * PARTS;
  for (int i = threadIdx.x; i < p.rows * p.columns; i += blockDim.x) {
    const int r = i % p.rows, c = i / p.rows;
    const bool is_read = p.triangle == 0 || (p.triangle == 1 ? c <= r : c >= r);
    for (int part = 0; part < PARTS; ++part) {
      REAL v = is_read ? from[(at + r * p.row + c * p.column) * PARTS + part] : 0;
      if (!(v - v == 0)) {
        wrong = 1;
        v = 0;
      }
      matrix[(i64)i * PARTS + part] = v;
    }
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  unfinished[b] = wrong;
  if (a_places) a_places[b] = (i64)matrix;
  if (tau_places) tau_places[b] = (i64)(tau + b * steps * PARTS);
}

// An element for each thread.
extern "C" __global__ void tern_unpack(const REAL* from, REAL* to, Output p) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.count) return;
  const int c = (int)(i % p.columns), r = (int)(i / p.columns % p.rows);
  const i64 b = i / p.columns / p.rows;
  const bool is_there = p.triangle == 0 || (p.triangle == 1 ? c <= r : c >= r);
  for (int part = 0; part < PARTS; ++part) {
    const REAL v = is_there ? from[(b * p.matrix + r * p.row + c * p.column) * PARTS + part] : 0;
    to[i * PARTS + part] = part == 1 && p.conjugate ? -v : v;
  }
}

// A matrix for each thread.
extern "C" __global__ void tern_finish(int* unfinished, const int* info, int* result, i64 count) {
  const i64 b = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= count) return;
  if (info && info[b] != 0) unfinished[b] = 1;
  if (result && unfinished[b] == 0) result[b] = 0;
}
extern "C" __global__ void tern_leave(int* unfinished, i64 count) {
  const i64 b = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (b < count) unfinished[b] = 1;
}
)";

}  // namespace

tern_device_status MatrixKernels::pack_all(Stream stream, const tern_device_tensor& from, PackedInput how,
                                           LapackScalar type, const Factors& f, Address unfinished, std::int64_t count,
                                           int steps) const {
  how.rank = from.rank - 2;
  for (int i = 0; i < how.rank; ++i) {
    how.sizes[i] = from.sizes[i];
    how.strides[i] = from.strides[i];
  }
  how.row = from.strides[how.rank];
  how.column = from.strides[how.rank + 1];
  Address source = from.data, to = f.a, tau = f.tau, places = f.a_places, tau_places = f.tau_places;
  std::int64_t length = steps;
  void* parameters[] = {&source, &to, &tau, &unfinished, &places, &tau_places, &length, &how};
  return kMatrixKernels.launch(pack, count, stream, parameters);
}

tern_device_status MatrixKernels::unpack_all(Stream stream, Address from, Address to, PackedOutput how) const {
  if (how.count == 0) return TERN_DEVICE_OK;
  void* parameters[] = {&from, &to, &how};
  return kMatrixKernels.launch(unpack, kMatrixKernels.blocks_for(how.count), stream, parameters);
}

tern_device_status MatrixKernels::finish_all(Stream stream, Address unfinished, Address info, Address result,
                                             std::int64_t count) const {
  void* parameters[] = {&unfinished, &info, &result, &count};
  return kMatrixKernels.launch(finish, kMatrixKernels.blocks_for(count), stream, parameters);
}

tern_device_status MatrixKernels::leave_all(Stream stream, Address unfinished, std::int64_t count) const {
  void* parameters[] = {&unfinished, &count};
  return kMatrixKernels.launch(leave, kMatrixKernels.blocks_for(count), stream, parameters);
}

const MatrixKernels* matrix_kernels(const GpuDevice& d, LapackScalar type) {
  static std::mutex mutex;
  static std::map<std::pair<int, LapackScalar>, MatrixKernels> all;  // never unloaded
  const std::lock_guard lock(mutex);
  const auto at = all.find({d.id, type});
  if (at != all.end()) return &at->second;
  MatrixKernels kernels;
  const std::pair<const char*, Function*> functions[] = {{"tern_pack", &kernels.pack},
                                                         {"tern_unpack", &kernels.unpack},
                                                         {"tern_finish", &kernels.finish},
                                                         {"tern_leave", &kernels.leave}};
  const std::string text = std::string("#define REAL ") + (real_bytes(type) == 4 ? "float" : "double") +
                           "\n#define PARTS " + std::to_string(component_count(type)) + kMatrixText;
  if (kMatrixKernels.load(d, text, functions) != TERN_DEVICE_OK) return nullptr;
  return &all.emplace(std::pair(d.id, type), kernels).first->second;
}

}  // namespace tern::gpu
