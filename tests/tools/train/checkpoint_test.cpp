// Checkpoints: restored sessions, also after a process died during a save.
#include "tools/train/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>

#include "tests/runtime/support.h"
#include "tests/tools/support.h"
#include "tools/files/safetensors.h"
#include "tools/train/checkpoint_file.h"

namespace tern::train {
namespace {

using test::error_of;
using test::TempFolder;
using testing::floats;
using testing::TestProgram;
using testing::values_of;

/// Adds its input to a state.
Model adder() {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2});
  const ValueId s = p.state({2}, {1, 2}, true);
  const ValueId sum = p.b().expr("s + x", {{"s", s}, {"x", x}}, DType::f32);
  p.write_back(0, sum);
  p.output(sum);
  return p.model();
}

History history_at(std::uint64_t step) {
  History h;
  h.position = {2, 5, step};
  h.losses.assign(step, 1.0 / 3);
  h.epochs = {{1.5, 2.5, {}, 0.1, 3}, {1, {}, 0.75, 0.2, 4}};
  h.loss_sum = 0.1;
  h.samples = 7;
  return h;
}

class TrainCheckpoint : public ::testing::Test {
 protected:
  TempFolder folder;
  Model model = adder();
  PreparedModel prepared = model.prepare();
  Session session{prepared};
  Checkpoints checkpoints{folder / "c"};
  Settings settings = {{"batch", "4"}};
  RunLength extent{20, 6};
  std::vector<std::string> warnings;

  std::string path(int step) {
    return folder / ("c/checkpoint-" + std::to_string(1000000000000 + step).substr(1) + ".safetensors");
  }
  bool restored(Session& into, History& history) {
    const auto file = Checkpoints(folder / "c").newest(model, settings, extent, warnings);
    if (file) restore(*file, model, extent, Ranks(), into, history);
    return file.has_value();
  }
  void save_after_adding(float x, std::uint64_t step) {
    session.run({floats({2}, {x, x})});
    session.set_random_position({9, step});
    checkpoints.save(model, session, history_at(step), settings, {step});
  }
};

TEST_F(TrainCheckpoint, GivesBackAllOfIt) {
  save_after_adding(10, 3);
  Session other(prepared);
  History h;
  ASSERT_TRUE(restored(other, h));
  EXPECT_EQ(values_of(other.read_state("state0")), (std::vector<float>{11, 12}));
  EXPECT_EQ(other.random_position().seed, 9u);
  EXPECT_EQ(other.random_position().offset, 3u);
  const History& w = history_at(3);
  EXPECT_EQ(h.position.epoch, w.position.epoch);
  EXPECT_EQ(h.position.batch, w.position.batch);
  EXPECT_EQ(h.position.step, 3u);
  EXPECT_EQ(h.losses, w.losses);
  EXPECT_EQ(h.loss_sum, w.loss_sum);
  EXPECT_EQ(h.samples, w.samples);
  ASSERT_EQ(h.epochs.size(), 2u);
  EXPECT_EQ(h.epochs[0].held_out_loss, w.epochs[0].held_out_loss);
  EXPECT_EQ(h.epochs[0].held_out_accuracy, w.epochs[0].held_out_accuracy);
  EXPECT_EQ(h.epochs[1].held_out_accuracy, w.epochs[1].held_out_accuracy);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(TrainCheckpoint, HasTheFiguresOfStepsAndEpochs) {
  History w = history_at(3);
  w.further_losses = {{1, 2, 3}, {4, 5, 6}};
  w.gradient_norms = {7, 8, 9};
  w.epochs[0].metrics = {0.5, 0.25};
  w.epochs[1].metrics = {0.75, 1};
  checkpoints.save(model, session, w, settings, {0});
  History h;
  ASSERT_TRUE(restored(session, h));
  EXPECT_EQ(h.further_losses, w.further_losses);
  EXPECT_EQ(h.gradient_norms, w.gradient_norms);
  ASSERT_EQ(h.epochs.size(), 2u);
  EXPECT_EQ(h.epochs[0].metrics, w.epochs[0].metrics);
  EXPECT_EQ(h.epochs[1].metrics, w.epochs[1].metrics);
}

TEST_F(TrainCheckpoint, RefusesFiguresOfAnotherNumber) {
  for (int kind = 0; kind < 3; ++kind) {
    NamedTensors file = checkpoint_of(model, session, history_at(3), settings, {0});
    const char* names[] = {"history.further_losses", "history.gradient_norms", "history.metrics"};
    file.tensors.emplace_back(names[kind], test::tensor_of(DType::f64, {5}, std::vector<double>(5)));
    EXPECT_THROW(history_of(file, extent), Error) << names[kind];
  }
}

/// The first epoch has the smallest held-out loss.
TEST_F(TrainCheckpoint, HasTheStatesOfTheBestEpoch) {
  Patience patience(2);
  History w;
  w.epochs = {{1, 0.5, {}, 0.1, 1}};
  patience.see(model, session, w);
  session.run({floats({2}, {10, 10})});
  w.epochs.push_back({1, 0.75, {}, 0.1, 1});
  patience.see(model, session, w);
  EXPECT_FALSE(patience.is_over(w));
  w.epochs.push_back({1, 0.5, {}, 0.1, 1});
  EXPECT_TRUE(patience.is_over(w));
  EXPECT_EQ(Patience::best_epoch(w), std::optional<std::size_t>(0));
  NamedTensors file = checkpoint_of(model, session, w, settings, {0}, patience);
  Patience other(2);
  other.restore(file, model, w);
  other.go_back(session);
  EXPECT_EQ(values_of(session.read_state("state0")), (std::vector<float>{1, 2}));
  std::erase_if(file.tensors, [](const auto& t) { return t.first == "best.state0"; });
  EXPECT_THROW(other.restore(file, model, w), Error);
}

TEST_F(TrainCheckpoint, KeepsTwo) {
  for (const std::uint64_t step : {1, 2, 10}) save_after_adding(1, step);
  EXPECT_FALSE(std::filesystem::exists(path(1)));
  EXPECT_TRUE(std::filesystem::exists(path(2)));
  EXPECT_TRUE(std::filesystem::exists(path(10)));
}

TEST_F(TrainCheckpoint, NeverRemovesTheOneItJustWrote) {
  for (const std::uint64_t step : {15, 16, 3}) save_after_adding(1, step);
  EXPECT_TRUE(std::filesystem::exists(path(3)));
  EXPECT_TRUE(std::filesystem::exists(path(15)));
  EXPECT_TRUE(std::filesystem::exists(path(16)));
}

TEST_F(TrainCheckpoint, RemovesAllOfThemAndAnEmptyFolder) {
  save_after_adding(1, 1);
  save_after_adding(1, 2);
  test::write_bytes(folder / "c/notes.txt", "mine");
  checkpoints.remove();
  EXPECT_FALSE(checkpoints.has_checkpoint());
  EXPECT_TRUE(std::filesystem::exists(folder / "c/notes.txt"));
  std::filesystem::remove(folder / "c/notes.txt");
  save_after_adding(1, 1);
  checkpoints.remove();
  EXPECT_FALSE(std::filesystem::exists(folder / "c"));
}

/// Files with a correct hash but impossible positions: restoring must not reach beyond the data.
TEST_F(TrainCheckpoint, RefusesPositionsThatNoRunHas) {
  const auto refused = [&](auto change) {
    History bad = history_at(3), h;
    change(bad);
    checkpoints.save(model, session, bad, settings, {0});
    const std::string why = error_of([&] { restored(session, h); }, ErrorCode::bad_file);
    std::filesystem::remove_all(folder / "c");
    return why;
  };
  EXPECT_NE(refused([](History& h) { h.position.batch = 6; }).find("batch 6 of 6"), std::string::npos);
  EXPECT_NE(refused([](History& h) { h.position.batch = 1000000; }).find("batch 1000000 of 6"), std::string::npos);
  EXPECT_NE(refused([](History& h) { h = history_at(21); }).find("step 21 of 20"), std::string::npos);
  EXPECT_NE(refused([](History& h) { h.losses.pop_back(); }).find("history"), std::string::npos);
  EXPECT_NE(refused([](History& h) { h.epochs.pop_back(); }).find("history"), std::string::npos);
}

TEST_F(TrainCheckpoint, RefusesHistoriesOfOtherTypes) {
  for (const char* name : {"history.losses", "history.epochs", "history.sums"}) {
    save_after_adding(1, 3);
    NamedTensors file = read_safetensors(path(3));
    for (auto& [key, t] : file.tensors) {
      if (key == name) t.dtype = DType::i64;
    }
    write_safetensors(path(3), file);
    History h;
    EXPECT_NE(error_of([&] { restored(session, h); }, ErrorCode::bad_file).find("history"), std::string::npos) << name;
  }
}

TEST_F(TrainCheckpoint, TakesTheOneBeforeADamagedOne) {
  save_after_adding(1, 1);
  save_after_adding(1, 2);
  std::string bytes = test::file_bytes(path(2));
  const std::string whole = bytes;
  // A bit of the data, the end cut off, and nothing at all.
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  for (const std::string& damaged : {bytes, whole.substr(0, whole.size() - 9), std::string()}) {
    test::write_bytes(path(2), damaged);
    Session other(prepared);
    History h;
    warnings.clear();
    ASSERT_TRUE(restored(other, h));
    EXPECT_EQ(h.position.step, 1u);
    EXPECT_EQ(values_of(other.read_state("state0")), (std::vector<float>{2, 3}));
    EXPECT_EQ(warnings.size(), 1u);
  }
  test::write_bytes(path(1), "");
  History h;
  EXPECT_NE(error_of([&] { restored(session, h); }, ErrorCode::bad_file).find("no checkpoint in"), std::string::npos);
}

/// Names unlike save()'s: a user's copy does not belong to the run.
TEST_F(TrainCheckpoint, TakesItsOwnNamesAlone) {
  save_after_adding(1, 1);
  for (const char* name : {"checkpoint-2.safetensors", "checkpoint--00000000002.safetensors", "checkpoint-.safetensors",
                           "checkpoint-99999999999999999999999.safetensors"}) {
    std::filesystem::copy(path(1), folder / (std::string("c/") + name));
  }
  History h;
  ASSERT_TRUE(restored(session, h));
  EXPECT_EQ(h.position.step, 1u);
  EXPECT_TRUE(warnings.empty());
}

/// Links, folders and pipes in place of a checkpoint: restores an older checkpoint without waiting for bytes.
TEST_F(TrainCheckpoint, TakesRegularFilesAlone) {
  namespace fs = std::filesystem;
  save_after_adding(1, 1);
  fs::create_directory(path(2));
  ASSERT_EQ(::mkfifo(path(3).c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", path(4));
  fs::create_symlink(path(5), path(5));
  fs::create_symlink(folder / "absent", path(6));
  History h;
  ASSERT_TRUE(restored(session, h));
  EXPECT_EQ(h.position.step, 1u);
  EXPECT_EQ(warnings.size(), 5u);
}

/// Changes every byte, and truncates to every length: restores the previous checkpoint, and no state of the damaged
/// file.
TEST_F(TrainCheckpoint, NoDamageGoesUnnoticed) {
  save_after_adding(1, 1);
  save_after_adding(1, 2);
  const std::string whole = test::file_bytes(path(2));
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    std::string damaged = whole;
    if (i % 4 == 0)
      damaged.resize(random() % whole.size());
    else
      damaged[random() % whole.size()] ^= static_cast<char>(1 + random() % 255);
    test::write_bytes(path(2), damaged);
    Session other(prepared);
    History h;
    ASSERT_TRUE(restored(other, h));
    if (h.position.step == 2) {  // the spaces behind the header, and names of no meaning
      EXPECT_EQ(values_of(other.read_state("state0")), (std::vector<float>{3, 4})) << i;
    } else {
      EXPECT_EQ(values_of(other.read_state("state0")), (std::vector<float>{2, 3})) << i;
    }
  }
}

/// Refuses a file of two ranks with only rank 0's random position; a complete file continues with one rank.
TEST_F(TrainCheckpoint, HasAPlaceInTheRandomNumbersForEachRank) {
  settings = {{"ranks", "2"}};
  checkpoints.save(model, session, history_at(3), settings, {5});
  History h;
  EXPECT_NE(error_of([&] { restored(session, h); }, ErrorCode::bad_file).find("lacks 'random.offset.1'"),
            std::string::npos);
  checkpoints.save(model, session, history_at(3), settings, {5, 6});
  EXPECT_TRUE(restored(session, h));
}

TEST_F(TrainCheckpoint, RefusesAnotherRun) {
  save_after_adding(1, 1);
  settings = {{"batch", "8"}};
  History h;
  const std::string why = error_of([&] { restored(session, h); }, ErrorCode::invalid_argument);
  EXPECT_NE(why.find("batch: 4 there, 8 now"), std::string::npos) << why;
}

TEST_F(TrainCheckpoint, RemovesUnfinishedFilesAndBeginsWithoutAny) {
  History h;
  EXPECT_FALSE(restored(session, h));
  std::filesystem::create_directory(folder / "c");
  const std::string dead = path(5) + ".tmp.4194305";  // no process has so high a number
  const std::string living = path(6) + ".tmp." + std::to_string(::getppid());
  test::write_bytes(dead, "half");
  test::write_bytes(living, "half");
  test::write_bytes(folder / "c/notes.txt", "mine");
  EXPECT_FALSE(restored(session, h));
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(living));
  EXPECT_TRUE(std::filesystem::exists(folder / "c/notes.txt"));
}

}  // namespace
}  // namespace tern::train
