// A process with several GPUs: the caller's current device, and copies between devices. Needs the stand-ins of
// tests/gpu with two devices.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "tests/devices/emulated_driver.h"
#include "tests/devices/everything.h"

namespace tern {
namespace {

using namespace testing;

/// The current device of this thread, by the driver's own functions. A CUDA context or a HIP device counts as a number.
class CurrentDevice {
 public:
  explicit CurrentDevice(const std::string& plugin) : is_cuda_(plugin == "cuda") {
    driver_ = dlopen(is_cuda_ ? "libcuda.so.1" : "libamdhip64.so.7", RTLD_NOW | RTLD_NOLOAD);
  }
  [[nodiscard]] bool exists() const { return driver_ != nullptr; }

  [[nodiscard]] std::int64_t current_device() const {
    void* context = nullptr;
    int device = -1;
    const int error =
        is_cuda_ ? function<int(void**)>("cuCtxGetCurrent")(&context) : function<int(int*)>("hipGetDevice")(&device);
    EXPECT_EQ(error, 0);
    return is_cuda_ ? static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(context)) : device;
  }
  void set(int device) const {
    void* context = nullptr;
    if (is_cuda_) {
      ASSERT_EQ(function<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, device), 0);
      ASSERT_EQ(function<int(void*)>("cuCtxSetCurrent")(context), 0);
    } else {
      ASSERT_EQ(function<int(int)>("hipSetDevice")(device), 0);
    }
  }
  /// CUDA only: no context is current, as on a new thread.
  void clear() const { ASSERT_EQ(function<int(void*)>("cuCtxSetCurrent")(nullptr), 0); }

 private:
  template <class F>
  F* function(const char* name) const {
    return reinterpret_cast<F*>(dlsym(driver_, name));
  }
  bool is_cuda_;
  void* driver_;
};

class SeveralGpusTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string plugin = GetParam();
    const auto found = std::ranges::find(all_plugins(), plugin, &Plugin::name);
    if (found == all_plugins().end() || found->count < 2) GTEST_SKIP() << "there are no two such devices";
  }
};
INSTANTIATE_TEST_SUITE_P(Gpus, SeveralGpusTest, ::testing::Values("cuda", "rocm"), name_of_case);

TEST_P(SeveralGpusTest, TheCallersDeviceStaysCurrent) {
  const CurrentDevice current(GetParam());
  if (!current.exists()) GTEST_SKIP() << "the driver is not an emulated one";
  const std::string device = GetParam() + ":0";
  const int kinds = GetParam() == "cuda" ? 3 : 2;
  for (int kind = 0; kind < kinds; ++kind) {
    SCOPED_TRACE(kind);
    kind == 2 ? current.clear() : current.set(kind);
    const std::int64_t before = current.current_device();
    {
      Setting s;
      s.create(device);
      EXPECT_EQ(current.current_device(), before) << "after streams and sessions";
      s.run(device);
      EXPECT_EQ(current.current_device(), before) << "after runs";
      const Tensor t = Tensor::allocate(device, DType::f32, {4});
      EXPECT_EQ(current.current_device(), before) << "after an allocation";
      t.copy_from(floats({4}, {1, 2, 3, 4}));
      EXPECT_EQ(current.current_device(), before) << "after a copy";
    }
    EXPECT_EQ(current.current_device(), before) << "after the end of the session";
    release_device_memory(device);
    EXPECT_EQ(current.current_device(), before) << "after releasing memory";
  }
  current.set(0);
}

TEST_P(SeveralGpusTest, CopiesBetweenDevicesDoNotPassThroughTheHost) {
  const EmulatedDriver driver(GetParam());
  if (driver.counters == nullptr) GTEST_SKIP() << "the driver is not an emulated one";
  const Tensor here = floats({2, 3}, {1, 2, 3, 4, 5, 6}).to(GetParam() + ":0");
  const Tensor there = Tensor::allocate(GetParam() + ":1", DType::f32, {2, 3});
  const tern_emulator_figures before = driver.figures();
  there.copy_from(here);
  const tern_emulator_figures after = driver.figures();
  EXPECT_EQ(after.bytes_out, before.bytes_out);
  EXPECT_EQ(after.bytes_in, before.bytes_in);
  EXPECT_EQ(after.bytes_over, before.bytes_over + 6 * sizeof(float));
  EXPECT_EQ(after.mistakes, before.mistakes) << driver.report();
  EXPECT_EQ(values_of(there.to("cpu")), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_P(SeveralGpusTest, StridedCopiesBetweenDevices) {
  const std::string first = GetParam() + ":0", second = GetParam() + ":1";
  const Tensor rows = floats({2, 3}, {1, 2, 3, 4, 5, 6}).to(first);
  const Tensor turned = Tensor::borrow_on(first, const_cast<void*>(rows.data()), DType::f32, {3, 2}, {1, 3}, nullptr);
  EXPECT_EQ(values_of(turned.to(second).to("cpu")), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  const Tensor into = Tensor::allocate(second, DType::f32, {2, 3});
  Tensor::borrow_on(second, const_cast<void*>(into.data()), DType::f32, {3, 2}, {1, 3}, nullptr).copy_from(turned);
  EXPECT_EQ(values_of(into.to("cpu")), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_P(SeveralGpusTest, ACaptureOfTheApplicationIsSeen) {
  const bool is_cuda = GetParam() == "cuda";
  void* const driver = dlopen(is_cuda ? "libcuda.so.1" : "libamdhip64.so.7", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) GTEST_SKIP() << "the driver has another name";
  const auto function = [&](const char* cuda, const char* hip) { return dlsym(driver, is_cuda ? cuda : hip); };
  const auto begin =
      reinterpret_cast<int (*)(void*, int)>(function("cuStreamBeginCapture_v2", "hipStreamBeginCapture"));
  const auto end = reinterpret_cast<int (*)(void*, void**)>(function("cuStreamEndCapture", "hipStreamEndCapture"));
  const auto destroy = reinterpret_cast<int (*)(void*)>(function("cuGraphDestroy", "hipGraphDestroy"));
  const Stream stream(GetParam());
  EXPECT_FALSE(stream.is_capturing());
  void* const native = stream.native();
  EXPECT_FALSE(stream.is_capturing());
  constexpr int kRelaxedMode = 2;
  ASSERT_EQ(begin(native, kRelaxedMode), 0);
  EXPECT_TRUE(stream.is_capturing());
  Graph graph;
  EXPECT_THROW(graph.capture_begin(stream), Error);
  void* made = nullptr;
  ASSERT_EQ(end(native, &made), 0);
  EXPECT_FALSE(stream.is_capturing());
  EXPECT_EQ(destroy(made), 0);
}

// Memory that was mapped before the first copy, and memory after it.
TEST_P(SeveralGpusTest, LaterMemoryIsOpenToPeersToo) {
  const std::string first = GetParam() + ":0", second = GetParam() + ":1";
  constexpr std::int64_t kMany = std::int64_t{1} << 23;  // more than a piece
  for (int round = 0; round < 2; ++round) {
    Tensor here(DType::f32, {kMany});
    here.span<float>()[kMany - 1] = static_cast<float>(round + 1);
    const Tensor back = here.to(first).to(second).to(first).to("cpu");
    EXPECT_EQ(back.span<const float>()[kMany - 1], static_cast<float>(round + 1));
    release_device_memory(first);
    release_device_memory(second);
  }
}

}  // namespace
}  // namespace tern
