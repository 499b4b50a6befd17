// Streams and events.
#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "tests/gpu/hip/call.h"
#include "tests/gpu/hip/device_figures.h"

using namespace tern::gpu::hip;

namespace {

std::set<std::uint64_t>& streams() {  // under the machine's lock
  // Never freed: streams may be destroyed after the objects of this library.
  static std::set<std::uint64_t>& all = *std::make_unique<std::set<std::uint64_t>>().release();
  return all;
}

}  // namespace

void tern::gpu::hip::finish_all(Machine& machine) {
  for (const std::uint64_t stream : streams()) machine.run_all(*machine.stream(stream));
}

// "flags to control stream creation: hipStreamDefault, hipStreamNonBlocking."
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags) {
  return call(__func__, [&](Machine& machine) {
    required(stream, "stream");
    if (flags != hipStreamDefault && flags != hipStreamNonBlocking)
      refuse(Status::invalid_value, "unknown flags 0x%x", flags);
    const std::uint64_t made = machine.create_stream(context(machine), flags);
    streams().insert(made);
    *stream = pointer<hipStream_t>(made);
  });
}
// "Each active bit represents using one CU. The first 32 bits represent the first 32 CUs, and so on. If its size is
// greater than physical CU number [...], the extra elements are ignored." The emulator refuses an empty mask.
hipError_t hipExtStreamCreateWithCUMask(hipStream_t* stream, uint32_t words, const uint32_t* mask) {
  return call(__func__, [&](Machine& machine) {
    required(stream, "stream");
    required(mask, "cuMask");
    unsigned units = 0;
    for (unsigned i = 0; i < words * 32 && i < kComputeUnits; ++i) units += mask[i / 32] >> i % 32 & 1;
    if (units == 0) refuse(Status::invalid_value, "the mask has none of the compute units");
    const std::uint64_t made = machine.create_stream(context(machine), hipStreamNonBlocking);
    machine.stream(made)->units.assign(mask, mask + words);
    streams().insert(made);
    *stream = pointer<hipStream_t>(made);
  });
}
hipError_t hipExtStreamGetCUMask(hipStream_t stream, uint32_t words, uint32_t* mask) {
  return call(__func__, [&](Machine& machine) {
    required(mask, "cuMask");
    const std::vector<std::uint32_t>& units = machine.stream(handle(stream))->units;
    if (words * 32 < kComputeUnits) refuse(Status::invalid_value, "%u words are too few for the units", words);
    std::fill_n(mask, words, 0u);
    for (unsigned i = 0; i < kComputeUnits; ++i) {
      if (units.empty() || (i / 32 < units.size() && (units[i / 32] >> i % 32 & 1) != 0)) mask[i / 32] |= 1u << i % 32;
    }
  });
}
// "If commands are still executing on the specified stream, some may complete execution before the queue is destroyed.
// The queue may be destroyed while some commands are still inflight."
hipError_t hipStreamDestroy(hipStream_t stream) {
  return call(__func__, [&](Machine& machine) {
    machine.destroy_stream(handle(stream));
    streams().erase(handle(stream));
  });
}
hipError_t hipStreamSynchronize(hipStream_t stream) {
  return call(__func__, [&](Machine& machine) { machine.synchronize(handle(stream)); });
}
// "Return hipSuccess if all of the operations in the specified stream have completed, or hipErrorNotReady if not."
hipError_t hipStreamQuery(hipStream_t stream) {
  return call(__func__, [&](Machine& machine) { machine.query(handle(stream)); });
}
// "flags: control operation [must be 0]".
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags) {
  return call(__func__, [&](Machine& machine) {
    no_flags(flags);
    machine.wait(handle(stream), handle(event));
  });
}
// "Blocks until the default device has completed all preceding requested tasks."
hipError_t hipDeviceSynchronize(void) {
  return call(__func__, [&](Machine& machine) {
    machine.unsafe();
    finish_all(machine);
  });
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  return call(__func__, [&](Machine& machine) {
    required(event, "event");
    constexpr unsigned known = hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess |
                               hipEventReleaseToDevice | hipEventReleaseToSystem;
    if ((flags & ~known) != 0) refuse(Status::invalid_value, "unknown flags 0x%x", flags);
    // "hipEventDisableTiming: Disable event's capability to record timing information."
    *event = pointer<hipEvent_t>(machine.create_event(context(machine), flags, (flags & hipEventDisableTiming) == 0));
  });
}
hipError_t hipEventDestroy(hipEvent_t event) {
  return call(__func__, [&](Machine& machine) { machine.destroy_event(handle(event)); });
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return call(__func__, [&](Machine& machine) { machine.record(handle(event), handle(stream)); });
}
// "If hipEventRecord() has not been called on event, this function returns hipSuccess when no event is captured."
hipError_t hipEventSynchronize(hipEvent_t event) {
  return call(__func__, [&](Machine& machine) { machine.synchronize_event(handle(event)); });
}
hipError_t hipEventQuery(hipEvent_t event) {
  return call(__func__, [&](Machine& machine) { machine.query_event(handle(event)); });
}
// "hipErrorNotReady, hipErrorInvalidHandle: ... if hipEventRecord() has not been called on either event".
hipError_t hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t stop) {
  return call(__func__, [&](Machine& machine) { *required(ms, "ms") = machine.elapsed(handle(start), handle(stop)); });
}
