// Counts a session's calls of the vendor's library. TERN_TEST_NEEDS names the device (tests/scripts/device.sh sets up
// the rest).
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <tern/tern.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/gpu/libraries/convolution_call.h"
#include "tests/gpu/libraries/product_call.h"
#include "tests/runtime/support.h"

namespace tern::testing {

inline const char* device() {
  return std::getenv("TERN_TEST_NEEDS");
}

/// A function of the emulated driver, already opened by a session.
template <class F>
F* emulator(const char* name) {
  void* driver = dlopen(std::string(device()) == "cuda" ? "libcuda.so.1" : "libamdhip64.so.7", RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<F*>(driver == nullptr ? nullptr : dlsym(driver, name));
}

/// Launches of the libraries' kernels so far.
inline std::uint64_t launches_of_libraries() {
  static auto* const launches = emulator<std::uint64_t(const char*)>("tern_emulator_launches");
  return launches == nullptr ? 0 : launches(stand_in::kProductKernel) + launches(stand_in::kConvolutionKernel);
}

class LibraryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device() == nullptr) GTEST_SKIP() << "TERN_TEST_NEEDS names no device";
  }
  void TearDown() override {
    unsetenv("TERN_CUDA_ROWS");
    unsetenv("TERN_ROCM_ROWS");
  }

  /// Library calls of a run.
  std::uint64_t run(const Model& model, const std::vector<Tensor>& inputs, PrepareOptions options = {}) {
    options.device = device();
    Session session(model.prepare(options));
    result = values_of(session.run(inputs)[0]);
    const std::uint64_t before = launches_of_libraries();  // the driver is open by now
    result = values_of(session.run(inputs)[0]);
    partition_count = session.stats().partitions;
    return launches_of_libraries() - before;
  }

  /// Fails each of these functions once during a run: the error contains `text`, and the next run is correct.
  static void expect_failures(Session& session, const std::vector<Tensor>& inputs, const std::vector<float>& expected,
                              std::initializer_list<const char*> functions, const char* text) {
    for (const char* function : functions) {
      setenv("TERN_STAND_IN_FAILS", function, 1);
      try {
        session.run(inputs);
        ADD_FAILURE() << function << " failed";
      } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
      }
      unsetenv("TERN_STAND_IN_FAILS");
      EXPECT_EQ(values_of(session.run(inputs)[0]), expected) << function;
    }
  }

  std::vector<float> result;
  std::uint64_t partition_count = 0;  ///< parts compiled by the plugin
};

/// x [2, 3] times the transpose of [2, 3], plus a vector.
inline Model linear() {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 3}), w = p.input(DType::f32, {2, 3}), bias = p.input(DType::f32, {2});
  p.output(p.b().add(Op::matmul, {x, p.b().transpose(w, 0, 1), bias}));
  return p.model();
}
inline std::vector<Tensor> linear_inputs() {
  return {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({2, 3}, {1, 0, -1, 2, 1, 0}), floats({2}, {10, 20})};
}
inline const std::vector<float> kLinear = {8, 24, 8, 33};

}  // namespace tern::testing
