// Modules: compiler options, messages, and failures.
#include "tests/gpu/metal/tests/support.h"

namespace {

class Module : public MetalTest {
 protected:
  /// Expects a launch of 64 items in a group to end the process with the message.
  void expect_end(const char* text, const char* name, const char* message) {
    tern_device_module module = nullptr;
    tern_device_kernel kernel = nullptr;
    SUCCEEDS(load(text, &module));
    SUCCEEDS(plugin().module_kernel(0, module, name, &kernel));
    EXPECT_DEATH(
        {
          run(kernel, memory, 0, 64, stream, 64);
          plugin().stream_synchronize(0, stream);
        },
        message);
    SUCCEEDS(plugin().module_unload(0, module));
  }
};

TEST_F(Module, ErrorsOfTheCompilerAreItsLog) {
  tern_device_module module = nullptr;
  FAILS(TERN_DEVICE_COMPILE,
        load("#include <metal_stdlib>\nkernel void broken(uint i [[thread_position_in_grid]]) { nonsense; }", &module));
  EXPECT_NE(std::string(plugin().last_message()).find("nonsense"), std::string::npos) << plugin().last_message();
}

TEST_F(Module, AWordOfTheLanguageIsNoName) {
  tern_device_module module = nullptr;
  FAILS(TERN_DEVICE_COMPILE,
        load("#include <metal_stdlib>\nkernel void named(device int* x [[buffer(0)]]) { int thread = 1; *x = thread; }",
             &module));
}

TEST_F(Module, AKernelThatIsNotThere) {
  tern_device_module module = nullptr;
  tern_device_kernel kernel = nullptr;
  SUCCEEDS(load(kScale, &module));
  FAILS(TERN_DEVICE_INVALID, plugin().module_kernel(0, module, "other", &kernel));
  SUCCEEDS(plugin().module_unload(0, module));
}

TEST_F(Module, AnotherDialectIsRefused) {
  tern_device_source source{};
  source.size = sizeof source;
  source.dialect = TERN_DIALECT_OPENCL;
  source.text = "";
  tern_device_module module = nullptr;
  FAILS(TERN_DEVICE_UNSUPPORTED, plugin().module_load(0, &source, &module));
}

// (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 with a single rounding, and 0 with two.
float fused(const std::string& pragma, bool* compiled) {
  const std::string text =
      "#include <metal_stdlib>\n" + pragma +
      "\nkernel void square(device float* x [[buffer(0)]], constant float& n [[buffer(1)]], uint i "
      "[[thread_position_in_grid]]) {\n  x[i] = x[i] * x[i] + n;\n}\n";
  tern_device_source source{};
  source.size = sizeof source;
  source.dialect = TERN_DIALECT_METAL;
  source.text = text.c_str();
  source.length = text.size();
  tern_device_module module = nullptr;
  tern_device_kernel kernel = nullptr;
  tern_device_stream stream = nullptr;
  tern_device_address memory = 0;
  const float x = 1 + 0x1p-12F, n = -(1 + 0x1p-11F);
  float result = -1;
  const tern_device_argument arguments[] = {{&memory, sizeof memory, 1}, {&n, sizeof n, 0}};
  tern_device_launch launch{};
  launch.size = sizeof launch;
  launch.argument_count = 2;
  launch.arguments = arguments;
  launch.items = 1;
  *compiled = plugin().module_load(0, &source, &module) == TERN_DEVICE_OK &&
              plugin().module_kernel(0, module, "square", &kernel) == TERN_DEVICE_OK &&
              plugin().stream_create(0, &stream) == TERN_DEVICE_OK &&
              plugin().allocate(0, sizeof x, &memory) == TERN_DEVICE_OK &&
              plugin().copy_to_device(0, stream, memory, &x, sizeof x) == TERN_DEVICE_OK &&
              plugin().launch(0, stream, kernel, &launch) == TERN_DEVICE_OK &&
              plugin().copy_to_host(0, stream, &result, memory, sizeof x) == TERN_DEVICE_OK &&
              plugin().stream_destroy(0, stream) == TERN_DEVICE_OK && plugin().free(0, memory) == TERN_DEVICE_OK &&
              plugin().module_unload(0, module) == TERN_DEVICE_OK;
  return result;
}

TEST_F(Module, OnlyThePragmaKeepsProductsAndSumsApart) {
  bool compiled = false;
  EXPECT_EQ(fused("#pragma METAL fp contract(off)", &compiled), 0);
  EXPECT_TRUE(compiled) << plugin().last_message();
  EXPECT_EQ(fused("", &compiled), 0x1p-24F);
  EXPECT_TRUE(compiled) << plugin().last_message();
}

// Checks both ways to turn fast math off: a compiler with fast math folds x - x to 0 and x != x to false.
TEST_F(Module, MathIsNotFast) {
  const std::string text = std::string(
      "#include <metal_stdlib>\nkernel void nan(device float* x [[buffer(0)]], constant "
      "float& n [[buffer(1)]], uint i [[thread_position_in_grid]]) {\n  x[i] = x[i] != "
      "x[i] ? n : 0;\n}\n");
  tern_device_module module = nullptr;
  tern_device_kernel kernel = nullptr;
  SUCCEEDS(load(text, &module));
  SUCCEEDS(plugin().module_kernel(0, module, "nan", &kernel));
  SUCCEEDS(run(kernel, memory, 7, kNumbers, stream));  // fresh memory is NaN
  EXPECT_EQ(read(stream), 7);
  SUCCEEDS(plugin().module_unload(0, module));
}

// TERN_EMULATOR_FLUSH=1 flushes like Apple's GPUs; the default is IEEE 754.
TEST_F(Module, SubnormalNumbersAreFlushedOnRequest) {
  for (const bool flush : {false, true}) {
    setenv("TERN_EMULATOR_FLUSH", flush ? "1" : "0", 1);
    tern_device_module module = nullptr;
    tern_device_kernel kernel = nullptr;
    SUCCEEDS(load(kScale, &module));
    SUCCEEDS(plugin().module_kernel(0, module, "scale", &kernel));
    write(0x1p-140F, stream);
    SUCCEEDS(run(kernel, memory, 0, kNumbers, stream));
    EXPECT_EQ(read(stream), flush ? 0 : 0x1p-139F);
    SUCCEEDS(plugin().module_unload(0, module));
  }
  unsetenv("TERN_EMULATOR_FLUSH");
}

TEST_F(Module, EachCallThatCanFailIsReported) {
  tern_device_module module = nullptr;
  tern_device_stream made = nullptr;
  tern_device_event event = nullptr;
  tern_device_address address = 0;
  tern_device_kernel kernel = nullptr;
  tern_emulator_fail("newLibraryWithSource:options:error:", 1);
  FAILS(TERN_DEVICE_COMPILE, load(kScale, &module));
  EXPECT_STREQ(plugin().last_message(), "the emulated compiler fails, as TERN_EMULATOR_FAIL asks");
  tern_emulator_fail(is_metal4() ? "newMTL4CommandQueue" : "newCommandQueue", 1);
  FAILS(TERN_DEVICE_FAILED, plugin().stream_create(0, &made));
  tern_emulator_fail("newSharedEvent", 1);
  FAILS(TERN_DEVICE_FAILED, plugin().event_create(0, &event));
  tern_emulator_fail("newBufferWithLength:options:", 1);
  FAILS(TERN_DEVICE_OUT_OF_MEMORY, plugin().allocate(0, 64, &address));
  SUCCEEDS(load(kScale, &module));
  tern_emulator_fail("newComputePipelineStateWithFunction:error:", 1);
  FAILS(TERN_DEVICE_COMPILE, plugin().module_kernel(0, module, "scale", &kernel));
  SUCCEEDS(plugin().module_unload(0, module));
}

TEST_F(Module, MemoryRunsOutWithAnErrorThatTernTriesAgain) {
  tern_device_address address = 0;
  FAILS(TERN_DEVICE_OUT_OF_MEMORY, plugin().allocate(0, uint64_t{1} << 60, &address));
}

// Each group reverses its elements in threadgroup memory, then adds neighbours of a simdgroup.
TEST_F(Module, ItemsOfAGroupWorkTogether) {
  constexpr uint32_t kGroup = 64;
  tern_device_module module = nullptr;
  tern_device_kernel kernel = nullptr;
  SUCCEEDS(load(R"(#include <metal_stdlib>
using namespace metal;
kernel void turn(device float* x [[buffer(0)]], constant float& number [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
  threadgroup float shared[64];
  shared[i % 64] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const float turned = shared[63 - i % 64];
  x[i] = turned + number * simd_shuffle_xor(turned, ushort(1));
}
)",
                &module));
  SUCCEEDS(plugin().module_kernel(0, module, "turn", &kernel));
  numbers.resize(kNumbers);
  for (int i = 0; i < kNumbers; ++i) numbers[i] = static_cast<float>(i);
  SUCCEEDS(plugin().copy_to_device(0, stream, memory, numbers.data(), kBytes));
  SUCCEEDS(run(kernel, memory, 1000, kNumbers, stream, kGroup));
  SUCCEEDS(plugin().copy_to_host(0, stream, numbers.data(), memory, kBytes));
  const auto turned = [](int i) { return i / 64 * 64 + 63 - i % 64; };
  for (int i = 0; i < kNumbers; ++i) ASSERT_EQ(numbers[i], static_cast<float>(turned(i) + 1000 * turned(i ^ 1))) << i;
  SUCCEEDS(plugin().module_unload(0, module));
}

TEST_F(Module, ABarrierThatSomeItemsMissIsNoticed) {
  expect_end(R"(#include <metal_stdlib>
using namespace metal;
kernel void miss(device float* x [[buffer(0)]], constant float& number [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
  if (i < 5) threadgroup_barrier(mem_flags::mem_threadgroup);
  x[i] = number;
}
)",
             "miss", "kernel miss.*barrier");
}

TEST_F(Module, MoreThreadgroupMemoryThanAGpuHasIsNoticed) {
  expect_end(R"(#include <metal_stdlib>
using namespace metal;
kernel void large(device float* x [[buffer(0)]], constant float& number [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
  threadgroup float first[8192];
  threadgroup float second[1];
  first[i] = second[0] = number;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  x[i] = first[i] + second[0];
}
)",
             "large", "kernel large.*threadgroup memory");
}

}  // namespace
