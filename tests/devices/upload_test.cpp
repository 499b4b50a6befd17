// Uploads of weights to a device, with or without alternating pinned buffers.
#include <gtest/gtest.h>

#include <cmath>

#include "exporter/archive_writer.h"
#include "tests/devices/programs.h"
#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;

constexpr std::int64_t kUploadRows = 5, kUploadWidth = 600'000;  // 12 MB: three fillings of a buffer

float weight(std::int64_t row, std::int64_t i) {
  return static_cast<float>((row * 31 + i * 7) % 1009);
}

/// The row sums of a weight, two small weights, and a doubling state, in an archive of borrowed bytes.
std::vector<std::byte> archive() {
  TestProgram p;
  std::vector<float> values;
  for (std::int64_t row = 0; row < kUploadRows; ++row)
    for (std::int64_t i = 0; i < kUploadWidth; ++i) values.push_back(weight(row, i));
  const ValueId large = p.state({kUploadRows, kUploadWidth}, values, false);
  const ValueId one = p.state({1}, {1}, false), two = p.state({1}, {2}, false);
  const ValueId count = p.state({1}, {16}, true);
  const ValueId next = p.b().expr("c * two", {{"c", count}, {"two", two}}, DType::f32);
  p.write_back(3, next);
  const ValueId sums = p.b().reduce(large, "sum", {1}, false, DType::f32);
  p.output(p.b().expr("s + n + one", {{"s", sums}, {"n", next}, {"one", one}}, DType::f32));
  return archive_bytes(p.program());
}

class Aligned {
 public:
  explicit Aligned(const std::vector<std::byte>& bytes) : bytes_(bytes.size() + 64) {
    const auto at = reinterpret_cast<std::uintptr_t>(bytes_.data());
    start_ = bytes_.data() + (64 - at % 64);
    std::ranges::copy(bytes, start_);
    span_ = {start_, bytes.size()};
  }
  std::span<std::byte> span() { return span_; }

 private:
  std::vector<std::byte> bytes_;
  std::byte* start_;
  std::span<std::byte> span_;
};

void expect_sums(Session& session, double state) {
  const std::vector<float> results = values_of(session.run({})[0]);
  ASSERT_EQ(results.size(), static_cast<std::size_t>(kUploadRows));
  for (std::int64_t row = 0; row < kUploadRows; ++row) {
    double sum = state + 1;
    for (std::int64_t i = 0; i < kUploadWidth; ++i) sum += static_cast<double>(weight(row, i));
    EXPECT_NEAR(results[static_cast<std::size_t>(row)] / sum, 1, 1e-5) << row;
  }
}

class UploadTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, UploadTest, ::testing::ValuesIn(all_devices()), name_of_case);

TEST_P(UploadTest, WeightsAndStatesArriveWhole) {
  Aligned bytes(archive());
  const Model model = Model::from_bytes(bytes.span());
  Session session(model.prepare(options_on(GetParam())));
  expect_sums(session, 32);
  expect_sums(session, 64);
  session.reset_state();
  expect_sums(session, 32);
}

TEST(Upload, GoesThroughTwoBuffersThatAreGivenBack) {
  const std::string device = fresh_device("full");
  const DeviceControl& control = control_of(device);
  const std::int64_t before = control.counts().pinned;
  Aligned bytes(archive());
  {
    Session session(Model::from_bytes(bytes.span()).prepare(options_on(device)));
    expect_sums(session, 32);
    EXPECT_GT(control.counts().pinned, before + 2) << "results have such memory, too";
  }
  EXPECT_EQ(control.counts().pinned, before + 2);
  release_device_memory(device);
  EXPECT_EQ(control.counts().pinned, before);
}

TEST(Upload, WithoutPinnedMemoryBytesAreCopiedFromWhereTheyLie) {
  for (const tern_device_status refusal : {TERN_DEVICE_UNSUPPORTED, TERN_DEVICE_OUT_OF_MEMORY}) {
    for (int nth = 1; nth <= 2; ++nth) {
      const std::string device = fresh_device("full");
      const DeviceControl& control = control_of(device);
      const std::int64_t before = control.counts().pinned;
      Aligned bytes(archive());
      const PreparedModel prepared = Model::from_bytes(bytes.span()).prepare(options_on(device));
      control.fail("pinned_allocate", nth, refusal);
      {
        Session session(prepared);
        expect_sums(session, 32);
      }
      EXPECT_TRUE(control.failed());
      release_device_memory(device);
      EXPECT_EQ(control.counts().pinned, before);
    }
  }
}

TEST(Upload, ResultsArriveWithoutPinnedMemory) {
  const std::string device = fresh_device("full");
  const DeviceControl& control = control_of(device);
  Aligned bytes(archive());
  Session session(Model::from_bytes(bytes.span()).prepare(options_on(device)));
  control.fail("pinned_allocate", 3, TERN_DEVICE_OUT_OF_MEMORY);  // after the buffers of the weights
  expect_sums(session, 32);
  EXPECT_TRUE(control.failed());
}

TEST(Upload, ADamagedWeightIsNotUsed) {
  for (const char* plugin : {"full", "plain", "graph"}) {
    const std::string device = fresh_device(plugin);
    const std::int64_t before = control_of(device).counts().allocations;
    Aligned bytes(archive());
    // The first segment of at least a page is the large weight; damages its last part.
    bytes.span()[4096 + static_cast<std::size_t>(kUploadRows * kUploadWidth) * sizeof(float) - 5] ^= std::byte{1};
    {
      Session session(Model::from_bytes(bytes.span()).prepare(options_on(device)));
      for (int i = 0; i < 2; ++i) {
        try {
          session.run({});
          ADD_FAILURE() << device << ": a wrong hash was not found";
        } catch (const Error& e) {
          EXPECT_EQ(e.code(), ErrorCode::bad_file);
          EXPECT_NE(std::string(e.what()).find("its hash is wrong"), std::string::npos) << e.what();
        }
      }
      bytes.span()[4096 + static_cast<std::size_t>(kUploadRows * kUploadWidth) * sizeof(float) - 5] ^= std::byte{1};
      expect_sums(session, 32);
    }
    release_device_memory(device);
    EXPECT_EQ(control_of(device).counts().allocations, before) << device;
  }
}

TEST(Upload, ADeviceThatReadsTheHostsMemoryNeedsNoCopies) {
  constexpr std::uint64_t kWeight = sizeof(float) * kUploadRows * kUploadWidth;
  const std::tuple<const char*, bool, bool> cases[] = {
      {"graph", true, false}, {"graph", false, true}, {"plain", true, true}};  // only "graph" reads host memory
  for (const auto& [plugin, mapped, copies] : cases) {
    const std::string device = fresh_device(plugin);
    Aligned bytes(archive());
    PrepareOptions options = options_on(device);
    options.copy_weights = !mapped;
    Session session(Model::from_bytes(bytes.span()).prepare(options));
    expect_sums(session, 32);
    EXPECT_EQ(device_memory(device).peak >= kWeight, copies) << device;
  }
}

}  // namespace
}  // namespace tern
