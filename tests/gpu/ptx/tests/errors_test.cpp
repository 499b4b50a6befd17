// Messages for untranslatable PTX, and for kernels with errors on a GPU.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tests/gpu/ptx/tests/launcher.h"
#include "tests/gpu/ptx/translate.h"

namespace tern::emulated {
namespace {

// The instructions are lines 7 and on.
std::string ptx_with(const std::string& instructions) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 y) {\n"
         ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .pred %p<9>;\nmov.u32 %r1, 5;\n" +
         instructions + "\nret;\n}\n";
}

std::string message_of(const std::string& ptx) {
  try {
    to_c(ptx);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

void expect_message(const std::string& instructions, const std::string& part) {
  const std::string message = message_of(ptx_with(instructions));
  EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks " << part;
  EXPECT_EQ(message.rfind("PTX line 7: ", 0), 0u) << message;
}

TEST(Errors, WhatIsUnknownIsNamedWithItsLine) {
  expect_message("frobnicate.b32 %r2, %r1;", "frobnicate.b32");
  expect_message("add.odd.s32 %r2, %r1, %r1;", "add.odd.s32");
  expect_message("add.b8 %r2, %r1, %r1;", "add.b8");
  expect_message("mov.u32 %r2, %nosuch;", "%nosuch");
  expect_message("mov.u32 %r9, 1;", "%r9");
  expect_message("bra $nowhere;", "$nowhere");
  expect_message("st.const.u32 [%rd1], %r1;", "a store to constants");
  expect_message("call.uni nothing, ();", "nothing");
  expect_message("add.s32 %r2, %r1, %r1, %r1;", "operand");
  expect_message("add.s32 %r2, %r1;", "operand");
  expect_message(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2, %r3, %r4}, {%r5, "
      "%r6}, {%f0, %f1, %f2, %f3};",
      "no such shape");
  expect_message("ld.global.u32 %r2, [%rd1;", "'");
  expect_message(".frob .b32 %x;", ".frob");
}

TEST(Errors, ACallThatIsNotInTheTextIsNamed) {
  const std::string ptx = ptx_of("extern \"C\" __global__ void k(int x) { printf(\"%d\", x); }");
  EXPECT_NE(message_of(ptx).find("a call of 'vprintf', which is not in the text"), std::string::npos)
      << message_of(ptx);
}

TEST(Errors, TheCompilersMessagesNameTheText) {
  try {
    ptx_of("extern \"C\" __global__ void k(int* x) { x[0] = y; }");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("identifier \"y\" is undefined"), std::string::npos) << error.what();
  }
  EXPECT_THROW(compile_ptx_c("this is not C"), std::runtime_error);
}

TEST(Errors, TheSameCodeIsCompiledOnce) {
  const std::string c = to_c(ptx_with(""));
  EXPECT_EQ(compile_ptx_c(c), compile_ptx_c(c));
  EXPECT_NE(compile_ptx_c(c), compile_ptx_c(to_c(ptx_with("mov.u32 %r2, 1;"))));
}

void expect_trap(const std::string& body, const std::string& message, Grid grid = {}) {
  const Kernels kernels(
      "extern \"C\" __global__ void broken(int* y, int n) { const int t = "
      "threadIdx.x; " +
      body + " }");
  std::vector<int> y(64);
  int* at = y.data();
  EXPECT_EXIT(kernels.run("broken", grid, at, 1000), ::testing::ExitedWithCode(3), "broken: .*" + message) << body;
}

TEST(ErrorsDeath, BarriersThatAThreadNeverReaches) {
  expect_trap("if (t == 7) return; __syncthreads(); y[t] = t;",
              "threads wait for others that never come: 31 \\(the first is 0\\) at barrier 0 at line [0-9]+, for 32 "
              "threads; 1 of 32 have ended");
  expect_trap("if (t < 31) y[t] = __shfl_sync(0xffffffff, n, 3);", "31 .*shfl.*; 1 of 32 have ended");
  expect_trap("if (t < 8) __syncwarp(0x1ff);", "never come");
}

TEST(ErrorsDeath, ALaneThatIsNotInItsMask) {
  expect_trap("y[t] = __shfl_sync(0x7fffffff, n, 3);", "lane 31 is not in its own mask of lanes");
}

TEST(ErrorsDeath, SharedMemory) {
  expect_trap(
      "__shared__ int tile[64]; tile[t] = n; __syncthreads(); y[t] = tile[(t + n) * n];",
      "an access of 4 bytes to shared address 0x[0-9a-f]+, which is outside of the block's memory \\(it has 256 "
      "bytes\\) at PTX line [0-9]+, thread \\([0-9]+, 0, 0\\) of block \\(0, 0, 0\\)");
  expect_trap("extern __shared__ int more[]; more[t] = n; y[t] = more[t];",
              "outside of the block's memory \\(it has "
              "124 bytes\\) at PTX line [0-9]+, thread \\(31, 0, 0\\)",
              {{1, 1, 1}, {32, 1, 1}, 124});
  expect_trap("__shared__ double tile[4]; *(volatile double*)((volatile char*)tile + n % 7) = 1;",
              "an access of 8 bytes to shared address 0x6, which is not aligned to its size");
}

TEST(ErrorsDeath, GlobalMemory) {
  expect_trap("((int*)(long long)(n - 1000))[n] = 1;",
              "an access of 4 bytes to .*address 0xfa0, which is null or nearly so");
  expect_trap("*(volatile long long*)((char*)y + n % 7 + 1) = 1;", "not aligned to its size");
}

TEST(ErrorsDeath, TrapsAndLaunches) {
  expect_trap("if (n == 1000) __trap();", "trap at PTX line [0-9]+, thread \\([0-9]+, 0, 0\\)");
  const Kernels kernels("extern \"C\" __global__ void __launch_bounds__(64) broken(int* y) { y[0] = 1; }");
  int y = 0;
  EXPECT_EXIT(kernels.run("broken", {{1, 1, 1}, {65, 1, 1}}, &y), ::testing::ExitedWithCode(3),
              "broken: a block of 65 threads; .maxntid allows 64");
}

TEST(ErrorsDeath, Assertions) {
  const Kernels kernels(R"(
    extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
    extern "C" __global__ void broken(int* y) {
      if (y[0] != 3) __assertfail("y[0] == 3", "some.cu", 12, "broken", 1);
    })");
  int y = 3;
  kernels.run("broken", {}, &y);
  y = 4;
  EXPECT_EXIT(kernels.run("broken", {}, &y), ::testing::ExitedWithCode(3),
              "broken: assertion 'y\\[0\\] == 3' failed in broken, some.cu:12, at PTX line");
}

}  // namespace
}  // namespace tern::emulated
