// Programs with the cache of packed weights: the first program packs weights beside its runs, the next maps the files.
#include "runtime/prepared.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "kernels/cpu/processor.h"
#include "runtime/weight_cache/weight_cache.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"
#include "tests/runtime/watched_source.h"
#include "tests/runtime/weight_cache/temporary_folder.h"

namespace tern {
namespace {

using test::random_floats;
using testing::floats;
using testing::TemporaryFolder;
using testing::TestProgram;
using testing::values_of;
using testing::WatchedSource;
using Floats = std::vector<float>;

/// A layer with oneDNN's product, whose weight is packed on every processor.
class CachedProgram : public ::testing::Test {
 protected:
  static constexpr std::int64_t kIn = 96, kOut = 80, kRows = 3;
  CachedProgram() {
    const ValueId w = p_.state({kOut, kIn}, random_floats(kOut * kIn, 1), false);
    p_.output(p_.b().matmul(p_.input(DType::f32, {kRows, kIn}), p_.b().transpose(w, 0, 1)));
    Tuning t{cpu::processor(), 1, {}};
    for (std::uint32_t i = 0; i < p_.program().functions[0].nodes.size(); ++i) t.choices.push_back({0, i, "onednn"});
    p_.program().tunings = {t};
    source_ = std::make_shared<WatchedSource>(p_.program().source, 0);
    p_.program().source = source_;
    options_.threads = 1;
    options_.weight_cache = folder_.path();
  }
  PreparedModel prepare() const { return p_.model().prepare(options_); }
  static Floats run(const PreparedModel& prepared) {
    Session s(prepared);
    return values_of(s.run({floats({kRows, kIn}, random_floats(kRows * kIn, 2))})[0]);
  }

  TestProgram p_;
  TemporaryFolder folder_;
  std::shared_ptr<WatchedSource> source_;
  PrepareOptions options_;
};

TEST_F(CachedProgram, MapsWhatAnEarlierOnePacked) {
  const PreparedModel first = prepare();
  const Floats expected = run(first);
  first.impl()->cache->wait();
  EXPECT_EQ(folder_.names().size(), 1u);
  const int asked = source_->read_count();
  EXPECT_GT(asked, 0);
  EXPECT_EQ(run(prepare()), expected);
  EXPECT_EQ(source_->read_count(), asked) << "the weight as exported was read again";
}

TEST_F(CachedProgram, WithoutTheCacheNothingIsKept) {
  options_.weight_cache = "off";
  const PreparedModel prepared = prepare();
  run(prepared);
  prepared.impl()->cache->wait();
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(CachedProgram, ReproducibleRunsUseNone) {
  options_.reproducible = true;
  EXPECT_EQ(prepare().impl()->cache, nullptr);
}

TEST_F(CachedProgram, ADamagedFileIsPackedAnew) {
  const PreparedModel first = prepare();
  const Floats expected = run(first);
  first.impl()->cache->wait();
  ASSERT_EQ(folder_.names().size(), 1u);
  const std::string file = folder_.path(folder_.names()[0]);
  std::string bytes = testing::read_file(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  testing::write_file(file, bytes);
  EXPECT_EQ(run(prepare()), expected);
}

TEST_F(CachedProgram, SessionsKeepTheBytesThatTheProgramBeganWith) {
  const PreparedModel prepared = prepare();
  const Floats expected = run(prepared);
  prepared.impl()->cache->wait();
  const int asked = source_->read_count();
  EXPECT_EQ(run(prepared), expected);
  EXPECT_EQ(source_->read_count(), asked) << "the plan is shared";
}

}  // namespace
}  // namespace tern
