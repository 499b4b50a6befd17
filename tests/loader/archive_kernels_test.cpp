// Kernels in an archive: the rules of the kernel table and of SPIR-V modules.
#include <gtest/gtest.h>

#include <cstring>

#include "loader/archive.h"
#include "loader/hash.h"
#include "loader/kernel_modules.h"
#include "loader/spirv.h"
#include "loader/validate.h"
#include "tests/loader/sample.h"

namespace tern::test {
namespace {

using Words = std::vector<std::uint32_t>;

// SPIR-V specification 1.0: header of five words (2.3), OpCapability Kernel (17, 6), OpMemoryModel Physical64 OpenCL
// (14, 2, 2).
const Words kModule = {0x07230203, 0x00010000, 0, 8, 0, 2 << 16 | 17, 6, 3 << 16 | 14, 2, 2};

std::string problem(const Words& words) {
  return spirv_problem(std::as_bytes(std::span(words)));
}

Words module_with(std::size_t i, std::uint32_t word) {
  Words words = kModule;
  words[i] = word;
  return words;
}

TEST(Spirv, HeaderAndInstructions) {
  EXPECT_EQ(problem(kModule), "");
  EXPECT_NE(problem({}), "");
  EXPECT_NE(problem(Words(kModule.begin(), kModule.begin() + 5)), "");  // no instruction
  EXPECT_NE(problem(module_with(0, 0x03022307)), "");                   // the other byte order
  EXPECT_EQ(problem(module_with(1, 0x00010600)), "");
  EXPECT_NE(problem(module_with(1, 0x00010700)), "");
  EXPECT_NE(problem(module_with(1, 0x00000900)), "");
  EXPECT_NE(problem(module_with(3, 0)), "");
  EXPECT_NE(problem(module_with(3, 0x400000)), "");
  EXPECT_NE(problem(module_with(4, 1)), "");
  EXPECT_NE(problem(module_with(5, 17)), "");            // an instruction of no words
  EXPECT_NE(problem(module_with(7, 4 << 16 | 14)), "");  // an instruction past the end of the module
  EXPECT_NE(problem(module_with(7, 0xffffu << 16)), "");
  EXPECT_NE(spirv_problem(std::as_bytes(std::span(kModule)).first(38)), "");
}

/// Broken rules if the module of the sample's first kernel has these bytes.
std::vector<std::string> rules_with_module(std::vector<std::byte> bytes) {
  Program p = sample_program();
  const std::uint32_t storage = p.kernels[0].storage;
  p.storages[storage].size = bytes.size();
  static_cast<VectorSource&>(*p.source).storages[storage] = std::move(bytes);
  return rules_broken(archive_bytes(p));
}

TEST(ArchiveKernels, AreReadBack) {
  const std::vector<std::byte> bytes = archive_bytes(sample_program());
  const auto program = open_archive(bytes, {});
  EXPECT_EQ(difference(sample_program(), *program), "");
  ASSERT_EQ(program->kernels.size(), 2u);
  const auto module = program->source->bytes(program->kernels[0].storage);
  EXPECT_EQ(module.data(), program->source->bytes(program->kernels[1].storage).data());  // stored once
  EXPECT_EQ(spirv_problem(module), "");
}

TEST(ArchiveKernels, Names) {
  for (const char* name : {"", "1st", "a b", "a\n", "a-b"}) {
    EXPECT_EQ(rules_broken(changed([&](Program& p) { p.kernels[0].name = name; })),
              std::vector<std::string>{"kernels.name"})
        << name;
  }
}

TEST(ArchiveKernels, OneForEachText) {
  EXPECT_EQ(rules_broken(changed([](Program& p) { p.kernels[1].text_low = p.kernels[0].text_low; })),
            std::vector<std::string>{"kernels.once"});
}

TEST(ArchiveKernels, FormsThatAreNotKnownAreIgnored) {
  EXPECT_TRUE(rules_broken(changed([](Program& p) {
                p.kernels[0].target = "later:form";
                p.kernels[1].target = "another:form";
              })).empty());
}

TEST(ArchiveKernels, TargetsHaveTheFormOfOne) {
  for (const char* target : {"", "cuda", ":sm_90", "cuda:", "cuda:sm 90", "CUDA:sm_90", "cuda:sm_90:", "form 7"}) {
    EXPECT_EQ(rules_broken(changed([&](Program& p) { p.kernels[0].target = target; })),
              std::vector<std::string>{"kernels.target"})
        << target;
  }
}

TEST(ArchiveKernels, ModulesOfEachTarget) {
  const auto bytes_of = [](std::string_view text) {
    const auto view = std::as_bytes(std::span(text));
    return std::vector<std::byte>(view.begin(), view.end());
  };
  // An ELF header: 64 bits, its machine, empty tables.
  const auto elf = [&](std::uint8_t machine, std::uint8_t table = 0, std::uint8_t sections = 0) {
    std::string header(64, '\0');
    header.replace(0, 6, "\177ELF\2\1");
    header[18] = static_cast<char>(machine);
    header[40] = static_cast<char>(table);
    header[58] = 64;  // bytes of an entry
    header[60] = static_cast<char>(sections);
    return bytes_of(header);
  };
  constexpr std::uint8_t kCuda = 190, kAmd = 224;
  struct Case {
    const char* target;
    std::vector<std::byte> valid, invalid;
  };
  const Case cases[] = {
      {"cuda:ptx", bytes_of(".version 8.0\n.target sm_80\n"), bytes_of("\177ELF")},
      {"cuda:ptx", bytes_of(".version 8.0\n.target sm_80\n"), bytes_of(std::string(".version\0.target", 16))},
      {"cuda:sm_90", elf(kCuda), elf(kAmd)},
      {"cuda:sm_90", elf(kCuda, 0, 1), elf(kCuda, 1, 1)},  // a table past the end of the file
      {"cuda:sm_90", elf(kCuda), bytes_of("\177ELF")},
      {"rocm:gfx942", elf(kAmd), elf(kCuda)},
      {"rocm:gfx942", bytes_of("__CLANG_OFFLOAD_BUNDLE__"), bytes_of("__CLANG_OFFLOAD")},
      {"metal:msl", bytes_of("kernel void k() {}"), std::vector<std::byte>(3)},
      {"later:form", std::vector<std::byte>(3), {}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(module_problem(c.target, c.valid), "") << c.target;
    EXPECT_EQ(module_problem(c.target, c.invalid).empty(), c.invalid.empty()) << c.target;
  }
}

TEST(ArchiveKernels, ModulesThatAreNone) {
  EXPECT_EQ(rules_with_module(std::vector<std::byte>(64)), std::vector<std::string>{"kernels.module"});
  EXPECT_EQ(rules_with_module({}), std::vector<std::string>{"kernels.storage"});
}

TEST(ArchiveKernels, ManyOfOneModuleAreLookedAtOnce) {
  // A decoder would be asked for 2^14 times 16 MiB otherwise.
  Program p = sample_program();
  p.storages.push_back({std::uint64_t{16} << 20});
  static_cast<VectorSource&>(*p.source).storages.emplace_back(std::uint64_t{16} << 20);
  const auto large = static_cast<std::uint32_t>(p.storages.size() - 1);
  for (std::uint64_t i = 0; i < (1 << 14); ++i) p.kernels.push_back({"k", "xpu:spirv", i, 99, large});
  WriteOptions options;
  options.codec = WriteOptions::Codec::zstd;
  EXPECT_EQ(rules_broken(archive_bytes(p, options)), std::vector<std::string>{"kernels.module"});
}

}  // namespace
}  // namespace tern::test
