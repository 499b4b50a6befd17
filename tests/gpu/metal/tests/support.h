// Shared by the tests: the plugin over the stand-in, through its C interface, and messages to the stand-in's objects.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <tern/device.h>

#include <cstring>
#include <string>
#include <vector>

// Exports of the stand-in.
extern "C" {
void objc_msgSend(void);
const char* sel_registerName(const char* name);
void* objc_lookUpClass(const char* name);
void* MTLCopyAllDevices(void);
void tern_emulator_fail(const char* selector, uint64_t n);
uint64_t tern_emulator_objects(const char* name);
uint64_t tern_emulator_launches(const char* kernel);
const char* tern_emulator_report(void);
}

// send<R>(object, "selector:", arguments...): passes arguments with their own types.
template <class R, class... A>
R send(void* object, const char* selector, A... arguments) {
  return reinterpret_cast<R (*)(void*, const char*, A...)>(&objc_msgSend)(object, sel_registerName(selector),
                                                                          arguments...);
}

inline const tern_device_plugin& plugin() {
  static const tern_device_plugin* const found = [] {
    void* library = dlopen(TERN_METAL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    auto* get = library == nullptr ? nullptr : dlsym(library, "tern_device_library");
    return get == nullptr ? nullptr : reinterpret_cast<decltype(&tern_device_library)>(get)();
  }();
  return *found;
}

// True if the plugin uses Metal 4, its choice if available (TERN_EMULATOR_MACOS, TERN_METAL_VERSION).
inline bool is_metal4() {
  tern_device_properties p{};
  p.size = sizeof p;
  return plugin().properties(0, &p) == TERN_DEVICE_OK && std::strncmp(p.driver, "Metal 4", 7) == 0;
}
inline const char* commit_call() {
  return is_metal4() ? "commit:count:options:" : "commit";
}

#define SUCCEEDS(call) ASSERT_EQ(call, TERN_DEVICE_OK) << plugin().last_message()
#define FAILS(status, call) ASSERT_EQ(call, status)

inline constexpr int kNumbers = 256;

// Two streams and memory of kNumbers numbers.
class MetalTest : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    SUCCEEDS(plugin().stream_create(0, &stream));
    SUCCEEDS(plugin().stream_create(0, &second_stream));
    SUCCEEDS(plugin().allocate(0, kBytes, &memory));
  }
  void TearDown() override {
    tern_emulator_fail(commit_call(), 0);
    plugin().stream_destroy(0, stream);
    plugin().stream_destroy(0, second_stream);
    SUCCEEDS(plugin().free(0, memory));
    EXPECT_EQ(tern_emulator_objects("MTLCommandBuffer"), 0u);
    for (const char* name : {"MTLCommandQueue", "MTL4CommandQueue", "MTL4CommandBuffer", "MTL4CommandAllocator"})
      EXPECT_EQ(tern_emulator_objects(name), 0u) << name;
    EXPECT_EQ(tern_emulator_objects("MTLSharedEvent"), 0u);
    EXPECT_EQ(tern_emulator_objects("NSString"), 0u);
    EXPECT_EQ(tern_emulator_objects("NSAutoreleasePool"), 0u);
  }

  tern_device_status load(const std::string& text, tern_device_module* module) {
    tern_device_source source{};
    source.size = sizeof source;
    source.dialect = TERN_DIALECT_METAL;
    source.name = "test";
    source.text = text.c_str();
    source.length = text.size();
    return plugin().module_load(0, &source, module);
  }

  // Runs a kernel with the address as buffer 0 and a number as buffer 1.
  tern_device_status run(tern_device_kernel kernel, tern_device_address address, float number, uint64_t items,
                         tern_device_stream on, uint32_t group = 0) {
    const tern_device_argument arguments[] = {{&address, sizeof address, 1}, {&number, sizeof number, 0}};
    tern_device_launch launch{};
    launch.size = sizeof launch;
    launch.argument_count = 2;
    launch.arguments = arguments;
    launch.items = items;
    launch.group = group;
    return plugin().launch(0, on, kernel, &launch);
  }

  void write(float value, tern_device_stream on) {
    numbers.assign(kNumbers, value);
    SUCCEEDS(plugin().copy_to_device(0, on, memory, numbers.data(), kBytes));
  }
  float read(tern_device_stream on) {
    numbers.assign(kNumbers, -1);
    EXPECT_EQ(plugin().copy_to_host(0, on, numbers.data(), memory, kBytes), TERN_DEVICE_OK);
    EXPECT_EQ(plugin().stream_synchronize(0, on), TERN_DEVICE_OK) << plugin().last_message();
    return numbers[kNumbers - 1];
  }

  static constexpr uint64_t kBytes = kNumbers * sizeof(float);
  tern_device_stream stream = nullptr, second_stream = nullptr;
  tern_device_address memory = 0;
  std::vector<float> numbers;
};

// x[i] = x[i] * 2 + number, in two roundings.
inline constexpr const char* kScale = R"(#include <metal_stdlib>
#pragma METAL fp contract(off)
kernel void scale(device float* x [[buffer(0)]], constant float& number [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
  x[i] = x[i] * 2 + number;
}
)";
