// The functions of cuBLASLt (libcublasLt.so.13) and hipBLASLt (libhipblaslt.so) called by Tern. They check all
// arguments, and launch a single kernel on the caller's stream.
#include <algorithm>
#include <cstring>

#include "tests/gpu/libraries/driver.h"
#include "tests/gpu/libraries/image.h"
#include "tests/gpu/libraries/lt_rules.h"

using namespace tern;
using namespace tern::gpu;
using namespace tern::stand_in;

#ifdef TERN_STAND_IN_CUDA
#define TERN_STAND_IN_LT(name) cublasLt##name
#else
#define TERN_STAND_IN_LT(name) hipblasLt##name
#endif
#define STAND_IN extern "C" __attribute__((visibility("default"))) int

namespace {

struct Handle {
  Function product;
};

/// Contents of the stand-ins' opaque algorithms.
struct Algorithm {
  std::uint32_t magic;
  std::uint32_t splits;  // partial sums in the result's type
  std::uint32_t alignments[4];
};
static_assert(sizeof(Algorithm) <= sizeof(LtAlgorithm));
constexpr std::uint32_t kMagic = 0x7465726e;
constexpr std::uint64_t kWorkspace = 4096;  // bytes, for products of many terms
constexpr std::int64_t kManyTerms = 64;

std::uint64_t number(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

template <class T>
int destroy(void* handle, const char* function) {
  T* destroyed = &object<T>(handle, function);
  destroyed->magic = 0;
  delete destroyed;
  return kSuccess;
}

std::uint64_t workspace_of(const ProductCall& call) {
  return call.k >= kManyTerms ? kWorkspace : 0;
}

void check_address(std::uint64_t address, std::uint32_t alignment, const char* name) {
  if (address == 0 || address % alignment != 0)
    misuse("%s lies at 0x%llx; the algorithm was chosen for multiples of %u", name,
           static_cast<unsigned long long>(address), alignment);
}

double factor(const void* value, const Description& product) {
  if (product.scale == names::kLtI32) return *static_cast<const std::int32_t*>(value);
  return product.scale == names::kLtF64 ? *static_cast<const double*>(value) : *static_cast<const float*>(value);
}

}  // namespace

STAND_IN TERN_STAND_IN_LT(Create)(LtHandle* handle) {
  const Function product = load(kProductKernel);
  if (product == nullptr) return names::kLtAllocFailed;
  *handle = new Handle{product};
  return kSuccess;
}

STAND_IN TERN_STAND_IN_LT(MatrixLayoutCreate)(LtLayout* layout, int type, std::uint64_t rows, std::uint64_t columns,
                                              std::int64_t leading) {
  if (is_to_fail("LtMatrixLayoutCreate")) return names::kLtInvalidValue;
  auto* made = new Layout;
  made->type = type;
  made->rows = rows;
  made->columns = columns;
  made->leading = leading;
  *layout = made;
  return kSuccess;
}
STAND_IN TERN_STAND_IN_LT(MatrixLayoutDestroy)(LtLayout layout) {
  return destroy<Layout>(layout, "MatrixLayoutDestroy");
}
STAND_IN TERN_STAND_IN_LT(MatrixLayoutSetAttribute)(LtLayout layout, int attribute, const void* value,
                                                    std::size_t bytes) {
  if (is_to_fail("LtMatrixLayoutSetAttribute")) return names::kLtInvalidValue;
  set(object<Layout>(layout, "MatrixLayoutSetAttribute"), attribute, value, bytes);
  return kSuccess;
}

STAND_IN TERN_STAND_IN_LT(MatmulDescCreate)(LtProduct* product, int compute, int scale) {
  if (is_to_fail("LtMatmulDescCreate")) return names::kLtInvalidValue;
  auto* made = new Description;
  made->compute = compute;
  made->scale = scale;
  *product = made;
  return kSuccess;
}
STAND_IN TERN_STAND_IN_LT(MatmulDescDestroy)(LtProduct product) {
  return destroy<Description>(product, "MatmulDescDestroy");
}
STAND_IN TERN_STAND_IN_LT(MatmulDescSetAttribute)(LtProduct product, int attribute, const void* value,
                                                  std::size_t bytes) {
  if (is_to_fail("LtMatmulDescSetAttribute")) return names::kLtInvalidValue;
  set(object<Description>(product, "MatmulDescSetAttribute"), attribute, value, bytes);
  return kSuccess;
}

STAND_IN TERN_STAND_IN_LT(MatmulPreferenceCreate)(LtPreference* preference) {
  if (is_to_fail("LtMatmulPreferenceCreate")) return names::kLtInvalidValue;
  *preference = new Preference;
  return kSuccess;
}
STAND_IN TERN_STAND_IN_LT(MatmulPreferenceDestroy)(LtPreference preference) {
  return destroy<Preference>(preference, "MatmulPreferenceDestroy");
}
STAND_IN TERN_STAND_IN_LT(MatmulPreferenceSetAttribute)(LtPreference preference, int attribute, const void* value,
                                                        std::size_t bytes) {
  if (is_to_fail("LtMatmulPreferenceSetAttribute")) return names::kLtInvalidValue;
  set(object<Preference>(preference, "MatmulPreferenceSetAttribute"), attribute, value, bytes);
  return kSuccess;
}

STAND_IN TERN_STAND_IN_LT(MatmulAlgoGetHeuristic)(LtHandle handle, LtProduct product, LtLayout a, LtLayout b,
                                                  LtLayout c, LtLayout d, LtPreference preference, int wanted,
                                                  LtChoice* choices, int* count) {
  if (is_to_fail("LtMatmulAlgoGetHeuristic")) return names::kLtInvalidValue;
  constexpr const char* kHere = "MatmulAlgoGetHeuristic";
  if (handle == nullptr || choices == nullptr || count == nullptr || wanted < 1)
    misuse("%s: no place for a result", kHere);
  const Description& description = object<Description>(product, kHere);
  const Preference& wish = object<Preference>(preference, kHere);
  const std::optional<ProductCall> call = read({description, object<Layout>(a, kHere), object<Layout>(b, kHere),
                                                object<Layout>(c, kHere), object<Layout>(d, kHere)});
  *count = 0;
  if (!call) return names::kLtNotSupported;
  Algorithm algorithm{kMagic, 0, {}};
  constexpr std::uint32_t kInPlace = 1, kOutputType = 4;  // CUBLASLT_REDUCTION_SCHEME_...
  const bool may_split = names::kLtReductions >= 0 && (wish.reductions & (kInPlace | kOutputType)) != 0;
  algorithm.splits = may_split && call->k >= kManyTerms ? 1 : 0;
  std::copy_n(wish.alignments, 4, algorithm.alignments);
  const bool has_alignments = std::size(names::kLtAlignments) != 0;
  for (std::uint32_t& alignment : algorithm.alignments) {
    if (!has_alignments) alignment = 1;
    if (has_alignments && alignment < needed_alignment(*call)) return names::kLtNotSupported;
  }
  if (workspace_of(*call) > wish.workspace) return names::kLtNotSupported;
  choices[0] = {};
  std::memcpy(choices[0].algorithm.words, &algorithm, sizeof algorithm);
  choices[0].workspace = workspace_of(*call);
  *count = 1;
  return kSuccess;
}

STAND_IN TERN_STAND_IN_LT(Matmul)(LtHandle handle, LtProduct product, const void* alpha, const void* a,
                                  LtLayout a_layout, const void* b, LtLayout b_layout, const void* beta, const void* c,
                                  LtLayout c_layout, void* d, LtLayout d_layout, const LtAlgorithm* chosen,
                                  void* workspace, std::size_t workspace_bytes, Stream stream) {
  if (is_to_fail("LtMatmul(")) return names::kLtInvalidValue;
  constexpr const char* kHere = "Matmul";
  if (handle == nullptr || alpha == nullptr || beta == nullptr || chosen == nullptr)
    misuse("Matmul: an argument is null");
  const Description& description = object<Description>(product, kHere);
  std::optional<ProductCall> call = read({description, object<Layout>(a_layout, kHere), object<Layout>(b_layout, kHere),
                                          object<Layout>(c_layout, kHere), object<Layout>(d_layout, kHere)});
  if (!call) misuse("Matmul: a product that the heuristic refused");
  Algorithm algorithm;
  std::memcpy(&algorithm, chosen->words, sizeof algorithm);
  if (algorithm.magic != kMagic) misuse("Matmul: an algorithm that no heuristic chose");
  check_address(number(a), algorithm.alignments[0], "A");
  check_address(number(b), algorithm.alignments[1], "B");
  check_address(number(c), algorithm.alignments[2], "C");
  check_address(number(d), algorithm.alignments[3], "D");
  if (workspace_bytes < workspace_of(*call)) misuse("Matmul: a workspace of %zu bytes", workspace_bytes);
  if (workspace_of(*call) != 0) check_address(number(workspace), 256, "the workspace");
  call->a.address = number(a);
  call->b.address = number(b);
  call->c.address = number(c);
  call->d.address = number(d);
  call->workspace = workspace_of(*call) != 0 ? number(workspace) : 0;
  call->workspace_bytes = workspace_of(*call);
  call->splits = algorithm.splits != 0;
  call->alpha = factor(alpha, description);
  call->beta = factor(beta, description);
  if (description.scale_a != 0) {
    // Must match the heuristic's alignments.
    const std::uint32_t alignment = call->scales_rows || call->scales_blocks ? 16 : sizeof(float);
    check_address(description.scale_a, alignment, "the scale of A");
    check_address(description.scale_b, alignment, "the scale of B");
    call->scale_a = description.scale_a;
    call->scale_b = description.scale_b;
  }
  if (description.epilogue != 1 && (description.epilogue & 4) != 0) {
    check_address(description.bias, algorithm.alignments[3], "the bias");
    call->bias = description.bias;
  }
  return launch(static_cast<Handle*>(handle)->product, &*call, stream) == kSuccess ? kSuccess : names::kLtInvalidValue;
}

// Versions: CUDA 13.1; hipBLASLt 1.1.
#ifdef TERN_STAND_IN_CUDA
extern "C" __attribute__((visibility("default"))) std::size_t cublasLtGetVersion() {
  return 130100;
}
#else
STAND_IN hipblasLtGetVersion(LtHandle handle, int* version) {
  if (handle == nullptr || version == nullptr) misuse("hipblasLtGetVersion: an argument is null");
  *version = 100100;
  return kSuccess;
}
#endif
