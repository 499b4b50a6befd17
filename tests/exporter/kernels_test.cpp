// Kernels compiled at export: required sources, compilers, and results.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

#include "exporter/archive_writer.h"
#include "exporter/kernels/add_kernels.h"
#include "exporter/kernels/spirv.h"
#include "loader/archive.h"
#include "loader/hash.h"
#include "loader/spirv.h"
#include "tests/runtime/quantized_constant.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using namespace testing;

constexpr DeviceKind kGpu = {"GPU", TERN_DIALECT_OPENCL, TERN_DEVICE_DOUBLE, 0};
constexpr DeviceKind kSmallGpu = {"GPU without float64", TERN_DIALECT_OPENCL, 0, 0};
constexpr DeviceKind kGpuWithGroups = {"GPU", TERN_DIALECT_CUDA, TERN_DEVICE_DOUBLE | TERN_DEVICE_GROUPS, 0};
constexpr DeviceKind kProcessor = {"CPU", TERN_DIALECT_OPENCL, TERN_DEVICE_DOUBLE, 16};

std::vector<std::string> names(const std::map<std::string, std::string>& texts) {
  std::vector<std::string> list;
  for (const auto& [text, name] : texts) list.push_back(name);
  std::ranges::sort(list);
  return list;
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

/// x [rows, 64] times a weight, with any number of rows.
TestProgram product() {
  TestProgram p;
  const Dim rows = p.program().pool.symbol("rows", 0, 4096);
  const ValueId x = p.input(DType::f32, {rows, 64});
  const ValueId w = p.state({64, 64}, std::vector<float>(64 * 64, 1), false);
  p.output(p.b().matmul(x, w));
  return p;
}

TEST(RecordKernels, NamesAndTexts) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {100});
  p.output(p.b().expr("exp(x)", {{"x", x}}, DType::f32));
  const auto texts = record_kernels(p.program(), kGpu, {});
  ASSERT_EQ(names(texts), std::vector<std::string>{"tern_pointwise"});
  EXPECT_NE(texts.begin()->first.find("__kernel void tern_pointwise("), std::string::npos);
}

TEST(RecordKernels, ProductsDependOnTheKindOfDevice) {
  TestProgram p = product();
  const SymbolSizes large = {{"rows", {256}}};
  EXPECT_NE(record_kernels(p.program(), kGpu, large), record_kernels(p.program(), kProcessor, large));
}

TEST(RecordKernels, SizesThatAreGivenAreTheOnlyOnes) {
  TestProgram p = product();
  const auto one = record_kernels(p.program(), kProcessor, {{"rows", {1}}});
  const auto many = record_kernels(p.program(), kProcessor, {{"rows", {256}}});
  EXPECT_NE(one, many);
  std::map<std::string, std::string> both = one;
  both.insert(many.begin(), many.end());
  EXPECT_EQ(record_kernels(p.program(), kProcessor, {{"rows", {1, 256}}}), both);
  const auto typical = record_kernels(p.program(), kProcessor, {});
  for (const auto& text : both) EXPECT_TRUE(typical.contains(text.first));
}

TEST(RecordKernels, TilesOfGroupsForAnyNumberOfRows) {
  for (const DType t : {DType::f32, DType::bf16}) {
    for (const std::int64_t columns : {768, 3072}) {
      TestProgram p;
      const Dim rows = p.program().pool.symbol("rows", 0, 4096);
      const ValueId x = p.input(t, {rows, 768});
      const ValueId w = p.input(t, {768, columns});
      p.output(p.b().matmul(x, w));
      const auto typical = record_kernels(p.program(), kGpuWithGroups, {});
      for (const std::int64_t n : {2, 3, 20, 40, 100, 170, 200, 300, 450, 700, 1500, 3000}) {
        for (const auto& text : record_kernels(p.program(), kGpuWithGroups, {{"rows", {n}}}))
          EXPECT_TRUE(typical.contains(text.first)) << n << " rows by " << columns << ": " << text.second;
      }
    }
  }
}

// A device with sparse matrix units multiplies the weight as it is stored, and no other copy of it exists.
TEST(RecordKernels, SparseWeightsAreMultipliedAsTheyAreStored) {
  constexpr DeviceKind kSparse = {"GPU", TERN_DIALECT_CUDA,
                                  TERN_DEVICE_DOUBLE | TERN_DEVICE_GROUPS | TERN_DEVICE_SPARSE, 0};
  for (const DType t : {DType::f16, DType::bf16}) {
    TestProgram p;
    const ValueId x = p.input(t, {p.program().pool.symbol("rows", 1, 4096), 128});
    const QuantizedMatrix m{t, 64, 128, two_of_four()};
    const ValueId w = quantized_constant(p, m, {64, 128}, std::vector<std::byte>(static_cast<std::size_t>(m.bytes())));
    p.output(p.b().add(Op::matmul, {x, w}, {attr(AttrKey::dtype, Dim(static_cast<std::int64_t>(t)))}));
    for (const std::int64_t rows : {1, 8, 64, 1000}) {
      const auto recorded = [&](const DeviceKind& kind) {
        std::size_t sparse = 0, staged = 0;
        for (const auto& [text, name] : record_kernels(p.program(), kind, {{"rows", {rows}}})) {
          sparse += text.find("#define SPARSE 1") != std::string::npos ? 1 : 0;
          staged += name == "tern_stage_matrix" || name == "tern_product_row" ? 1 : 0;
        }
        return std::pair(sparse, staged);
      };
      EXPECT_EQ(recorded(kSparse), std::pair(std::size_t{1}, std::size_t{0})) << rows;
      EXPECT_EQ(recorded(kGpuWithGroups), std::pair(std::size_t{0}, std::size_t{1})) << rows;
    }
  }
}

TEST(RecordKernels, SelectionsAmongLongLinesHaveOneTextForAllLengths) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, p.program().pool.symbol("length", 3, 1 << 16)});
  p.output(
      p.b().add_all(Op::topk, {x}, {attr(AttrKey::axis, 1), attr(AttrKey::largest, 1), attr(AttrKey::k, Dim(3))})[0]);
  EXPECT_EQ(record_kernels(p.program(), kGpuWithGroups, {{"length", {4096}}}),
            record_kernels(p.program(), kGpuWithGroups, {{"length", {60000}}}));
}

TEST(RecordKernels, WithoutFloat64ItSaysSo) {
  TestProgram p;
  const ValueId x = p.input(DType::f64, {10});
  p.output(p.b().expr("x + 1", {{"x", x}}, DType::f64));
  EXPECT_EQ(record_kernels(p.program(), kGpu, {}).size(), 1u);
  EXPECT_NE(error_of([&] { record_kernels(p.program(), kSmallGpu, {}); }).find("float64"), std::string::npos);
}

TEST(RecordKernels, WhatIsOnlyKnownInARun) {
  TestProgram p;  // positions of the positive elements of x transposed, and a copy of the transpose
  const ValueId x = p.input(DType::f32, {10, 20});
  const ValueId turned = p.b().transpose(x, 0, 1);
  const Dim found = p.program().pool.new_symbol("u", 0, kNoBound);
  p.output(p.b().add(Op::nonzero, {turned}, {attr(AttrKey::symbols, found)}));
  p.output(turned);
  const auto list = names(record_kernels(p.program(), kGpu, {}));
  EXPECT_TRUE(std::ranges::count(list, "tern_nonzero")) << ::testing::PrintToString(list);
  EXPECT_TRUE(std::ranges::count(list, "tern_copy")) << ::testing::PrintToString(list);
}

TEST(RecordKernels, ResultsOfOneElementAtMost) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {1});
  const Dim found = p.program().pool.new_symbol("u", 0, 1);
  Node n;
  n.op = Op::unique;
  n.inputs = {x};
  n.attrs = {attr(AttrKey::symbols, found)};
  for (const ValueId v : p.b().add(std::move(n))) p.output(v);
  const auto list = names(record_kernels(p.program(), kGpu, {}));
  EXPECT_TRUE(std::ranges::count(list, "tern_unique_end")) << ::testing::PrintToString(list);
}

TEST(RecordKernels, NoWeightIsRead) {
  class Forbidden : public StorageSource {
   public:
    std::span<const std::byte> bytes(std::uint32_t) override { fail(ErrorCode::internal, "a weight was read"); }
  };
  TestProgram p = product();
  p.program().source = std::make_shared<Forbidden>();
  EXPECT_FALSE(record_kernels(p.program(), kGpu, {}).empty());
}

TEST(Spirv, AKernelBecomesAModule) {
  const auto module =
      compile_spirv("twice", "__kernel void twice(__global float* x) { x[get_global_id(0)] *= 2.0f; }\n");
  EXPECT_EQ(spirv_problem(module), "");
  // OpEntryPoint Kernel %id "twice" (SPIR-V 1.0, 3.32.5: opcode 15, execution model 6).
  const std::string bytes(reinterpret_cast<const char*>(module.data()), module.size());
  const std::uint32_t kernel[] = {5 << 16 | 15, 6};
  EXPECT_NE(bytes.find("twice"), std::string::npos);
  std::uint32_t version = 0;
  std::memcpy(&version, module.data() + 4, sizeof version);
  EXPECT_EQ(version, 0x00010000u);
  bool found = false;
  for (std::size_t index = 20; index + 8 <= module.size(); index += 4) {
    std::uint32_t words[2];
    std::memcpy(words, module.data() + index, sizeof words);
    found = found || ((words[0] & 0xffff) == (kernel[0] & 0xffff) && words[1] == kernel[1]);
  }
  EXPECT_TRUE(found);
}

TEST(Spirv, WhatTheCompilerRefusesIsShown) {
  const std::string error = error_of([] { compile_spirv("wrong", "__kernel void wrong() { no_such_name; }\n"); });
  EXPECT_NE(error.find("wrong"), std::string::npos) << error;
  EXPECT_NE(error.find("no_such_name"), std::string::npos) << error;
}

TEST(Targets, NamesThatAreNotThere) {
  EXPECT_NE(error_of([] { kernel_target("xpu:opencl"); }).find("xpu:spirv"), std::string::npos);
}

TEST(AddKernels, AnArchiveBringsAModuleForEachText) {
  TestProgram p = product();
  const SymbolSizes sizes = {{"rows", {64}}};
  const KernelTarget target = kernel_target("xpu:spirv");
  std::map<std::string, std::string> texts;
  for (const DeviceKind& kind : target.kinds) texts.merge(record_kernels(p.program(), kind, sizes));
  const KernelReport report = add_kernels(p.program(), target, sizes);
  EXPECT_EQ(report.kernels, texts.size());
  EXPECT_TRUE(report.left_out.empty());
  const std::vector<std::byte> bytes = archive_bytes(p.program());
  const auto program = open_archive(bytes, {});
  ASSERT_EQ(program->kernels.size(), texts.size());
  for (const auto& [text, name] : texts) {
    const Hash128 hash = hash_of(std::as_bytes(std::span(text)));
    const auto k = std::ranges::find_if(program->kernels, [&](const DeviceKernel& each) {
      return each.text_low == hash.low && each.text_high == hash.high;
    });
    ASSERT_NE(k, program->kernels.end());
    EXPECT_EQ(k->name, name);
    EXPECT_EQ(spirv_problem(program->source->bytes(k->storage)), "");
  }
  ASSERT_NE(program->find_metadata("kernels"), nullptr);
  EXPECT_NE(program->find_metadata("kernels")->find("llvm-spirv"), std::string::npos);
}

TEST(AddKernels, RowsHaveATextForEveryKind) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {8, 1027});
  p.output(p.b().add(Op::softmax, {x}, {attr(AttrKey::axis, Dim(1)), attr(AttrKey::log, Dim(0))}));
  p.output(p.b().reduce(x, "argmax", {1}, false, DType::i64));
  const KernelReport report = add_kernels(p.program(), kernel_target("xpu:spirv"), {});
  EXPECT_TRUE(report.left_out.empty());
  // Two ops: by groups and by single items, each with and without float64, and by vectors.
  EXPECT_EQ(report.kernels, 10u);
}

TEST(AddKernels, KindsThatCannotRunItAreLeftOut) {
  TestProgram p;
  const ValueId x = p.input(DType::f64, {10});
  p.output(p.b().expr("x + 1", {{"x", x}}, DType::f64));
  const KernelReport report = add_kernels(p.program(), kernel_target("xpu:spirv"), {});
  ASSERT_EQ(report.left_out.size(), 2u);  // GPUs, and devices without groups
  for (const std::string& kind : report.left_out) EXPECT_NE(kind.find("float64"), std::string::npos);
  EXPECT_EQ(report.kernels, 1u);
}

}  // namespace
}  // namespace tern
