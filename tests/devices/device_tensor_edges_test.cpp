// Tensors in device memory: shared, reused, with many axes, or refused.
#include <gtest/gtest.h>
#include <tern/linalg.h>
#include <tern/optim.h>

#include <array>

#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;
using Floats = std::vector<float>;

class DeviceTensorEdgesTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string device() const { return GetParam(); }
  bool is_host() const { return device() == "cpu"; }
  Tensor there(const Tensor& t) const { return t.to(device()); }
  Tensor empty() const { return Tensor::allocate(device(), DType::f32, {3}); }
};
INSTANTIATE_TEST_SUITE_P(Devices, DeviceTensorEdgesTest, ::testing::ValuesIn(all_devices()), name_of_case);

Floats values_at_host(const Tensor& t) {
  return values_of(t.to("cpu"));
}

/// (x, y): x + y, y, x.
TestProgram program() {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {3}), y = p.input(DType::f32, {3});
  p.output(p.b().expr("x + y", {{"x", x}, {"y", y}}, DType::f32));
  p.output(y);
  p.output(x);
  return p;
}

const Tensor kDeviceTensorEdgesX = floats({3}, {1, 2, 3}), kDeviceTensorEdgesY = floats({3}, {10, 20, 30});

// A run with results in the caller's memory does not affect the location of the next run's results.
TEST_P(DeviceTensorEdgesTest, ResultsOfRunAreOnTheHostAgain) {
  Session s(program().model().prepare(options_on(device())));
  Tensor wide = there(Tensor(DType::f32, {6}));
  s.run_into({there(kDeviceTensorEdgesX), there(kDeviceTensorEdgesY)},
             {empty(), Tensor::borrow_on(device(), wide.data(), DType::f32, {3}, {2}), empty()});
  const std::vector<Tensor>& results = s.run({kDeviceTensorEdgesX, kDeviceTensorEdgesY});
  for (const Tensor& t : results) {
    EXPECT_EQ(t.device(), "cpu");
    EXPECT_TRUE(t.is_contiguous());
  }
  EXPECT_EQ(values_of(results[0]), (Floats{11, 22, 33}));
  EXPECT_EQ(values_of(results[1]), (Floats{10, 20, 30}));
}

// Inputs returned as results, written into the inputs' memory: every input is read before being overwritten.
TEST_P(DeviceTensorEdgesTest, InputsThatAreResultsMayChangePlaces) {
  Session s(program().model().prepare(options_on(device())), Stream(device()));
  const auto check = [&](const char* how, const auto& run) {
    SCOPED_TRACE(how);
    const Tensor x = there(kDeviceTensorEdgesX), y = there(kDeviceTensorEdgesY), sum = empty(), last = empty();
    run(std::array{x, y}, std::array{sum, x, y});
    EXPECT_EQ(values_at_host(sum), (Floats{11, 22, 33}));
    EXPECT_EQ(values_at_host(x), values_of(kDeviceTensorEdgesY));
    EXPECT_EQ(values_at_host(y), values_of(kDeviceTensorEdgesX));
    run(std::array{x, y}, std::array{x, y, last});
    EXPECT_EQ(values_at_host(x), (Floats{11, 22, 33}));
    EXPECT_EQ(values_at_host(y), values_of(kDeviceTensorEdgesX));
    EXPECT_EQ(values_at_host(last), values_of(kDeviceTensorEdgesY));
  };
  using Three = std::array<Tensor, 3>;
  check("run_into", [&](const std::array<Tensor, 2>& in, const Three& out) { s.run_into(in, out); });
  check("enqueue_into", [&](const std::array<Tensor, 2>& in, const Three& out) {
    s.enqueue_into("forward", in, out);
    s.stream().synchronize();
  });
  check("graph", [&](const std::array<Tensor, 2>& in, const Three& out) {
    Graph graph;
    graph.capture_begin(s.stream());
    s.enqueue_into("forward", in, out);
    graph.capture_end();
    graph.replay();
    s.stream().synchronize();
  });
}

// Memory written by two runs of a graph: a third run reads the second run's result.
TEST_P(DeviceTensorEdgesTest, AGraphReadsTheLastResultInMemoryOfTheHost) {
  Session s(program().model().prepare(options_on(device())), Stream(device()));
  const Tensor x = kDeviceTensorEdgesX.clone(), y = kDeviceTensorEdgesY.clone(), between(DType::f32, {3}),
               result(DType::f32, {3});
  Graph graph;
  graph.capture_begin(s.stream());
  s.enqueue_into("forward", std::array{x, y}, std::array{between, Tensor(), Tensor()});
  s.enqueue_into("forward", std::array{y, y}, std::array{between, Tensor(), Tensor()});
  s.enqueue_into("forward", std::array{between, x}, std::array{result, Tensor(), Tensor()});
  graph.capture_end();
  graph.replay();
  s.stream().synchronize();
  EXPECT_EQ(values_of(between), (Floats{20, 40, 60}));
  EXPECT_EQ(values_of(result), (Floats{21, 42, 63}));
}

// An input of an earlier function in the same memory is not an input of this function.
TEST_P(DeviceTensorEdgesTest, MemoryOfAnotherFunctionsInputTakesResults) {
  if (device() != "plain" && device() != "full") GTEST_SKIP() << "nobody counts copies";
  TestProgram p;
  const ValueId x = p.input(DType::f32, {3});
  p.output(p.b().expr("x * 2", {{"x", x}}, DType::f32));
  Function& other = p.program().functions[p.add_body()];
  other.name = "other";
  other.entry = true;
  Builder b(p.program(), 1);
  const float values[] = {4, 5, 6};
  const ValueId state = b.constant(DType::f32, {3}, values), y = p.input(DType::f32, {3}, 1);
  p.output(b.expr("s + y", {{"s", state}, {"y", y}}, DType::f32), 1);
  Session s(p.model().prepare(options_on(device())));
  const Tensor memory = there(kDeviceTensorEdgesX), given = there(kDeviceTensorEdgesY);
  s.run("forward", std::array{memory});
  const CopyCounts before = control_of(device()).copies();
  s.enqueue_into("other", std::array{given}, std::array{memory});
  EXPECT_EQ(control_of(device()).copies().within, before.within);
  s.stream().synchronize();
  EXPECT_EQ(values_at_host(memory), (Floats{14, 25, 36}));
}

TEST_P(DeviceTensorEdgesTest, HasAnyNumberOfAxes) {
  std::vector<std::int64_t> sizes(40, 1);
  sizes[7] = 3;
  const Tensor x = Tensor::borrow(kDeviceTensorEdgesX.data(), DType::f32, sizes), t = there(x), copy = t.clone();
  EXPECT_EQ(copy.sizes(), sizes);
  EXPECT_EQ(values_at_host(copy), values_of(kDeviceTensorEdgesX));
  copy.copy_from(Tensor::borrow(kDeviceTensorEdgesY.data(), DType::f32, sizes));
  t.copy_from(copy);
  EXPECT_EQ(values_at_host(t), values_of(kDeviceTensorEdgesY));
  const Tensor scalar = there(floats({}, {7}));
  EXPECT_EQ(values_at_host(scalar.clone()), Floats{7});
}

TEST_P(DeviceTensorEdgesTest, MayBeReversedOrRepeated) {
  Tensor memory = there(kDeviceTensorEdgesX);
  auto* const first = static_cast<float*>(memory.data());
  const Tensor reversed = Tensor::borrow_on(device(), first + 2, DType::f32, {3}, {-1});
  const Tensor repeated = Tensor::borrow_on(device(), first + 1, DType::f32, {3}, {0});
  EXPECT_EQ(values_at_host(reversed), (Floats{3, 2, 1}));
  EXPECT_EQ(values_at_host(repeated), (Floats{2, 2, 2}));
  Session s(program().model().prepare(options_on(device())));
  const Tensor sum = empty();
  s.run_into({reversed, repeated}, {sum, Tensor(), Tensor()});
  EXPECT_EQ(values_at_host(sum), (Floats{5, 4, 3}));
  reversed.copy_from(kDeviceTensorEdgesY);
  EXPECT_EQ(values_at_host(memory), (Floats{30, 20, 10}));
}

TEST_P(DeviceTensorEdgesTest, WithoutElementsMayHaveNoMemory) {
  TestProgram p;
  const Dim n = p.b().pool().symbol("n", 0, 8);
  const ValueId x = p.input(DType::f32, {n, 3});
  p.output(p.b().expr("x * 2", {{"x", x}}, DType::f32));
  Session s(p.model().prepare(options_on(device())), Stream(device()));
  const Tensor none = Tensor::borrow_on(device(), nullptr, DType::f32, {0, 3}), host(DType::f32, {0, 3});
  s.run_into({none}, {none});
  s.enqueue_into("forward", std::array{none}, std::array{host});
  Graph graph;
  graph.capture_begin(s.stream());
  s.enqueue_into("forward", std::array{none}, std::array{host});
  s.enqueue_into("forward", std::array{host}, std::array{none});
  graph.capture_end();
  graph.replay();
  s.stream().synchronize();
  EXPECT_EQ(s.run_on_device("forward", std::array{none})[0].sizes(), (std::vector<std::int64_t>{0, 3}));
}

// An error ends the work: the caller may free its memory at once.
TEST_P(DeviceTensorEdgesTest, ACopyThatFailsIsOver) {
  if (device() != "plain" && device() != "full") GTEST_SKIP() << "no call can fail";
  TestProgram p;
  const ValueId x = p.input(DType::f32, {3}), index = p.input(DType::i64, {1});
  p.output(p.b().index_select(x, index, 0));
  Session s(p.model().prepare(options_on(device())), Stream::current(device()));
  const Tensor t = there(kDeviceTensorEdgesX), memory(DType::f32, {3});
  s.enqueue("forward",
            std::array{kDeviceTensorEdgesX, Tensor(DType::i64, {1})});  // can fail: the copy checks for failure
  control_of(device()).fail("copy_to_host", 2, TERN_DEVICE_FAILED);
  EXPECT_THROW(memory.copy_from(t), Error);
  control_of(device()).fail("copy_to_host", 0, TERN_DEVICE_OK);
  memory.copy_from(kDeviceTensorEdgesY);
  s.stream().synchronize();
  EXPECT_EQ(values_of(memory), values_of(kDeviceTensorEdgesY)) << "the copy was still under way";
}

// Functions computed on the host.
TEST_P(DeviceTensorEdgesTest, IsRefusedByFunctionsOfTheHost) {
  if (is_host()) GTEST_SKIP() << "the host's memory";
  const Tensor matrix = there(floats({2, 2}, {2, 0, 0, 2})), param = there(kDeviceTensorEdgesX);
  EXPECT_THROW((void)linalg::cholesky(matrix), Error);
  EXPECT_THROW((void)linalg::solve(matrix.to("cpu"), matrix), Error);
  const optim::Options options = optim::defaults(optim::Kind::adam);
  optim::States states = optim::make_states(options, std::array{kDeviceTensorEdgesX.clone()});
  EXPECT_THROW((void)optim::make_states(options, std::array{param}), Error);
  EXPECT_THROW(optim::step(options, std::array{kDeviceTensorEdgesX.clone()}, std::array{param}, states), Error);
  EXPECT_THROW(optim::step(options, std::array{param}, std::array{kDeviceTensorEdgesX}, states), Error);
}

}  // namespace
}  // namespace tern
