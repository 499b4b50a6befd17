#include "devices/gpu/cuda/symmetric_exchange.h"

#include <chrono>
#include <thread>

#include "devices/gpu/libraries/nccl.h"
#include "devices/gpu/library.h"
#include "devices/gpu/status.h"

namespace tern::gpu {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLongestWait = std::chrono::minutes(1);
constexpr unsigned kEventWithoutTimes = 2;  // CU_EVENT_DISABLE_TIMING

/// Stream, event and device memory for one exchange.
struct ExchangeResources {
  Stream stream = nullptr;
  Event event = nullptr;
  Address memory = 0;
  ExchangeResources() = default;
  ExchangeResources(const ExchangeResources&) = delete;
  ExchangeResources& operator=(const ExchangeResources&) = delete;
  ~ExchangeResources() {
    if (event != nullptr) api().event_destroy(event);
    if (stream != nullptr) api().stream_destroy(stream);
    if (memory != 0) api().free(memory);
  }
  tern_device_status create(std::size_t bytes) {
    constexpr const char* kWhat = "preparing symmetric memory";
    TERN_GPU_TRY(checked(api().stream_create(&stream, kNonBlocking), kWhat));
    TERN_GPU_TRY(checked(api().event_create(&event, kEventWithoutTimes), kWhat));
    return checked(api().allocate(&memory, bytes), kWhat);
  }
};

tern_device_status wait(Communication& c, Event event) {
  const Clock::time_point end = Clock::now() + kLongestWait;
  for (;;) {
    const Status error = api().event_query(event);
    if (error != names::kNotReady) return checked(error, "asking the ranks for symmetric memory");
    if (const std::string why = c.failure(); !why.empty()) return failed(TERN_DEVICE_FAILED, why);
    if (Clock::now() >= end) {
      const std::string why =
          "some rank does not join NVSHMEM: set TERN_CUDA_SHMEM to the same value on all ranks of the group";
      c.abort(why);
      return failed(TERN_DEVICE_FAILED, why);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

}  // namespace

tern_device_status exchange(Communication& c, const SymmetricRecord& mine, std::vector<SymmetricRecord>* all) {
  const auto ranks = static_cast<std::size_t>(c.ranks);
  constexpr std::size_t kBytes = sizeof mine;
  ExchangeResources s;
  TERN_GPU_TRY(s.create(kBytes * (ranks + 1)));
  const Address others = s.memory + kBytes;
  TERN_GPU_TRY(checked(api().copy_to_device(s.memory, &mine, kBytes, s.stream), "copying to the device"));
  TERN_GPU_TRY(c.call("asking the ranks for symmetric memory", [&] {
    return nccl().api.all_gather(pointer(s.memory), pointer(others), kBytes, kNcclU8, c.comm, s.stream);
  }));
  TERN_GPU_TRY(checked(api().event_record(s.event, s.stream), "recording an event"));
  TERN_GPU_TRY(wait(c, s.event));
  all->resize(ranks);
  TERN_GPU_TRY(checked(api().copy_to_host(all->data(), others, kBytes * ranks, s.stream), "copying to the host"));
  return checked(api().stream_synchronize(s.stream), "waiting for the stream");
}

}  // namespace tern::gpu
