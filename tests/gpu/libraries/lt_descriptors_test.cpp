// The real cuBLASLt accepts every attribute set by devices/gpu, with its size; descriptors need no device.
// TERN_TEST_CUBLASLT names the library; default: the CUDA Toolkit's. Without cuBLASLt the test is skipped.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "devices/gpu/libraries/lt_api.h"

namespace tern::gpu {
namespace {

namespace n = names;

TEST(LtDescriptors, TheRealLibraryTakesThem) {
  const char* own = std::getenv("TERN_TEST_CUBLASLT");
  void* library = dlopen(own != nullptr ? own : "/usr/local/cuda/lib64/libcublasLt.so.13", RTLD_NOW);
  if (library == nullptr) GTEST_SKIP() << "no cuBLASLt";
  LtApi api;
#define TERN_LOAD(name, suffix, parameters)                                                    \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, TERN_GPU_LT_SYMBOL(suffix))); \
  ASSERT_NE(api.name, nullptr) << #suffix;
  TERN_GPU_LT_FUNCTIONS(TERN_LOAD)
#undef TERN_LOAD
  const auto set = [](auto function, void* object, int attribute, auto value) {
    EXPECT_EQ(function(object, attribute, &value, sizeof value), kSuccess) << attribute;
    EXPECT_NE(function(object, attribute, &value, sizeof value + 1), kSuccess) << "its size is checked: " << attribute;
  };
  LtLayout layout = nullptr;
  ASSERT_EQ(api.layout_create(&layout, n::kLtBf16, 3, 4, 8), kSuccess);
  set(api.layout_set, layout, n::kLtBatchCount, std::int32_t{5});
  set(api.layout_set, layout, n::kLtBatchOffset, std::int64_t{32});
  for (const int compute :
       {n::kLtCompute32, n::kLtComputeBfloat16, n::kLtComputeTf32, n::kLtCompute64, n::kLtComputeInt32}) {
    LtProduct product = nullptr;
    ASSERT_EQ(api.product_create(&product, compute,
                                 compute == n::kLtCompute64      ? n::kLtF64
                                 : compute == n::kLtComputeInt32 ? n::kLtI32
                                                                 : n::kLtF32),
              kSuccess);
    set(api.product_set, product, n::kLtTransA, std::int32_t{n::kLtTransposed});
    set(api.product_set, product, n::kLtTransB, std::int32_t{n::kLtNormal});
    set(api.product_set, product, n::kLtEpilogue, std::uint32_t{n::kLtEpilogueBias | 32});
    set(api.product_set, product, n::kLtBiasType, std::int32_t{n::kLtBf16});
    set(api.product_set, product, n::kLtBiasPointer, std::uint64_t{16});
    for (const int attribute : {n::kLtScaleA, n::kLtScaleB})
      set(api.product_set, product, attribute, std::uint64_t{16});
    for (const int attribute : {n::kLtScaleModeA, n::kLtScaleModeB})
      for (const int mode : {n::kLtScaleOfRows, n::kLtScaleOfBlocks})
        set(api.product_set, product, attribute, std::int32_t{mode});
    EXPECT_EQ(api.product_destroy(product), kSuccess);
  }
  LtPreference preference = nullptr;
  ASSERT_EQ(api.preference_create(&preference), kSuccess);
  set(api.preference_set, preference, n::kLtWorkspace, std::uint64_t{1} << 25);
  set(api.preference_set, preference, n::kLtReductions, std::uint32_t{n::kLtReduceInCompute});
  for (const int attribute : n::kLtAlignments) set(api.preference_set, preference, attribute, std::uint32_t{16});
  EXPECT_EQ(api.preference_destroy(preference), kSuccess);
  EXPECT_EQ(api.layout_destroy(layout), kSuccess);
}

}  // namespace
}  // namespace tern::gpu
