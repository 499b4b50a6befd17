// Streams, scopes and events, on every device; the test plugins delay all work as long as allowed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/devices/programs.h"
#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;

class StreamTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string device() const { return GetParam(); }
  bool is_test_device() const { return device() == "plain" || device() == "graph" || device() == "full"; }
};
INSTANTIATE_TEST_SUITE_P(Devices, StreamTest, ::testing::ValuesIn(all_devices()), name_of_case);

Model twice() {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {3});
  p.output(p.b().expr("x * 2", {{"x", x}}, DType::f32));
  return p.model();
}

Model element() {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {3}), index = p.input(DType::i64, {1});
  p.output(p.b().index_select(x, index, 0));
  return p.model();
}

TEST(Devices, ThereIsTheOneThatTheCallerNeeds) {
  const char* needed = std::getenv("TERN_TEST_NEEDS");
  if (needed == nullptr) GTEST_SKIP() << "TERN_TEST_NEEDS names none";
  const std::vector<std::string> devices = all_devices();
  EXPECT_NE(std::ranges::find(devices, needed), devices.end()) << "there is no device " << needed;
}

TEST_P(StreamTest, SessionsRunOnTheStreamThatTheyAreGiven) {
  const PreparedModel prepared = twice().prepare(options_on(device()));
  const Stream stream(device());
  Session session(prepared, stream);
  EXPECT_EQ(session.stream(), stream);
  EXPECT_EQ(values_of(session.run({floats({3}, {1, 2, 3})})[0]), (std::vector<float>{2, 4, 6}));
  EXPECT_TRUE(stream.query());
  const std::string other = device() == "plain" ? "cpu" : "plain";
  EXPECT_THROW(Session(prepared, Stream(other)), Error);
}

TEST_P(StreamTest, ScopesNest) {
  const PreparedModel prepared = twice().prepare(options_on(device()));
  const Stream a(device()), b(device());
  const Stream own = Stream::current(device());
  EXPECT_EQ(Stream::current(device()), own);
  EXPECT_FALSE(Session(prepared).stream() == own);
  {
    const StreamScope outer(a);
    EXPECT_EQ(Stream::current(device()), a);
    {
      const StreamScope inner(b), again(b), first(a);
      EXPECT_EQ(Session(prepared).stream(), a);
    }
    EXPECT_EQ(Session(prepared).stream(), a);
    const StreamScope other(Stream(device() == "cpu" ? "plain" : "cpu"));
    EXPECT_EQ(Stream::current(device()), a) << "a scope is one of its device";
  }
  EXPECT_EQ(Stream::current(device()), own);
}

TEST_P(StreamTest, EnqueueDoesNotWait) {
  const Stream stream(device());
  Session session(twice().prepare(options_on(device())), stream);
  const std::vector<Tensor> input = {floats({3}, {1, 2, 3})};
  session.run(input);
  const std::uint64_t before = is_test_device() ? control_of(device()).launches() : 0;
  const std::vector<Tensor>& outputs = session.enqueue("forward", input);
  if (is_test_device()) {
    EXPECT_EQ(control_of(device()).launches(), before) << "the run was waited for";
  }
  stream.synchronize();
  EXPECT_EQ(values_of(outputs[0]), (std::vector<float>{2, 4, 6}));
}

TEST_P(StreamTest, EventsOrderStreams) {
  const PreparedModel prepared = twice().prepare(options_on(device()));
  const Stream a(device()), b(device());
  Session first(prepared, a), second(prepared, b);
  for (Session* s : {&first, &second}) s->run({floats({3}, {0, 0, 0})});  // planning waits
  const std::vector<Tensor> input = {floats({3}, {1, 2, 3})};
  Event begin, made;
  EXPECT_TRUE(made.query()) << "never recorded";
  b.wait(made);
  begin.record(a);
  const std::vector<Tensor>& middle = first.enqueue("forward", input);
  made.record(a);
  b.wait(made);
  const std::vector<Tensor>& end = second.enqueue("forward", middle);
  if (device() == "full") {
    EXPECT_FALSE(b.query());
    EXPECT_FALSE(made.query()) << "asking has waited";
  }
  b.synchronize();
  EXPECT_TRUE(b.query());
  EXPECT_EQ(values_of(end[0]), (std::vector<float>{4, 8, 12}));
  EXPECT_TRUE(made.query());
  made.synchronize();
  if (device() == "plain" || device() == "graph") {
    EXPECT_THROW(begin.seconds_until(made), Error) << "has no clock";
  } else {
    EXPECT_GE(begin.seconds_until(made), 0);
    EXPECT_LT(begin.seconds_until(made), 60);
  }
}

TEST_P(StreamTest, FailuresComeWithEventAndStream) {
  if (device() == "cpu") GTEST_SKIP() << "a run on the CPU has ended when it returns";
  const Stream stream(device());
  Session session(element().prepare(options_on(device())), stream);
  std::vector<Tensor> inputs = {floats({3}, {1, 2, 3}), Tensor(DType::i64, {1})};
  inputs[1].span<std::int64_t>()[0] = 7;
  Event before, after;
  before.record(stream);
  session.enqueue("forward", inputs);
  after.record(stream);
  before.synchronize();
  for (const Event* e : {&after, &after}) {
    try {
      e->synchronize();
      ADD_FAILURE() << "nothing failed";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("index"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(stream.synchronize(), Error);
  stream.synchronize();
  inputs[1].span<std::int64_t>()[0] = 2;
  EXPECT_EQ(values_of(session.run(inputs)[0]), std::vector<float>{3});
  after.record(stream);
  after.synchronize();
}

TEST_P(StreamTest, ASessionMayGoWhileItsRunIsUnderWay) {
  const Stream stream(device());
  const std::vector<Tensor> input = {floats({3}, {1, 2, 3})};
  { Session(twice().prepare(options_on(device())), stream).enqueue("forward", input); }
  stream.synchronize();
}

}  // namespace
}  // namespace tern
