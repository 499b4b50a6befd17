// Streams on a share of a device, for devices with shares: the test plugin `full`, and GPUs.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tests/devices/everything.h"
#include "tests/devices/programs.h"
#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;

class ShareTest : public ::testing::TestWithParam<std::string> {
 protected:
  static bool has_parts() { return GetParam() != "cpu" && testing::has_parts(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Devices, ShareTest, ::testing::ValuesIn(all_devices()), name_of_case);

std::string message_of(const std::string& device, const StreamShare& share, ErrorCode code) {
  try {
    const Stream stream(device, share);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  return "no error";
}

TEST_P(ShareTest, AStreamHasAtLeastWhatItAsksFor) {
  EXPECT_EQ(Stream(GetParam()).share().units, 0) << "a stream without a share has the whole device";
  if (!has_parts()) {
    EXPECT_NE(message_of(GetParam(), {4, 0}, ErrorCode::unsupported).find("has no parts"), std::string::npos);
    return;
  }
  const Stream stream(GetParam(), {5, 2});
  EXPECT_GE(stream.share().units, 5);
  EXPECT_LT(stream.share().units, 5 + 32);
  EXPECT_LE(stream.share().queues, 2);
}

// cuda, drivers of CUDA 13.1 and later: the green context of the stream has the limit, by the driver's own functions.
TEST_P(ShareTest, TheLimitOfQueuesIsTheDrivers) {
  if (GetParam() != "cuda") GTEST_SKIP() << "no driver tells";
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  const auto function = [&](const char* name) {
    return reinterpret_cast<int (*)(void*, void*, ...)>(dlsym(driver, name));
  };
  int version = 0;
  ASSERT_EQ(reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"))(&version), 0);
  if (version < 13010) GTEST_SKIP() << "the driver has no work queues";
  constexpr int kQueues = 1000;  // CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG
  for (const int limit : {1, 2}) {
    const Stream stream(GetParam(), {8, limit});
    EXPECT_EQ(stream.share().queues, limit);
    void* green = nullptr;
    ASSERT_EQ(function("cuStreamGetGreenCtx")(stream.native(), &green), 0);
    ASSERT_NE(green, nullptr);
    int resource[36] = {};  // CUdevResource: the type, 92 bytes of the driver, then device, limit and scope
    ASSERT_EQ(function("cuGreenCtxGetDevResource")(green, resource, kQueues), 0);
    EXPECT_EQ(resource[25], limit);
    EXPECT_EQ(resource[26], 1) << "not CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED";
  }
}

TEST_P(ShareTest, ImpossiblePartsAreRefused) {
  if (!has_parts()) GTEST_SKIP() << "the device has no parts";
  EXPECT_NE(message_of(GetParam(), {60000, 0}, ErrorCode::invalid_argument).find("multiprocessors"), std::string::npos);
  EXPECT_NE(message_of(GetParam(), {0, 3}, ErrorCode::invalid_argument).find("count from 1"), std::string::npos);
  EXPECT_NE(message_of(GetParam(), {-1, 0}, ErrorCode::invalid_argument).find("count from 1"), std::string::npos);
}

/// Two sessions on parts, and a third on the whole device: each waits for events of the others.
TEST_P(ShareTest, SessionsRunOnParts) {
  if (!has_parts()) GTEST_SKIP() << "the device has no parts";
  TestProgram p;
  const ValueId x = p.input(DType::f32, {3});
  p.output(p.b().expr("x * 2", {{"x", x}}, DType::f32));
  const PreparedModel prepared = p.model().prepare(options_on(GetParam()));
  const Stream a(GetParam(), {8, 0}), b(GetParam(), {4, 1}), whole(GetParam());
  Session first(prepared, a), second(prepared, b), third(prepared, whole);
  const std::vector<Tensor> inputs = {floats({3}, {1, 2, 3})};  // read once the stream gets there
  const std::vector<Tensor>& one = first.enqueue("forward", inputs);
  Event event;
  event.record(a);
  b.wait(event);
  const std::vector<Tensor>& two = second.enqueue("forward", std::vector<Tensor>{one[0]});
  event.record(b);
  whole.wait(event);
  const std::vector<Tensor>& four = third.enqueue("forward", std::vector<Tensor>{two[0]});
  whole.synchronize();
  EXPECT_EQ(values_of(four[0]), (std::vector<float>{8, 16, 24}));
}

TEST_P(ShareTest, GraphsWithControlFlowRunOnParts) {
  if (!has_parts()) GTEST_SKIP() << "the device has no parts";
  const Stream stream(GetParam(), {8, 0});
  Session session(while_program().model().prepare(options_on(GetParam())), stream);
  std::vector<Tensor> inputs = {Tensor(DType::i64, {}), floats({kVector}, {1, 1, 1, 1, 1})};
  inputs[0].span<std::int64_t>()[0] = 4;
  Graph graph;
  graph.capture_begin(stream);
  const std::vector<Tensor>& outputs = session.run(inputs);
  graph.capture_end();
  for (int i = 0; i < 3; ++i) graph.replay();
  stream.synchronize();
  EXPECT_EQ(values_of(outputs[0])[0], 5) << "one is added four times";
}

}  // namespace
}  // namespace tern
