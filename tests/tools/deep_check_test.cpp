// Packed weights run in place of the original weights: validate --deep compares both.
#include "tools/deep_check.h"

#include <gtest/gtest.h>

#include <vector>

#include "exporter/archive_writer.h"
#include "exporter/builder.h"
#include "loader/validate.h"
#include "runtime/pack.h"
#include "tools/inspect/inspect.h"

namespace tern {
namespace {

constexpr std::int64_t kIn = 96, kOut = 80;

class Bytes : public StorageSource {
 public:
  std::vector<std::vector<std::byte>> storages;
  std::span<const std::byte> bytes(std::uint32_t storage) override { return storages.at(storage); }
};

/// x times a weight, as an archive of this machine's packed weights.
std::shared_ptr<Program> packed_program() {
  const auto p = std::make_shared<Program>();
  const auto source = std::make_shared<Bytes>();
  p->source = source;
  std::vector<float> values(kIn * kOut);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 13) - 6;
  const auto bytes = std::as_bytes(std::span(values));
  source->storages.emplace_back(bytes.begin(), bytes.end());
  p->storages = {{bytes.size()}};
  State w;
  w.name = "fc.weight";
  w.type = {DType::f32, {kOut, kIn}};
  w.strides = {kIn, 1};
  p->states = {w};
  p->functions.resize(1);
  Builder b(*p, 0);
  Function& f = b.function();
  f.name = "forward";
  f.entry = true;
  const ValueId x = b.add_value({DType::f32, {3, kIn}}, "x"), weight = b.add_value(w.type, w.name);
  f.inputs = {{FunctionInput::Kind::user, x, 0, "x", {}}, {FunctionInput::Kind::state, weight, 0, w.name, {}}};
  const ValueId y = b.matmul(x, b.transpose(weight, 0, 1));
  f.outputs = {{FunctionOutput::Kind::tensor, y, "y"}};
  for (auto& [name, packed] : pack_weights(p, {}).packed) {
    p->packings.push_back({name.first, name.second, static_cast<std::uint32_t>(p->storages.size())});
    p->storages.push_back({packed.size()});
    source->storages.push_back(packed);
  }
  return p;
}

TEST(DeepCheck, FindsPackedWeightsThatAreOthers) {
  const auto p = packed_program();
  if (p->packings.empty()) GTEST_SKIP() << "this processor's kernels pack nothing";
  const std::string path = ::testing::TempDir() + "deep_check.tern";
  write_archive(*p, path);
  EXPECT_EQ(check_packed_weights(path).identical, p->packings.size());
  EXPECT_TRUE(check_packed_weights(path).findings.empty());
  auto& packed = static_cast<Bytes&>(*p->source).storages[p->packings[0].packed];
  packed[packed.size() / 2] ^= std::byte{1};
  write_archive(*p, path);
  EXPECT_TRUE(validate_archive(path).empty());
  const DeepCheck check = check_packed_weights(path);
  ASSERT_EQ(check.findings.size(), 1u);
  EXPECT_EQ(check.findings[0].rule, "packings.content");
  EXPECT_EQ(check.findings[0].where, "state 'fc.weight'");
}

TEST(DeepCheck, ComparesValuesOfOtherProcessors) {
  const auto p = packed_program();
  auto& storages = static_cast<Bytes&>(*p->source).storages;
  std::vector<std::byte> packed(storages[0].size() + 64);  // padded with zeros
  for (std::size_t i = 0; i < storages[0].size(); i += 4) {
    for (std::size_t k = 0; k < 4; ++k) packed[storages[0].size() - 4 - i + k] = storages[0][i + k];
  }
  p->packings = {{0, "panels of 77: 1 x 80 of 96", static_cast<std::uint32_t>(storages.size())}};
  p->storages.push_back({packed.size()});
  storages.push_back(packed);
  const std::string path = ::testing::TempDir() + "deep_values.tern";
  write_archive(*p, path);
  EXPECT_EQ(check_packed_weights(path).values, 1u);
  EXPECT_TRUE(check_packed_weights(path).findings.empty());
  storages.back()[40] ^= std::byte{1};
  write_archive(*p, path);
  ASSERT_EQ(check_packed_weights(path).findings.size(), 1u);
  EXPECT_EQ(check_packed_weights(path).findings[0].where, "state 'fc.weight'");
}

TEST(DeepCheck, TellsWhatItCannotCheck) {
  auto p = packed_program();
  p->packings = {{0, "another library 9.9", static_cast<std::uint32_t>(p->storages.size())}};
  p->storages.push_back({4});
  static_cast<Bytes&>(*p->source).storages.emplace_back(4);
  const std::string path = ::testing::TempDir() + "deep_unknown.tern";
  write_archive(*p, path);
  const DeepCheck check = check_packed_weights(path);
  EXPECT_EQ(check.unchecked, 1u);
  EXPECT_TRUE(check.findings.empty());
  Findings findings(Findings::Mode::collect);
  const ReadArchive a = read_archive(FileBytes::open(path, Access::map), findings);
  EXPECT_NE(inspect_text("f", a, findings.list(), {}).find("packed weights: 1"), std::string::npos);
  EXPECT_NE(inspect_json("f", a, findings.list()).find("another library 9.9"), std::string::npos);
}

}  // namespace
}  // namespace tern
