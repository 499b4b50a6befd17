#include "devices/gpu/libraries/scale_tiles.h"

#include <map>
#include <mutex>
#include <utility>

#include "devices/gpu/libraries/helper_kernels.h"

namespace tern::gpu {
namespace {

constexpr HelperKernels kScaleKernels{"tern_scale_tiles", "scales", 128};

// Each thread writes one byte of the tiles.
constexpr const char* kScaleText = R"(
typedef long long i64;
extern "C" __global__ void tern_scale_tiles(const unsigned char* from, unsigned char* to, i64 rows, i64 blocks) {
  const i64 across = (blocks + 3) / 4;
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= (rows + 127) / 128 * across * 512) return;
  const i64 tile = i / 512;
  const int in = (int)(i % 512);
  const i64 row = tile / across * 128 + in % 16 / 4 * 32 + in / 16;
  const i64 block = tile % across * 4 + in % 4;
  to[i] = row < rows && block < blocks ? from[row * blocks + block] : 0;
}
)";

}  // namespace

Function scale_tiles(const GpuDevice& d) {
  static std::mutex mutex;
  static std::map<int, Function> of_devices;
  const std::lock_guard lock(mutex);
  Function& kernel = of_devices[d.id];
  if (kernel == nullptr) {
    const std::pair<const char*, Function*> kernels[] = {{"tern_scale_tiles", &kernel}};
    if (kScaleKernels.load(d, kScaleText, kernels) != TERN_DEVICE_OK) return nullptr;
  }
  return kernel;
}

tern_device_status make_scale_tiles(Function kernel, Stream stream, const ScaleTileGrid& grid, Address from,
                                    Address to) {
  std::int64_t rows = grid.rows, blocks = grid.blocks;
  void* parameters[] = {&from, &to, &rows, &blocks};
  return kScaleKernels.launch(kernel, kScaleKernels.blocks_for(static_cast<std::int64_t>(grid.tile_bytes())), stream,
                              parameters);
}

}  // namespace tern::gpu
