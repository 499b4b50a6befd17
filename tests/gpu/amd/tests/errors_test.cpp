// Uncompilable and unsupported sources, their messages, and the cache.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/gpu/amd/command.h"
#include "tests/gpu/amd/compile.h"
#include "tests/gpu/amd/error.h"
#include "tests/gpu/amd/ir/translate.h"

namespace tern::gpu::amd {
namespace {

std::string log_of(const std::string& text, const std::vector<std::string>& options = {},
                   const std::string& architecture = "gfx942") {
  const CompileResult result = compile({text, "bad.hip", architecture, options, {}});
  EXPECT_FALSE(result.ok);
  return result.log;
}

void expect_in(const std::string& log, const std::string& part) {
  EXPECT_NE(log.find(part), std::string::npos) << log;
}

constexpr char kKernel[] = "extern \"C\" __global__ void k(int* x) { x[threadIdx.x] = 1; }";

TEST(Errors, TheCompilersMessagesNameTheText) {
  expect_in(log_of("extern \"C\" __global__ void k(int* x) { x[0] = y; }"),
            "bad.hip:1:47: error: use of undeclared identifier 'y'");
  expect_in(log_of(kKernel, {"-no-such-option"}), "unknown argument");
}

TEST(Errors, WhatTheEmulatorLacksIsNamed) {
  expect_in(log_of("int f() { return 1; }"), "the text defines no kernel");
  expect_in(log_of("extern \"C\" __global__ void k(int* x) { asm volatile(\"s_nop 1\"); x[0] = 1; }"),
            "inline assembly cannot be emulated: s_nop 1");
  expect_in(log_of("extern \"C\" __global__ void k(int* x) { x[0] = __builtin_amdgcn_s_getreg(1); }"),
            "the emulated GPU lacks llvm.amdgcn.s.getreg");
  expect_in(log_of("extern \"C\" __device__ int f(int); extern \"C\" __global__ void k(int* x) { x[0] = f(1); }"),
            "undefined hidden symbol: f");
  expect_in(log_of("extern \"C\" __global__ void k(int* x) { __shared__ volatile int t[20000]; t[threadIdx.x] = x[0]; "
                   "x[1] = t[x[2]]; }"),
            "local memory (80000) exceeds limit (65536)");
  expect_in(log_of("extern \"C\" __global__ void k(float* x) { x[0] *= 2; }", {"-fgpu-flush-denormals-to-zero"}),
            "flush subnormal numbers");
}

TEST(Errors, BrokenIrIsRefused) {
  EXPECT_THROW(translate(""), Error);
  EXPECT_THROW(translate("define amdgpu_kernel void @k(%unknown %0) {\n}\n"), Error);
  EXPECT_THROW(translate("define amdgpu_kernel void @k(i32 %0 {\n"), Error);
}

TEST(Compile, HeadersAndOtherOptions) {
  const CompileResult result = compile({"#include \"mine.h\"\nextern \"C\" __global__ void k(int* x) { x[0] = VALUE; }",
                                        "a.hip",
                                        "gfx90a",
                                        {"-std=c++20"},
                                        {{"mine.h", "#define VALUE 3\n"}}});
  EXPECT_TRUE(result.ok) << result.log;
}

TEST(Compile, TheCacheKeepsLibraries) {
  const TemporaryFolder folder;
  setenv("TERN_EMULATOR_CACHE", folder.path().c_str(), 1);
  const CompileResult first = compile({kKernel, "k.hip", "gfx942", {}, {}});
  ASSERT_TRUE(first.ok) << first.log;
  std::vector<std::filesystem::path> kept;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) kept.push_back(entry.path());
  ASSERT_EQ(kept.size(), 1u);
  write_file(kept[0], "from the cache");
  EXPECT_EQ(compile({kKernel, "k.hip", "gfx942", {}, {}}).library, "from the cache");
  EXPECT_NE(compile({kKernel, "k.hip", "gfx942", {"-DX"}, {}}).library, "from the cache");
  unsetenv("TERN_EMULATOR_CACHE");
}

}  // namespace
}  // namespace tern::gpu::amd
