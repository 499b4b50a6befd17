// A process with several GPUs: the caller's current device, and copies between devices. Needs the stand-ins of
// tests/gpu with two devices.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

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

  [[nodiscard]] std::int64_t get() const {
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
    const std::int64_t before = current.get();
    {
      Setting s;
      s.make(device);
      EXPECT_EQ(current.get(), before) << "after streams and sessions";
      s.run(device);
      EXPECT_EQ(current.get(), before) << "after runs";
      const Tensor t = Tensor::on(device, DType::f32, {4});
      EXPECT_EQ(current.get(), before) << "after an allocation";
      t.copy_from(floats({4}, {1, 2, 3, 4}));
      EXPECT_EQ(current.get(), before) << "after a copy";
    }
    EXPECT_EQ(current.get(), before) << "after the end of the session";
    release_device_memory(device);
    EXPECT_EQ(current.get(), before) << "after releasing memory";
  }
  current.set(0);
}

}  // namespace
}  // namespace tern
