// The stand-in for hiprtc, through its C interface as used by the plugin.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hip/hiprtc.h>

#include <string>
#include <vector>

#include "tests/gpu/hip/code_object.h"

namespace tern::gpu::hip {
namespace {

constexpr char kText[] = "extern \"C\" __global__ void k(float* x) { x[threadIdx.x] = 2; }";

struct Compiled {
  hiprtcResult status;
  std::string log, code;
};

Compiled compile(const char* text, std::vector<const char*> options) {
  hiprtcProgram program = nullptr;
  EXPECT_EQ(hiprtcCreateProgram(&program, text, "mine.hip", 0, nullptr, nullptr), HIPRTC_SUCCESS);
  Compiled result{hiprtcCompileProgram(program, static_cast<int>(options.size()), options.data()), "", ""};
  std::size_t bytes = 0;
  EXPECT_EQ(hiprtcGetProgramLogSize(program, &bytes), HIPRTC_SUCCESS);
  result.log.resize(bytes);
  EXPECT_EQ(hiprtcGetProgramLog(program, result.log.data()), HIPRTC_SUCCESS);
  result.log.pop_back();
  if (result.status == HIPRTC_SUCCESS) {
    EXPECT_EQ(hiprtcGetCodeSize(program, &bytes), HIPRTC_SUCCESS);
    result.code.resize(bytes);
    EXPECT_EQ(hiprtcGetCode(program, result.code.data()), HIPRTC_SUCCESS);
  } else {
    EXPECT_NE(hiprtcGetCodeSize(program, &bytes), HIPRTC_SUCCESS);
  }
  EXPECT_EQ(hiprtcDestroyProgram(&program), HIPRTC_SUCCESS);
  return result;
}

TEST(Hiprtc, MakesACodeObject) {
  const Compiled result = compile(kText, {"--offload-arch=gfx942:sramecc+:xnack-", "-O3", "-ffp-contract=off"});
  ASSERT_EQ(result.status, HIPRTC_SUCCESS) << result.log;
  const auto code = read_code_object(result.code.data());
  ASSERT_TRUE(code.has_value());
  EXPECT_EQ(code->architecture, "gfx942");
  EXPECT_EQ(code->library.substr(0, 4),
            "\x7F"
            "ELF");
  EXPECT_FALSE(read_code_object("an ELF file of real hardware").has_value());
}

TEST(Hiprtc, MessagesAreTheCompilers) {
  const Compiled result = compile("extern \"C\" __global__ void k(float* x) {\n  x[0] = nothing; }", {});
  EXPECT_EQ(result.status, HIPRTC_ERROR_COMPILATION);
  EXPECT_NE(result.log.find("mine.hip:2:10: error: use of undeclared identifier 'nothing'"), std::string::npos)
      << result.log;
}

TEST(Hiprtc, RefusesOptionsThatItDoesNotHave) {
  for (const char* option :
       {"--fmad=false", "--use_fast_math", "-arch=sm_90", "-no-such-option"}) {  // NVRTC's options, or unknown options
    EXPECT_EQ(compile(kText, {option}).status, HIPRTC_ERROR_COMPILATION) << option;
  }
  for (const char* option : {"-c", "-o", "-S", "--cuda-host-only", "other.hip"}) {
    EXPECT_EQ(compile(kText, {option}).status, HIPRTC_ERROR_INVALID_OPTION) << option;
  }
  EXPECT_EQ(compile(kText, {"--offload-arch=gfx1"}).status, HIPRTC_ERROR_COMPILATION);
}

TEST(Hiprtc, ChecksItsArguments) {
  hiprtcProgram program = nullptr;
  EXPECT_EQ(hiprtcCreateProgram(nullptr, kText, nullptr, 0, nullptr, nullptr), HIPRTC_ERROR_INVALID_PROGRAM);
  EXPECT_EQ(hiprtcCreateProgram(&program, nullptr, nullptr, 0, nullptr, nullptr), HIPRTC_ERROR_INVALID_INPUT);
  EXPECT_EQ(hiprtcCreateProgram(&program, kText, nullptr, 1, nullptr, nullptr), HIPRTC_ERROR_INVALID_INPUT);
  EXPECT_EQ(hiprtcDestroyProgram(nullptr), HIPRTC_ERROR_INVALID_INPUT);
  EXPECT_EQ(hiprtcCompileProgram(nullptr, 0, nullptr), HIPRTC_ERROR_INVALID_INPUT);
  EXPECT_STREQ(hiprtcGetErrorString(HIPRTC_ERROR_COMPILATION), "HIPRTC_ERROR_COMPILATION");
}

TEST(Hiprtc, HasAllItsNames) {
  for (const char* name : {"libhiprtc.so", "libhiprtc.so.5", "libhiprtc.so.6", "libhiprtc.so.7"}) {
    void* library = dlopen((std::string(TERN_GPU_EMULATION) + '/' + name).c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    EXPECT_NE(dlsym(library, "hiprtcCompileProgram"), nullptr);
    EXPECT_EQ(dlsym(library, "_ZN4tern3gpu3amd7compileERKNS1_14CompileRequestE"), nullptr);
    dlclose(library);
  }
}

}  // namespace
}  // namespace tern::gpu::hip
