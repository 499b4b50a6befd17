// Parsing of ptxas's output, and NVIDIA's rules of occupancy.
#include "tests/gpu/model/resources.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include <filesystem>
#include <fstream>

namespace tern::gpu_model {
namespace {

namespace fs = std::filesystem;

class Ptxas : public testing::Test {
 protected:
  Ptxas() { fs::remove_all(folder_), fs::create_directories(folder_); }
  ~Ptxas() override { fs::remove_all(folder_); }

  // A stand-in that prints `text` and counts its calls.
  std::string saying(const std::string& text, int status = 0) {
    const fs::path path = fs::path(folder_) / "ptxas";
    std::ofstream(path) << "#!/bin/sh\necho call >>'" << folder_ << "/calls'\ncat >&2 <<'END'\n"
                        << text << "\nEND\nexit " << status << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }
  std::size_t calls() const {
    std::ifstream file(folder_ + "/calls");
    std::size_t lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
  }

  const std::string folder_ = testing::TempDir() + "tern gpu_model";
};

// Output of ptxas 13.5 for a module with two kernels.
constexpr char kTwo[] = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_90'
ptxas info    : Function properties for first
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
ptxas info    : Compile time = 4.581 ms
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
    96 bytes stack frame, 24 bytes spill stores, 40 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 96 bytes cumulative stack size
ptxas info    : Compile time = 9.1 ms)";

TEST_F(Ptxas, FiguresOfAKernel) {
  const std::string ptxas = saying(kTwo);
  const Resources first = resources_of("// a text", "first", ptxas, folder_ + "/kept");
  EXPECT_EQ(first.registers, 8u);
  EXPECT_EQ(first.spill_bytes, 0u);
  EXPECT_EQ(first.stack_bytes, 0u);
  const Resources second = resources_of("// a text", "second", ptxas, folder_ + "/kept");
  EXPECT_EQ(second.registers, 255u);
  EXPECT_EQ(second.spill_bytes, 64u);
  EXPECT_EQ(second.stack_bytes, 96u);
  EXPECT_EQ(calls(), 1u);  // equal sources share the cache
  resources_of("// another", "first", ptxas, folder_ + "/kept");
  EXPECT_EQ(calls(), 2u);
}

TEST_F(Ptxas, Errors) {
  const auto message = [&](const std::string& ptxas, const char* kernel) {
    try {
      resources_of("// a text", kernel, ptxas, folder_ + "/kept");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message(saying("ptxas fatal : no such target", 1), "first").find("no such target"), std::string::npos);
  EXPECT_NE(message(saying(kTwo), "third").find("nothing of kernel third"), std::string::npos);
}

// "Technical Specifications per Compute Capability": 65,536 registers, 2,048 threads, 32 blocks and 228 KB of shared
// memory for a multiprocessor; a warp gets registers in units of 256, a block has 1 KB of shared memory reserved.
TEST(Occupancy, IsLimitedByWhatIsShort) {
  const auto of = [](std::uint32_t registers, std::uint32_t threads, std::uint32_t shared) {
    return occupancy({registers, 0, 0}, threads, shared, 0);
  };
  EXPECT_EQ(of(32, 256, 0), 1);                               // 8 blocks of 8,192 registers
  EXPECT_EQ(of(33, 256, 0), 0.75);                            // 40 of a thread: 6 blocks
  EXPECT_EQ(of(114, 256, 0), 0.25);                           // 120 of a thread: 2 blocks
  EXPECT_EQ(of(255, 256, 0), 0.125);                          // a single block
  EXPECT_EQ(of(32, 32, 0), 0.5);                              // 32 blocks of a warp
  EXPECT_EQ(of(32, 256, 48 << 10), 0.5);                      // 49 of 228 KB: 4 blocks
  EXPECT_EQ(occupancy({32, 0, 0}, 256, 0, 100 << 10), 0.25);  // dynamic: 2 blocks
  EXPECT_EQ(of(255, 1024, 0), 0);                             // no block fits
}

}  // namespace
}  // namespace tern::gpu_model
