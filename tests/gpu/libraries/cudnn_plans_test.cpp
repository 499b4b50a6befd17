// The real cuDNN makes the plans of devices/gpu for a described H100, without any device: cuDNN must support the
// convolutions and read the descriptors correctly, and its kernels must fit the device. No kernel runs. TERN_TEST_CUDNN
// names the library; default: the CUDA Toolkit's. Without cuDNN the tests are skipped. cuDNN needs a driver:
// tests/scripts/device.sh cuda.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "devices/gpu/cuda/attention_plan.h"
#include "devices/gpu/cuda/convolution_plan.h"
#include "tests/gpu/libraries/described_h100.h"

namespace tern::gpu {
namespace {

class CudnnPlans : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* own = std::getenv("TERN_TEST_CUDNN");
    void* library = dlopen(own != nullptr ? own : "/usr/local/cuda/lib64/libcudnn.so.9", RTLD_NOW);
    if (library == nullptr || std::getenv("TERN_TEST_NEEDS") == nullptr) GTEST_SKIP() << "no cuDNN, or no driver";
#define TERN_LOAD(name, suffix, parameters) \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, "cudnn" #suffix));
    TERN_GPU_CUDNN_FUNCTIONS(TERN_LOAD)
#undef TERN_LOAD
    target.device = described_h100(api);
    ASSERT_NE(target.device, nullptr);
  }
  void TearDown() override {
    if (target.device != nullptr) api.descriptor_destroy(target.device);
  }

  /// cuDNN's JSON of the plan; empty without a plan.
  std::string plan(const Convolution& c, std::int64_t alignment = 16) {
    return json_of(convolution_plan(api, target, c, alignment));
  }
  std::string plan(const Attention& a) {
    return json_of(attention_plan(api, target, a));
  }

 private:
  std::string json_of(const std::unique_ptr<CudnnPlan>& made) {
    if (made == nullptr) return {};
    std::string json(1 << 20, '\0');
    std::int64_t count = 0;
    EXPECT_EQ(api.get(made->plan.handle(), cudnn::kPlanJson, cudnn::kTypeChar, std::ssize(json), &count, json.data()),
              kSuccess);
    return json.substr(0, json.find('\0'));
  }

 protected:
  CudnnApi api;
  CudnnTarget target;
};

enum { kF16 = 10, kBf16 = 11, kF32 = 12, kF64 = 13 };  // tern/dtype.h

/// 64 channels of 56 x 56, a window of 3 x 3 with padding, in `groups`.
Convolution block(int dtype, std::uint32_t bytes, std::int64_t groups, bool has_bias) {
  Convolution c;
  c.dtype = dtype;
  c.bytes = bytes;
  c.is_exact = true;
  c.has_bias = has_bias;
  c.x = contiguous({2, 64, 56, 56});
  c.w = contiguous({64, 64 / groups, 3, 3});
  c.y = contiguous({2, 64, 56, 56});
  c.padding_before = c.padding_after = {1, 1};
  c.strides = c.dilations = {1, 1};
  return c;
}

TEST_F(CudnnPlans, EveryTypeHasOne) {
  struct Case {
    int type;
    std::uint32_t bytes;
  };
  for (const Case t : {Case{kF16, 2}, {kBf16, 2}, {kF32, 4}}) {
    for (int kind = 0; kind < 8; ++kind) {
      Convolution c = block(t.type, t.bytes, (kind & 1) != 0 ? 64 : 1, (kind & 2) != 0);
      // cuDNN 9.19 fuses ReLU without a preceding bias only for float16: otherwise Tern's kernel applies ReLU.
      c.has_relu = (kind & 4) != 0;
      if (c.has_relu && !c.has_bias) continue;
      for (const std::int64_t alignment : {std::int64_t{16}, std::int64_t{t.bytes}})
        EXPECT_NE(plan(c, alignment), "") << t.type << ' ' << kind << ' ' << alignment;
    }
  }
  EXPECT_NE(plan(block(kF64, 8, 1, false)), "");
}

TEST_F(CudnnPlans, DescriptorsMeanWhatTheySay) {
  Convolution c = block(kF16, 2, 1, true);
  c.padding_before = {2, 1};
  c.padding_after = {0, 1};
  c.strides = {1, 2};
  c.dilations = {1, 1};
  c.y = contiguous({2, 64, 56, 28});
  const std::string json = plan(c);
  for (const char* part :
       {R"("dim":[64,64,3,3])", R"("stride":[576,9,3,1])", R"("dim":[1,64,1,1])", R"("stride":[1,2])",
        R"("mode":"CUDNN_CROSS_CORRELATION")", R"("mathPrec":"CUDNN_DATA_FLOAT")",
        R"("pointwiseMode":"CUDNN_POINTWISE_ADD")", R"("smVersion":900)", R"("ptrAlignment":16)"})
    EXPECT_NE(json.find(part), std::string::npos) << part << " is not in " << json;
}

TEST_F(CudnnPlans, ExactOnesUseNoTensorCores) {
  Convolution c = block(kF32, 4, 1, true);
  const std::string exact = plan(c);
  c.is_exact = false;
  const std::string any = plan(c);
  EXPECT_NE(exact, "");
  EXPECT_NE(exact.substr(exact.find("\"engine\"")), any.substr(any.find("\"engine\"")));
}

/// The engine number in cuDNN's JSON of a plan.
std::int64_t engine_of(const std::string& json) {
  const std::size_t at = json.find(R"("engineId":)");
  return at == std::string::npos ? -1 : std::atoll(json.c_str() + at + 11);
}

// cuDNN 9.20 proposes 23 engines with tensor cores before the first without.
TEST_F(CudnnPlans, ExactOnesAreTheHeuristics) {
  Convolution c = block(kF32, 4, 1, true);
  c.has_relu = true;
  c.x = c.y = contiguous({1, 512, 7, 7});
  c.w = contiguous({512, 512, 3, 3});
  const cudnn::Descriptor graph = cudnn_graph(target, convolution_operations(api, c, 16));
  const auto proposed = cudnn_engines(api, target, graph, cudnn::kModeA);
  const auto exact = std::ranges::find_if(
      proposed, [](const CudnnEngine& e) { return std::ranges::find(e.notes, cudnn::kTensorCore) == e.notes.end(); });
  ASSERT_NE(exact, proposed.end());
  EXPECT_EQ(engine_of(plan(c)), exact->index);
}

TEST_F(CudnnPlans, EnginesThatCompileGiveWay) {
  Convolution c = block(kBf16, 2, 64, false);  // MobileNet: cuDNN 9.20 compiles its first engine for the graph
  const cudnn::Descriptor graph = cudnn_graph(target, convolution_operations(api, c, 16));
  for (const CudnnEngine& e : cudnn_engines(api, target, graph, cudnn::kModeA)) {
    if (e.index != engine_of(plan(c))) continue;
    EXPECT_EQ(std::ranges::find(e.behaviours, cudnn::kCompiles), e.behaviours.end());
    return;
  }
  ADD_FAILURE() << "the plan's engine is none of the heuristic's";
}

TEST_F(CudnnPlans, ThereIsNoneForSizesThatDisagree) {
  Convolution c = block(kF16, 2, 1, false);
  c.y = contiguous({2, 64, 55, 56});
  EXPECT_EQ(plan(c), "");
}

/// Two sequences of 16 heads, with keys of 4 groups.
Attention heads(int type, std::int64_t queries, std::int64_t keys, std::int64_t width) {
  Attention a;
  a.type = type;
  a.q = contiguous({2, 16, queries, width});
  a.k = contiguous({2, 4, keys, width});
  a.v = contiguous({2, 4, keys, width});
  a.out = contiguous({2, 16, queries, width});
  a.scale = 0.125f;
  return a;
}
/// A mask per sequence, or per head, added as values of the type.
Attention masked(Attention a, bool for_each_head, int type) {
  a.mask = contiguous({2, 16, a.q.sizes[2], a.k.sizes[2]});
  if (!for_each_head) a.mask.strides[1] = 0;
  a.bias_type = type;
  return a;
}
Attention causal(Attention a) {
  a.is_causal = true;
  return a;
}

TEST_F(CudnnPlans, AttentionHasOne) {
  using namespace cudnn;
  EXPECT_NE(plan(heads(kHalf, 1000, 77, 64)), "");
  EXPECT_NE(plan(causal(heads(kBfloat16, 1024, 1024, 128))), "");
  EXPECT_NE(plan(causal(masked(heads(kHalf, 77, 1001, 72), true, kFloat))), "");
  EXPECT_NE(plan(masked(heads(kBfloat16, 100, 1001, 256), false, kFloat)), "");
  EXPECT_NE(plan(masked(heads(kBfloat16, 1, 1001, 128), false, kBfloat16)), "") << "a text that grows";
  Attention a = heads(kHalf, 100, 100, 64);
  a.v = contiguous({2, 4, 99, 64});
  EXPECT_EQ(plan(a), "") << "values for fewer keys";
}

TEST_F(CudnnPlans, CompiledOnesComeBackFromTheDisk) {
  char folder[] = "/tmp/tern_plans_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  setenv("TERN_CACHE", folder, 1);
  target.plan_key = "a described H100";
  const Attention a = causal(heads(cudnn::kBfloat16, 1024, 1024, 128));
  const std::string made = plan(a);
  EXPECT_NE(made, "");
  static CudnnApi real;
  real = api;
  api.descriptor_create = [](int kind, CudnnDescriptor* d) {
    return kind == cudnn::kGraph ? kOutOfMemory : real.descriptor_create(kind, d);
  };
  EXPECT_EQ(plan(a), made);
  EXPECT_EQ(plan(heads(cudnn::kBfloat16, 1024, 1024, 128)), "") << "another one";
  target.plan_key = "another device";
  EXPECT_EQ(plan(a), "");
  api = real;
  unsetenv("TERN_CACHE");
  std::filesystem::remove_all(folder);
}

TEST_F(CudnnPlans, AttentionMeansWhatItSays) {
  Attention a = causal(masked(heads(cudnn::kBfloat16, 100, 203, 64), false, cudnn::kFloat));
  a.q.strides = {100 * 16 * 64, 64, 16 * 64, 1};  // stored as [batch, rows, heads, width]
  const std::string json = plan(a);
  for (const char* part :
       {R"("dim":[2,16,100,64],"stride":[102400,64,1024,1])", R"("dim":[2,4,64,203],"stride":[51968,12992,1,64])",
        R"("dim":[2,1,100,203],"stride":[20800,20800,208,1])", R"("dataType":"CUDNN_DATA_BFLOAT16")",
        R"("pointwiseMode":"CUDNN_POINTWISE_GEN_INDEX")", R"("pointwiseMode":"CUDNN_POINTWISE_BINARY_SELECT")",
        R"("isByValue":true)", R"("smVersion":900)"})
    EXPECT_NE(json.find(part), std::string::npos) << part << " is not in " << json.substr(0, 10000);
  EXPECT_NE(json.find("sdpa"), std::string::npos) << "the kernel is one of attention";
}

}  // namespace
}  // namespace tern::gpu
