// The functions of libMIOpen.so.1 called by Tern: check all arguments, and launch the convolution kernel.
#include <tern/dtype.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "devices/gpu/hip/miopen_api.h"
#include "tests/gpu/libraries/convolution_call.h"
#include "tests/gpu/libraries/driver.h"

using namespace tern;
using namespace tern::gpu;
using namespace tern::stand_in;

#define STAND_IN extern "C" __attribute__((visibility("default"))) int

namespace {

constexpr int kBadParameter = 3, kNotImplemented = 6, kUnknown = 7;  // miopenStatus_t
// Solutions, in order of proposal: a slow one, one with a huge workspace, one that fails to compile, and a good one.
constexpr std::uint64_t kSlow = 11, kGreedy = 12, kBroken = 13, kUsable = 14;
constexpr std::size_t kWorkspace = 4096;

struct Handle {
  int magic = 0x6d696f70;
  Function kernel = nullptr;
  Stream stream = nullptr;
};
struct TensorDescriptor {
  int magic = 0x74656e73;
  int type = -1;
  std::vector<int> sizes, strides;
};
struct Window {
  int magic = 0x636f6e76;
  std::vector<int> padding, strides, dilations;
  int groups = 1;
  std::set<std::uint64_t> compiled;
};

template <class T>
T& object(void* handle, const char* function) {
  auto* const o = static_cast<T*>(handle);
  if (o == nullptr || o->magic != T{}.magic) misuse("%s: a null or wrong descriptor", function);
  return *o;
}
template <class T>
int end(void* handle, const char* function) {
  T& o = object<T>(handle, function);
  o.magic = 0;
  delete &o;
  return kSuccess;
}

/// MIOpen caches compiled kernels by sizes and layouts, not by strides, and its gemm reads strided tensors as if
/// packed.
void check_packed(const TensorDescriptor& t, const char* function) {
  long long stride = 1;
  for (std::size_t a = t.sizes.size(); a-- > 0; stride *= t.sizes[a])
    if (t.strides[a] != stride) misuse("%s: stride %d of axis %zu, not %lld", function, t.strides[a], a, stride);
}

ImageCall image(const TensorDescriptor& t) {
  ImageCall call{};
  std::ranges::copy(t.sizes, call.sizes);
  std::ranges::copy(t.strides, call.strides);
  return call;
}

void require_equal(long long a, long long b, const char* what) {
  if (a != b) misuse("MIOpen: %s: %lld and %lld", what, a, b);
}

/// The convolution without addresses.
ConvolutionCall read(void* w_handle, void* x_handle, void* window_handle, void* y_handle, const char* function) {
  const auto &w = object<TensorDescriptor>(w_handle, function), &x = object<TensorDescriptor>(x_handle, function),
             &y = object<TensorDescriptor>(y_handle, function);
  const auto& window = object<Window>(window_handle, function);
  if (x.sizes.empty() || w.sizes.empty() || y.sizes.empty() || window.padding.empty())
    misuse("%s: a descriptor that nobody has set", function);
  const std::size_t axes = window.padding.size();
  for (const TensorDescriptor* t : {&x, &w, &y})
    require_equal(static_cast<long long>(t->sizes.size()), static_cast<long long>(axes) + 2, "axes");
  ConvolutionCall c{};
  c.x = image(x);
  c.w = image(w);
  c.y = image(y);
  c.axes = static_cast<std::int32_t>(axes);
  for (std::size_t a = 0; a < axes; ++a) {
    c.padding_before[a] = window.padding[a];
    c.strides[a] = window.strides[a];
    c.dilations[a] = window.dilations[a];
    const std::int64_t room = c.x.sizes[a + 2] + 2 * c.padding_before[a] - (c.w.sizes[a + 2] - 1) * c.dilations[a] - 1;
    require_equal(c.y.sizes[a + 2], room / c.strides[a] + 1, "a size of the result");
  }
  require_equal(x.sizes[0], y.sizes[0], "the numbers of images");
  require_equal(w.sizes[0], y.sizes[1], "the channels of the result");
  require_equal(x.sizes[1], std::int64_t{w.sizes[1]} * window.groups, "the channels of the groups");
  require_equal(w.sizes[0] % window.groups, 0, "channels of the result that are no whole groups");
  if (w.type != x.type || y.type != x.type) misuse("MIOpen: the types %d, %d and %d", x.type, w.type, y.type);
  switch (x.type) {
    case miopen::kHalf: c.dtype = DType::f16; break;
    case miopen::kBfloat16: c.dtype = DType::bf16; break;
    case miopen::kFloat: c.dtype = DType::f32; break;
    default: misuse("MIOpen: the type %d", x.type);
  }
  for (const TensorDescriptor* t : {&x, &w, &y}) check_packed(*t, function);
  return c;
}

std::uint64_t address(const void* pointer, DType dtype) {
  const auto a = reinterpret_cast<std::uint64_t>(pointer);
  if (a == 0 || a % static_cast<std::uint64_t>(element_size(dtype)) != 0)
    misuse("MIOpen: an address of 0x%llx", static_cast<unsigned long long>(a));
  return a;
}

}  // namespace

STAND_IN miopenGetVersion(std::size_t* major, std::size_t* minor, std::size_t* patch) {
  *major = 3;
  *minor = 2;
  *patch = 0;
  return kSuccess;
}
STAND_IN miopenCreate(MiopenHandle* handle) {
  auto made = std::make_unique<Handle>();
  made->kernel = load(kConvolutionKernel);
  if (made->kernel == nullptr) return miopen::kAllocFailed;
  *handle = made.release();
  return kSuccess;
}
STAND_IN miopenSetStream(MiopenHandle handle, Stream stream) {
  if (is_to_fail("miopenSetStream")) return kBadParameter;
  object<Handle>(handle, "miopenSetStream").stream = stream;
  return kSuccess;
}

STAND_IN miopenCreateTensorDescriptor(MiopenTensor* tensor) {
  if (is_to_fail("miopenCreateTensorDescriptor")) return miopen::kAllocFailed;
  *tensor = std::make_unique<TensorDescriptor>().release();
  return kSuccess;
}
STAND_IN miopenSetTensorDescriptor(MiopenTensor tensor, int type, int axes, const int* sizes, const int* strides) {
  if (is_to_fail("miopenSetTensorDescriptor")) return kBadParameter;
  auto& t = object<TensorDescriptor>(tensor, "miopenSetTensorDescriptor");
  if (axes < 1 || axes > kMostAxes) misuse("MIOpen: %d axes", axes);
  for (int a = 0; a < axes; ++a)
    if (sizes[a] < 1 || strides[a] < 1) misuse("MIOpen: size %d, stride %d", sizes[a], strides[a]);
  t.type = type;
  t.sizes.assign(sizes, sizes + axes);
  t.strides.assign(strides, strides + axes);
  return kSuccess;
}
STAND_IN miopenDestroyTensorDescriptor(MiopenTensor tensor) {
  return end<TensorDescriptor>(tensor, "miopenDestroyTensorDescriptor");
}

STAND_IN miopenCreateConvolutionDescriptor(MiopenConvolution* convolution) {
  if (is_to_fail("miopenCreateConvolutionDescriptor")) return miopen::kAllocFailed;
  *convolution = std::make_unique<Window>().release();
  return kSuccess;
}
STAND_IN miopenInitConvolutionNdDescriptor(MiopenConvolution convolution, int axes, const int* padding,
                                           const int* strides, const int* dilations, int mode) {
  if (is_to_fail("miopenInitConvolutionNdDescriptor")) return kBadParameter;
  auto& w = object<Window>(convolution, "miopenInitConvolutionNdDescriptor");
  if (axes != 2 && axes != 3) misuse("MIOpen: a window of %d axes", axes);
  if (mode != miopen::kConvolution) misuse("MIOpen: mode %d", mode);
  for (int a = 0; a < axes; ++a)
    if (padding[a] < 0 || strides[a] < 1 || dilations[a] < 1) misuse("MIOpen: padding, stride or dilation");
  w.padding.assign(padding, padding + axes);
  w.strides.assign(strides, strides + axes);
  w.dilations.assign(dilations, dilations + axes);
  return kSuccess;
}
STAND_IN miopenSetConvolutionGroupCount(MiopenConvolution convolution, int groups) {
  if (is_to_fail("miopenSetConvolutionGroupCount")) return kBadParameter;
  auto& w = object<Window>(convolution, "miopenSetConvolutionGroupCount");
  // "call miopenInitConvolutionDescriptor() first, then miopenSetConvolutionGroupCount()" (miopen.h).
  if (w.padding.empty() || groups < 1) misuse("MIOpen: %d groups", groups);
  w.groups = groups;
  return kSuccess;
}
STAND_IN miopenDestroyConvolutionDescriptor(MiopenConvolution convolution) {
  return end<Window>(convolution, "miopenDestroyConvolutionDescriptor");
}

STAND_IN miopenConvolutionForwardGetSolution(MiopenHandle handle, MiopenTensor w, MiopenTensor x,
                                             MiopenConvolution convolution, MiopenTensor y, std::size_t most,
                                             std::size_t* count, MiopenSolution* solutions) {
  constexpr const char* kName = "miopenConvolutionForwardGetSolution";
  if (is_to_fail(kName)) return kUnknown;
  object<Handle>(handle, kName);
  *count = 0;
  read(w, x, convolution, y, kName);
  const MiopenSolution all[] = {
      {4, 0, kSlow, 0}, {1, std::size_t{1} << 31, kGreedy, 1}, {2, 0, kBroken, 3}, {3, kWorkspace, kUsable, 5}};
  *count = std::min(most, std::size(all));
  std::copy_n(all, *count, solutions);
  return kSuccess;
}
STAND_IN miopenConvolutionForwardCompileSolution(MiopenHandle handle, MiopenTensor w, MiopenTensor x,
                                                 MiopenConvolution convolution, MiopenTensor y,
                                                 std::uint64_t solution) {
  constexpr const char* kName = "miopenConvolutionForwardCompileSolution";
  if (is_to_fail(kName)) return kUnknown;
  object<Handle>(handle, kName);
  read(w, x, convolution, y, kName);
  if (solution < kSlow || solution > kUsable) misuse("%s: no such solution", kName);
  if (solution == kBroken) return kNotImplemented;
  object<Window>(convolution, kName).compiled.insert(solution);
  return kSuccess;
}
STAND_IN miopenConvolutionForwardImmediate(MiopenHandle handle, MiopenTensor w_tensor, const void* w,
                                           MiopenTensor x_tensor, const void* x, MiopenConvolution convolution,
                                           MiopenTensor y_tensor, void* y, void* workspace, std::size_t bytes,
                                           std::uint64_t solution) {
  constexpr const char* kName = "miopenConvolutionForwardImmediate";
  if (is_to_fail(kName)) return kUnknown;
  const Handle& h = object<Handle>(handle, kName);
  if (h.stream == nullptr) misuse("%s: on the default stream", kName);
  // Must be compiled before: a recorded graph holds launches, not compilations.
  if (!object<Window>(convolution, kName).compiled.contains(solution)) misuse("%s: of what was not compiled", kName);
  ConvolutionCall c = read(w_tensor, x_tensor, convolution, y_tensor, kName);
  if (solution != kUsable) misuse("%s: a solution that is slow or has too much of a workspace", kName);
  if (workspace == nullptr || bytes < kWorkspace) misuse("%s: a workspace of %zu bytes", kName, bytes);
  c.workspace = reinterpret_cast<std::uint64_t>(workspace);
  c.workspace_bytes = kWorkspace;
  c.x.address = address(x, c.dtype);
  c.w.address = address(w, c.dtype);
  c.y.address = address(y, c.dtype);
  return launch(h.kernel, &c, h.stream) == kSuccess ? kSuccess : kUnknown;
}
