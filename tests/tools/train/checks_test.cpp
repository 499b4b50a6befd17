// Checks before a training run.
#include "tools/train/checks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <thread>

#include "tests/runtime/support.h"
#include "tests/tools/support.h"
#include "tools/train/method.h"

namespace tern::train {
namespace {

using test::error_of;
using test::TempFolder;
using testing::floats;
using testing::TestProgram;

SizeInfo size_of(std::int64_t min, std::optional<std::int64_t> max) {
  return {"s0", false, 0, min, max};
}

/// Inputs `x`, with `size` samples per batch, and `lr`.
FunctionInfo function_of(SizeInfo size) {
  FunctionInfo f;
  f.name = "train_step";
  ValueInfo x;
  x.name = "x";
  x.dtype = DType::f32;
  x.sizes = {std::move(size)};
  ValueInfo rate;
  rate.name = "lr";
  f.inputs = {x, rate};
  return f;
}

std::string batches_error(const SizeInfo& size, std::uint64_t samples, std::uint64_t batch, bool whole) {
  return error_of([&] {
    check_batches(function_of(size), "lr", {samples, batch, whole, "samples to train"}, "d.npz");
  });
}

TEST(TrainChecks, BatchesThatTheProgramTakes) {
  EXPECT_EQ(batches_error(size_of(2, 64), 66, 32, false), "no error");
  EXPECT_EQ(batches_error(size_of(2, 64), 65, 32, true), "no error");
  EXPECT_EQ(batches_error(size_of(0, {}), 1, 32, false), "no error");
  EXPECT_EQ(batches_error({"8", true, 8, 0, {}}, 20, 8, true), "no error");
}

TEST(TrainChecks, BatchesThatItDoesNotTake) {
  const auto says = [](const std::string& error, const char* text) {
    EXPECT_NE(error.find(text), std::string::npos) << error;
  };
  says(batches_error(size_of(2, 64), 1000, 65, false), "--batch 65: the input 'x' takes batches of 2 to 64");
  says(batches_error(size_of(2, 64), 65, 32, false), "1 are left after the last batch of 32");
  says(batches_error(size_of(2, {}), 1, 32, false), "takes batches of 2 or more");
  says(batches_error(size_of(0, {}), 0, 32, false), "d.npz: 0 samples to train, but a batch has 32");
  says(batches_error({"8", true, 8, 0, {}}, 7, 8, true), "7 samples to train, but a batch has 8");
}

TEST(TrainChecks, ArraysAreForInputs) {
  const FunctionInfo f = function_of(size_of(0, {}));
  EXPECT_EQ(error_of([&] { check_array_names(f, "lr", {{"x", "images"}}); }), "no error");
  EXPECT_NE(error_of(
                [&] {
                  check_array_names(f, "lr", {{"y", "images"}});
                },
                ErrorCode::invalid_argument)
                .find("--array y=images: 'train_step' has no such input (it has: x)"),
            std::string::npos);
  EXPECT_NE(error_of([&] { check_array_names(f, "lr", {{"lr", "images"}}); }), "no error");
}

TEST(TrainChecks, OutputsAreFilesOfTheirOwn) {
  const TempFolder folder;
  const auto error = [&](const char* output, const char* forward, const char* data, const char* trace = "trace.json") {
    TrainOptions o;
    o.output = folder / output;
    o.forward = folder / forward;
    o.data = folder / data;
    return error_of(
        [&] {
          check_names(o, folder / trace);
          check_outputs(o);
        },
        ErrorCode::invalid_argument);
  };
  test::write_bytes(folder / "d.npz", "data");
  std::filesystem::create_symlink("d.npz", folder / "link");
  EXPECT_EQ(error("a", "b", "d.npz"), "no error");
  EXPECT_NE(error("a", "./a", "d.npz").find("--output and --forward are the same file"), std::string::npos);
  EXPECT_NE(error("d.npz", "b", "d.npz").find("--output would replace "), std::string::npos);
  EXPECT_NE(error("a", "link", "d.npz").find("--forward would replace "), std::string::npos);
  EXPECT_NE(error("a", "b", "d.npz", "./b").find("--forward and --trace are the same file"), std::string::npos);
  EXPECT_NE(error("a", "b", "d.npz", "link").find("--trace would replace "), std::string::npos);
  EXPECT_EQ(folder.files(), 2u);
  TrainOptions devices;
  devices.output = devices.forward = "/dev/null";
  EXPECT_EQ(error_of([&] { check_names(devices, "/dev/null"), check_outputs(devices); }), "no error");
}

TEST(TrainChecks, PipesAreNotTried) {
  const TempFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  TrainOptions o;
  o.plot = pipe;
  std::string error;
  std::thread check([&] { error = error_of([&] { check_outputs(o); }); });
  // A writer that opens and closes the pipe would cause an end of file.
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  check.join();
  pollfd events{reader, POLLIN, 0};
  EXPECT_EQ(::poll(&events, 1, 0), 0);
  ::close(reader);
  EXPECT_EQ(error, "no error");
}

TEST(TrainChecks, ParametersThatAreNotFinite) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2});
  const ValueId s = p.state({2}, {1, 2}, true);
  p.program().states.back().kind = State::Kind::parameter;
  const ValueId sum = p.b().expr("s + x", {{"s", s}, {"x", x}}, DType::f32);
  p.write_back(0, sum);
  p.output(sum);
  const Model model = p.model();
  const PreparedModel prepared = model.prepare();
  Session session(prepared);
  session.run({floats({2}, {3e38F, 1})});
  EXPECT_EQ(error_of([&] { check_parameters(model, session, 1); }), "no error");
  session.run({floats({2}, {3e38F, 1})});
  EXPECT_NE(error_of([&] { check_parameters(model, session, 2); }, ErrorCode::runtime)
                .find("after step 2 the parameter 'state0' is not finite"),
            std::string::npos);
}

/// A step function, and a method `loss` with another result.
TEST(TrainMethods, LossIsOneFloat) {
  for (const Dims& sizes : {Dims{}, Dims{1}, Dims{0}, Dims{3}}) {
    TestProgram p;
    p.program().functions[0].name = "train_step";
    const ValueId s = p.state({}, {1}, true);
    p.write_back(0, s);
    p.output(s);
    for (const char* name : {"loss", "accumulate", "apply"}) {
      const std::uint32_t f = p.add_body();
      p.program().functions[f].name = name;
      p.program().functions[f].entry = true;
      p.output(p.input(DType::f32, sizes, f), f);
    }
    const Methods m = find_methods(p.model(), "");
    const bool is_number = sizes.empty() || sizes[0].is(1);
    EXPECT_EQ(m.loss.has_value(), is_number);
    EXPECT_EQ(m.accumulates, is_number);
  }
}

TEST(TrainMethods, TheRateMayHaveAxes) {
  TestProgram p;
  p.program().functions[0].name = "train_step";
  const ValueId s = p.state({}, {1}, true);
  p.input(DType::f32, {1, 1});
  p.program().functions[0].inputs.back().name = "lr";
  p.write_back(0, s);
  p.output(s);
  const Methods m = find_methods(p.model(), "");
  EXPECT_TRUE(m.takes_rate);
  EXPECT_EQ(m.rate_axes, 2u);
}

}  // namespace
}  // namespace tern::train
