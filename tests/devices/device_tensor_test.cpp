// Tensors in device memory, on every device: the test plugins delay all work as long as allowed.
#include <gtest/gtest.h>
#include <tern/c_api.h>

#include <array>
#include <cstring>
#include <functional>

#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;
using Floats = std::vector<float>;

class DeviceTensorTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string device() const { return GetParam(); }
  bool is_host() const { return device() == "cpu"; }
  /// Copies to the device.
  Tensor there(const Tensor& t) const { return t.to(device()); }
};
INSTANTIATE_TEST_SUITE_P(Devices, DeviceTensorTest, ::testing::ValuesIn(all_devices()), name_of_case);

Floats values_at_host_device_tensor(const Tensor& t) {
  return values_of(t.to("cpu"));
}

std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

/// (x, y): x - y, x * 2, and y, written back to x.
TestProgram program_device_tensor() {
  TestProgram p;
  const Dim n = p.b().pool().symbol("n", 1, 8);
  const ValueId x = p.input(DType::f32, {n, 3}), y = p.input(DType::f32, {n, 3});
  p.program().functions[0].writebacks.push_back({WriteBack::Target::input, 1, x});
  p.output(p.b().expr("x - y", {{"x", x}, {"y", y}}, DType::f32));
  p.output(p.b().expr("x * 2", {{"x", x}}, DType::f32));
  return p;
}

const Tensor kDeviceTensorX = floats({2, 3}, {5, 6, 7, 8, 9, 10}), kDeviceTensorY = floats({2, 3}, {1, 2, 3, 4, 5, 7});
const Floats kDifference = {4, 4, 4, 4, 4, 3}, kTwice = {10, 12, 14, 16, 18, 20};

TEST_P(DeviceTensorTest, KeepsWhatIsCopiedThereAndBack) {
  const Tensor t = there(kDeviceTensorX);
  EXPECT_EQ(t.device(), is_host() ? "cpu" : device() + ":0");
  EXPECT_EQ(kDeviceTensorX.device(), "cpu");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.data()) % 64, 0U);
  EXPECT_EQ(values_at_host_device_tensor(t), values_of(kDeviceTensorX));
  const Tensor copy = t.clone();
  EXPECT_EQ(copy.device(), t.device());
  EXPECT_NE(copy.data(), t.data());
  t.copy_from(kDeviceTensorY);
  EXPECT_EQ(values_at_host_device_tensor(t), values_of(kDeviceTensorY));
  EXPECT_EQ(values_at_host_device_tensor(copy), values_of(kDeviceTensorX));
}

TEST_P(DeviceTensorTest, CopiesStridedMemory) {
  const Tensor memory = there(floats({12}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  const auto columns = [&](void* data) { return Tensor::borrow_on(device(), data, DType::f32, {3, 2}, {1, 6}); };
  Tensor base = memory;
  const Tensor turned = columns(base.data());
  EXPECT_EQ(values_at_host_device_tensor(turned), (Floats{0, 6, 1, 7, 2, 8}));
  EXPECT_EQ(values_at_host_device_tensor(turned.contiguous()), (Floats{0, 6, 1, 7, 2, 8}));
  turned.copy_from(floats({3, 2}, {-1, -2, -3, -4, -5, -6}));
  EXPECT_EQ(values_at_host_device_tensor(memory), (Floats{-1, -3, -5, 3, 4, 5, -2, -4, -6, 9, 10, 11}));
  Floats wide(6, 0);
  const Tensor onto = Tensor::borrow(wide.data(), DType::f32, {3, 2}, {1, 3});
  onto.copy_from(turned);
  EXPECT_EQ(wide, (Floats{-1, -3, -5, -2, -4, -6}));
}

TEST_P(DeviceTensorTest, OfEveryTypeKeepsItsBytes) {
  for (int t = 1; t < kTensorDTypeCount; ++t) {
    const Tensor from(static_cast<DType>(t), {3, 5});
    auto* const bytes = static_cast<unsigned char*>(const_cast<void*>(from.data()));
    for (std::size_t i = 0; i < from.byte_size(); ++i) bytes[i] = static_cast<unsigned char>(i % 2);
    const Tensor back = there(from).clone().to("cpu");
    EXPECT_EQ(std::memcmp(back.data(), from.data(), from.byte_size()), 0) << name_of(from.dtype());
  }
  EXPECT_EQ(there(Tensor(DType::f32, {0, 3})).to("cpu").sizes(), (std::vector<std::int64_t>{0, 3}));
}

TEST_P(DeviceTensorTest, GoesBetweenDevices) {
  for (const std::string& other : all_devices()) {
    EXPECT_EQ(values_at_host_device_tensor(there(kDeviceTensorX).to(other)), values_of(kDeviceTensorX)) << other;
  }
}

TEST_P(DeviceTensorTest, IsReadAndWrittenWhereItLies) {
  Session s(program_device_tensor().model().prepare(options_on(device())));
  const Tensor x = there(kDeviceTensorX), y = there(kDeviceTensorY),
               difference = Tensor::allocate(device(), DType::f32, {2, 3}),
               twice = Tensor::allocate(device(), DType::f32, {2, 3});
  const std::array inputs{x, y}, outputs{difference, twice};
  for (int run = 0; run < 3; ++run) {
    y.copy_from(kDeviceTensorY);
    s.run_into(inputs, outputs);
    EXPECT_EQ(values_at_host_device_tensor(difference), kDifference);
    EXPECT_EQ(values_at_host_device_tensor(twice), kTwice);
    EXPECT_EQ(values_at_host_device_tensor(y), values_of(kDeviceTensorX)) << "the program writes it back";
    EXPECT_EQ(s.output("out1").data(), twice.data());
  }
}

TEST_P(DeviceTensorTest, IsNotCopied) {
  if (device() != "plain" && device() != "full") GTEST_SKIP() << "nobody counts copies";
  Session s(program_device_tensor().model().prepare(options_on(device())));
  const std::array inputs{there(kDeviceTensorX), there(kDeviceTensorY)};
  const std::array outputs{Tensor::allocate(device(), DType::f32, {2, 3}),
                           Tensor::allocate(device(), DType::f32, {2, 3})};
  s.run_into(inputs, outputs);
  const CopyCounts before = control_of(device()).copies();
  s.enqueue_into("forward", inputs, outputs);
  const CopyCounts after = control_of(device()).copies();
  EXPECT_EQ(after.to_device, before.to_device);
  EXPECT_EQ(after.to_host, before.to_host);
  EXPECT_EQ(after.within, before.within + 1) << "x becomes y";
  s.stream().synchronize();
}

TEST_P(DeviceTensorTest, MixesWithTheHosts) {
  Session s(program_device_tensor().model().prepare(options_on(device())));
  const Tensor host(DType::f32, {2, 3}), away = Tensor::allocate(device(), DType::f32, {2, 3}),
                                         y = kDeviceTensorY.clone();
  s.run_into({there(kDeviceTensorX), y}, {host, away});
  EXPECT_EQ(values_of(host), kDifference);
  EXPECT_EQ(values_at_host_device_tensor(away), kTwice);
  EXPECT_EQ(values_of(y), values_of(kDeviceTensorX));
  EXPECT_EQ(values_of(s.run({kDeviceTensorX, there(kDeviceTensorY)})[0]), kDifference)
      << "results of run() are the host's";
  s.run_into({there(kDeviceTensorX), kDeviceTensorY.clone()}, {Tensor(), away});
  EXPECT_EQ(values_at_host_device_tensor(away), kTwice);
}

TEST_P(DeviceTensorTest, MayBeStridedOrUnaligned) {
  Session s(program_device_tensor().model().prepare(options_on(device())));
  Tensor memory = there(Tensor(DType::f32, {64}));
  auto* const first = static_cast<float*>(memory.data());
  const Tensor x = Tensor::borrow_on(device(), first + 1, DType::f32, {2, 3});
  const Tensor y = Tensor::borrow_on(device(), first + 16, DType::f32, {2, 3}, {1, 2});
  const Tensor difference = Tensor::borrow_on(device(), first + 33, DType::f32, {2, 3});
  const Tensor twice = Tensor::borrow_on(device(), first + 48, DType::f32, {2, 3}, {1, 2});
  x.copy_from(kDeviceTensorX);
  y.copy_from(kDeviceTensorY);
  s.run_into({x, y}, {difference, twice});
  EXPECT_EQ(values_at_host_device_tensor(difference), kDifference);
  EXPECT_EQ(values_at_host_device_tensor(twice), kTwice);
  EXPECT_EQ(values_at_host_device_tensor(y), values_of(kDeviceTensorX));
  EXPECT_EQ(values_at_host_device_tensor(memory)[0], 0) << "what lies beside";
  EXPECT_EQ(values_at_host_device_tensor(memory)[7], 0);
}

TEST_P(DeviceTensorTest, MayBeBothInputAndResult) {
  Session s(program_device_tensor().model().prepare(options_on(device())));
  const Tensor x = there(kDeviceTensorX);
  s.run_into({x, there(kDeviceTensorY)}, {Tensor(), x});
  EXPECT_EQ(values_at_host_device_tensor(x), kTwice);
}

TEST_P(DeviceTensorTest, HoldsResultsOfEverySize) {
  Session s(program_device_tensor().model().prepare(options_on(device())));
  std::vector<Tensor> kept;
  for (const std::int64_t n : {1, 4, 2}) {
    Tensor x(DType::f32, {n, 3});
    for (std::size_t i = 0; i < x.span<float>().size(); ++i) x.span<float>()[i] = static_cast<float>(i);
    const std::array inputs{there(x), there(Tensor(DType::f32, {n, 3}))};
    const std::vector<Tensor> results = s.run_on_device("forward", inputs);
    EXPECT_EQ(results[0].device(), is_host() ? "cpu" : device() + ":0");
    EXPECT_EQ(values_at_host_device_tensor(results[0]), values_of(x));
    kept.push_back(results[1]);
  }
  EXPECT_EQ(values_at_host_device_tensor(kept[0]), (Floats{0, 2, 4})) << "results outlive later runs";
  EXPECT_EQ(kept[1].sizes(), (std::vector<std::int64_t>{4, 3}));
}

TEST_P(DeviceTensorTest, IsReadByReplaysOfAGraph) {
  Session s(program_device_tensor().model().prepare(options_on(device())), Stream(device()));
  const Tensor x = there(kDeviceTensorX), y = there(kDeviceTensorY),
               difference = Tensor::allocate(device(), DType::f32, {2, 3}),
               twice = Tensor::allocate(device(), DType::f32, {2, 3});
  Graph graph;
  graph.capture_begin(s.stream());
  s.enqueue_into("forward", std::array{x, y}, std::array{difference, twice});
  const std::vector<Tensor> fresh = s.run_on_device("forward", std::array{twice, y});
  graph.capture_end();
  for (int i = 1; i <= 5; ++i) {
    const auto f = static_cast<float>(i);
    x.copy_from(floats({2, 3}, Floats(6, f)));
    y.copy_from(kDeviceTensorY);
    graph.replay();
    s.stream().synchronize();
    EXPECT_EQ(values_at_host_device_tensor(difference), (Floats{f - 1, f - 2, f - 3, f - 4, f - 5, f - 7}));
    EXPECT_EQ(values_at_host_device_tensor(twice), Floats(6, 2 * f));
    EXPECT_EQ(values_at_host_device_tensor(fresh[0]), Floats(6, f)) << "of the first run's results";
    EXPECT_EQ(values_at_host_device_tensor(y), Floats(6, 2 * f));
  }
}

TEST_P(DeviceTensorTest, IsReadAfterTheVendorsStream) {
  const Stream own(device()), runs(device());
  if (device() == "full" || device() == "cuda" || device() == "rocm") {
    ASSERT_NE(own.native(), nullptr);
    runs.wait_native(nullptr);
  } else {
    EXPECT_NE(message_of([&] { (void)own.native(); }).find("no vendor's streams"), std::string::npos);
    EXPECT_NE(message_of([&] { runs.wait_native(nullptr); }).find("no vendor's streams"), std::string::npos);
    return;
  }
  // Writes of another session on its stream stand for the application's work.
  Session writer(program_device_tensor().model().prepare(options_on(device())), own),
      reader(program_device_tensor().model().prepare(options_on(device())), runs);
  const Tensor x = there(kDeviceTensorX), middle = there(kDeviceTensorY),
               twice = Tensor::allocate(device(), DType::f32, {2, 3});
  writer.enqueue_into("forward", std::array{x, there(kDeviceTensorY)}, std::array{Tensor(), middle});
  runs.wait_native(own.native());
  reader.enqueue_into("forward", std::array{middle, there(kDeviceTensorY)}, std::array{Tensor(), twice});
  runs.synchronize();
  EXPECT_EQ(values_at_host_device_tensor(twice), (Floats{20, 24, 28, 32, 36, 40}));
  Graph graph;
  graph.capture_begin(runs);
  EXPECT_THROW(runs.wait_native(own.native()), Error);
  graph.capture_end();
}

TEST_P(DeviceTensorTest, GivesAStateItsValue) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2}), total = p.state({2}, {1, 2}, true);
  const ValueId next = p.b().expr("t + x", {{"t", total}, {"x", x}}, DType::f32);
  p.write_back(0, next);
  p.output(next);
  Session s(p.model().prepare(options_on(device())));
  s.write_state("state0", there(floats({2}, {10, 20})));
  EXPECT_EQ(values_of(s.read_state("state0")), (Floats{10, 20}));
  EXPECT_EQ(values_of(s.run({there(floats({2}, {1, 1}))})[0]), (Floats{11, 21}));
}

TEST_P(DeviceTensorTest, IsRefusedElsewhere) {
  if (is_host()) GTEST_SKIP() << "every device takes the host's";
  const Tensor away = there(kDeviceTensorX), empty = Tensor::allocate(device(), DType::f32, {2, 3});
  Session host(program_device_tensor().model().prepare());
  EXPECT_EQ(message_of([&] {
              host.run({away, kDeviceTensorY.clone()});
            }),
            "input 'in0' is on " + device() + ":0, but the session runs on cpu; pass it as to(\"cpu\")");
  EXPECT_EQ(message_of([&] {
              host.run_into({kDeviceTensorX, kDeviceTensorY.clone()}, {empty, Tensor()});
            }),
            "the tensor for result 'out0' is on " + device() + ":0, but the session runs on cpu");
  EXPECT_EQ(message_of([&] { (void)away.span<const float>(); }),
            "Tensor::span: the tensor is on " + device() + ":0; use span() of its to(\"cpu\")");
  Session s(program_device_tensor().model().prepare(options_on(device())));
  Floats memory(16);
  const Tensor unaligned = Tensor::borrow(memory.data() + 1, DType::f32, {2, 3});
  EXPECT_NE(message_of([&] {
              s.enqueue_into("forward", std::array{kDeviceTensorX, kDeviceTensorY}, std::array{unaligned, Tensor()});
            }).find("enqueue_into() cannot copy there"),
            std::string::npos);
}

TEST_P(DeviceTensorTest, ChecksKindsAndSizes) {
  EXPECT_NE(message_of([&] {
              there(kDeviceTensorX).copy_from(floats({3, 2}, Floats(6)));
            }).find("takes no elements of"),
            std::string::npos);
  EXPECT_NE(message_of([] { (void)Tensor::allocate("nowhere", DType::f32, {1}); }).find("there is no device 'nowhere'"),
            std::string::npos);
  EXPECT_THROW((void)Tensor::allocate(device(), DType::f32, {-1}), Error);
  EXPECT_THROW((void)Tensor::allocate(device(), DType::invalid, {1}), Error);
}

TEST_P(DeviceTensorTest, IsAnArrayInC) {
  const std::int64_t sizes[] = {2, 3};
  tern_array there{}, host{}, back{};
  ASSERT_EQ(tern_array_allocate(device().c_str(), TERN_FLOAT32, 2, sizes, &there), TERN_OK) << tern_last_error();
  ASSERT_EQ(tern_array_allocate(nullptr, TERN_FLOAT32, 2, sizes, &host), TERN_OK);
  ASSERT_EQ(tern_array_allocate("cpu", TERN_FLOAT32, 2, sizes, &back), TERN_OK);
  EXPECT_EQ(there.device == nullptr, is_host());
  EXPECT_EQ(host.device, nullptr);
  std::memcpy(host.data, kDeviceTensorX.data(), kDeviceTensorX.byte_size());
  EXPECT_EQ(tern_array_copy(&host, &there), TERN_OK);
  EXPECT_EQ(tern_array_copy(&there, &back), TERN_OK);
  EXPECT_EQ(std::memcmp(back.data, kDeviceTensorX.data(), kDeviceTensorX.byte_size()), 0);
  host.sizes[0] = 1;
  EXPECT_EQ(tern_array_copy(&host, &there), TERN_ERROR_INVALID_ARGUMENT);
  const char* const place = there.device;
  there.device = "nowhere";
  EXPECT_EQ(tern_array_copy(&there, &back), TERN_ERROR_INVALID_ARGUMENT);
  there.device = place;
  for (tern_array* a : {&there, &host, &back}) {
    tern_array_free(a);
    EXPECT_EQ(a->data, nullptr);
    tern_array_free(a);  // nothing
  }
  EXPECT_EQ(tern_array_allocate(device().c_str(), 99, 2, sizes, &there), TERN_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(tern_array_allocate(device().c_str(), TERN_FLOAT32, 2, nullptr, &there), TERN_ERROR_INVALID_ARGUMENT);
}

TEST_P(DeviceTensorTest, GivesItsMemoryBack) {
  if (is_host()) GTEST_SKIP() << "the host's memory is not counted";
  const std::uint64_t before = device_memory(device()).used;
  {
    const Tensor t = Tensor::allocate(device(), DType::f32, {1024}), copy = t;
    EXPECT_GE(device_memory(device()).used, before + 4096);
  }
  EXPECT_EQ(device_memory(device()).used, before);
}

}  // namespace
}  // namespace tern
