// Streams, events and copies of the plugin: work runs late, in order, and completely.
#include "tests/gpu/metal/tests/support.h"

namespace {

class Stream : public MetalTest {
 protected:
  void SetUp() override {
    MetalTest::SetUp();
    SUCCEEDS(load(kScale, &module));
    SUCCEEDS(plugin().module_kernel(0, module, "scale", &scale));
    previous_launches_ = tern_emulator_launches("scale");
  }
  void TearDown() override {
    SUCCEEDS(plugin().module_unload(0, module));
    MetalTest::TearDown();
  }
  // Kernels run in this test.
  uint64_t launches() const { return tern_emulator_launches("scale") - previous_launches_; }

  tern_device_module module = nullptr;
  tern_device_kernel scale = nullptr;

 private:
  uint64_t previous_launches_ = 0;
};

TEST_F(Stream, WorkRunsInOrder) {
  write(1, stream);
  SUCCEEDS(run(scale, memory, 3, kNumbers, stream));
  SUCCEEDS(run(scale, memory, 1, kNumbers, stream));
  EXPECT_EQ(read(stream), 11);
}

TEST_F(Stream, ACopyToTheDeviceComesAfterTheWorkBeforeItAndReadsTheHostNow) {
  write(1, stream);
  tern_device_address kept = 0;
  SUCCEEDS(plugin().allocate(0, kBytes, &kept));
  SUCCEEDS(plugin().copy_within(0, stream, kept, memory, kBytes));
  write(5, stream);
  SUCCEEDS(plugin().copy_within(0, stream, memory, kept, kBytes));
  EXPECT_EQ(read(stream), 1);
  SUCCEEDS(plugin().free(0, kept));
}

TEST_F(Stream, WorkIsLateUntilACopyToTheHostWaitsForIt) {
  write(1, stream);
  SUCCEEDS(run(scale, memory, 0, kNumbers, stream));
  EXPECT_EQ(launches(), 0u);
  float first = 0;
  SUCCEEDS(plugin().copy_to_host(0, stream, &first, memory, sizeof first));
  EXPECT_EQ(first, 2) << "what another stream uploads from there is ready";
  EXPECT_EQ(launches(), 1u);
}

TEST_F(Stream, CopiesTakeAnyNumberOfBytesAtAnyOffset) {
  std::vector<unsigned char> bytes(101), back(101);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i + 1);
  write(0, stream);
  for (const uint64_t offset : {0, 1, 2, 3, 4}) {
    SUCCEEDS(run(scale, memory, 0, 1, stream));  // prevents the copies from running on the host
    SUCCEEDS(plugin().copy_to_device(0, stream, memory + offset, bytes.data(), bytes.size()));
    SUCCEEDS(plugin().copy_within(0, stream, memory + 500 + 2 * offset, memory + offset, bytes.size()));
    SUCCEEDS(plugin().copy_to_host(0, stream, back.data(), memory + 500 + 2 * offset, back.size()));
    SUCCEEDS(plugin().stream_synchronize(0, stream));
    EXPECT_EQ(back, bytes) << offset;
  }
}

TEST_F(Stream, AStreamWaitsForAnEventOfAnother) {
  tern_device_event event = nullptr;
  SUCCEEDS(plugin().event_create(0, &event));
  SUCCEEDS(plugin().stream_wait(0, second_stream, event));  // never recorded
  write(1, stream);
  SUCCEEDS(run(scale, memory, 3, kNumbers, stream));
  SUCCEEDS(plugin().event_record(0, event, stream));
  SUCCEEDS(plugin().stream_wait(0, second_stream, event));
  SUCCEEDS(run(scale, memory, 1, kNumbers, second_stream));
  SUCCEEDS(plugin().event_record(0, event, second_stream));
  SUCCEEDS(plugin().stream_wait(0, stream, event));
  SUCCEEDS(run(scale, memory, 0, kNumbers, stream));
  EXPECT_EQ(read(stream), 22);
  SUCCEEDS(plugin().event_destroy(0, event));
}

TEST_F(Stream, TheHostWaitsForAnEvent) {
  const auto* events = static_cast<const tern_device_event_functions*>(plugin().get_extension("events", 1));
  tern_device_event begin = nullptr, end = nullptr;
  SUCCEEDS(plugin().event_create(0, &begin));
  SUCCEEDS(plugin().event_create(0, &end));
  write(1, stream);
  SUCCEEDS(plugin().event_record(0, begin, stream));
  SUCCEEDS(run(scale, memory, 0, kNumbers, stream));
  SUCCEEDS(plugin().event_record(0, end, stream));
  int32_t happened = 1;
  SUCCEEDS(events->query(0, end, &happened));
  EXPECT_EQ(happened, 0);
  EXPECT_EQ(launches(), 0u);
  SUCCEEDS(plugin().event_synchronize(0, end));
  EXPECT_EQ(launches(), 1u);
  SUCCEEDS(events->query(0, end, &happened));
  EXPECT_EQ(happened, 1);
  double seconds = 0;
  SUCCEEDS(events->elapsed(0, begin, end, &seconds));
  EXPECT_GT(seconds, 0);
  SUCCEEDS(plugin().event_destroy(0, begin));
  SUCCEEDS(plugin().event_destroy(0, end));
}

TEST_F(Stream, ManyLaunchesNeedNoWait) {
  write(0, stream);
  for (int i = 0; i < 10000; ++i) SUCCEEDS(run(scale, memory, 1, 1, stream));
  SUCCEEDS(plugin().stream_synchronize(0, stream));
  EXPECT_LE(tern_emulator_objects("MTLCommandBuffer"), 1u);
}

TEST_F(Stream, AFailureIsReportedByEachLaterWait) {
  write(1, stream);
  SUCCEEDS(run(scale, memory, 0, kNumbers, stream));
  tern_emulator_fail(commit_call(), 1);
  FAILS(TERN_DEVICE_FAILED, plugin().stream_synchronize(0, stream));
  EXPECT_NE(std::string(plugin().last_message()).find("the emulated GPU fails"), std::string::npos);
  FAILS(TERN_DEVICE_FAILED, plugin().stream_synchronize(0, stream));
  SUCCEEDS(plugin().stream_synchronize(0, second_stream));
}

TEST_F(Stream, AFailureIsReportedByItsEvent) {
  tern_device_event event = nullptr;
  SUCCEEDS(plugin().event_create(0, &event));
  write(1, stream);
  SUCCEEDS(run(scale, memory, 0, kNumbers, stream));
  tern_emulator_fail(commit_call(), 1);
  SUCCEEDS(plugin().event_record(0, event, stream));
  FAILS(TERN_DEVICE_FAILED, plugin().event_synchronize(0, event));
  FAILS(TERN_DEVICE_FAILED, plugin().stream_wait(0, second_stream, event));
  SUCCEEDS(plugin().event_destroy(0, event));
}

TEST_F(Stream, AStreamDoesNotWaitForEverForOneThatFailed) {
  tern_device_event event = nullptr;
  SUCCEEDS(plugin().event_create(0, &event));
  write(1, stream);
  SUCCEEDS(run(scale, memory, 0, kNumbers, stream));
  tern_emulator_fail(commit_call(), 1);
  SUCCEEDS(plugin().event_record(0, event, stream));
  SUCCEEDS(plugin().stream_wait(0, second_stream, event));
  SUCCEEDS(run(scale, memory, 5, kNumbers, second_stream));
  EXPECT_EQ(read(second_stream), 7);
  FAILS(TERN_DEVICE_FAILED, plugin().stream_synchronize(0, stream));
  SUCCEEDS(plugin().event_destroy(0, event));
}

TEST_F(Stream, SpansOfAProfileAreInOrderAndHaveTheirIds) {
  const auto* profiler = static_cast<const tern_device_profiler_functions*>(plugin().get_extension("profiler", 1));
  write(1, stream);
  SUCCEEDS(profiler->begin(0, stream));
  for (uint64_t id = 1; id <= 3; ++id) {
    SUCCEEDS(profiler->mark(0, stream, id));
    SUCCEEDS(run(scale, memory, 0, kNumbers, stream));
  }
  EXPECT_EQ(read(stream), 8);
  tern_device_span spans[8];
  uint64_t count = 0;
  SUCCEEDS(profiler->read_spans(0, stream, spans, 8, &count));
  ASSERT_EQ(count, 4u) << "three launches and a copy";
  for (uint64_t i = 0; i < count; ++i) {
    EXPECT_EQ(spans[i].id, std::min<uint64_t>(i + 1, 3));
    EXPECT_LT(spans[i].begin, spans[i].end);
    EXPECT_GE(spans[i].begin, i == 0 ? 0 : spans[i - 1].end);
  }
  SUCCEEDS(profiler->end(0, stream));
}

TEST_F(Stream, AnOperandWithoutMemoryIsRefused) {
  FAILS(TERN_DEVICE_INVALID, run(scale, 0x1234, 0, 1, stream));
  FAILS(TERN_DEVICE_INVALID, plugin().copy_within(0, stream, memory, 0x1234, 4));
  FAILS(TERN_DEVICE_INVALID, plugin().copy_within(0, stream, memory + 4, memory, kBytes));
}

TEST_F(Stream, LimitsOfALaunchAreErrors) {
  FAILS(TERN_DEVICE_UNSUPPORTED, run(scale, memory, 0, uint64_t{1} << 32, stream));
  FAILS(TERN_DEVICE_UNSUPPORTED, run(scale, memory, 0, 2048, stream, 2048));
  EXPECT_NE(std::string(plugin().last_message()).find("at most 1024 items"), std::string::npos);
}

}  // namespace
