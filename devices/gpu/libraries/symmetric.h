// Small calls of a device group through memory mapped by all devices, in addition to NCCL, if enabled by the
// environment. cuda/ uses NVSHMEM; ROCm has no library loadable at run time.
#pragma once

#include <tern/device.h>

#include <cstddef>
#include <string>

#include "devices/gpu/api.h"
#include "devices/gpu/libraries/communication.h"

namespace tern::gpu {

/// Returns "NVSHMEM 3.8.0", or the reason for its absence; empty if not enabled.
std::string describe_symmetric();

/// Called by all ranks of a group right after joining. Sets `c.symmetric` if every rank has the library and no rank is
/// in another group with symmetric memory. Exclusive to one group at a time. Fails only if the ranks cannot exchange
/// their records.
tern_device_status join_symmetric(Communication& c);
/// Frees the memory for another group of the same ranks, unless this group has failed.
void leave_symmetric(Communication& c);

/// True if a call uses symmetric memory; equal on all ranks. `bytes`: size of `in`.
bool takes_symmetric(const Communication& c, const tern_device_collective& call, std::size_t bytes);
/// Enqueues a call using symmetric memory.
tern_device_status run_symmetric(const tern_device_collective& call, std::size_t bytes, Stream stream);

/// Called after the group's failure. A call with missing ranks cannot be ended: if it does not finish soon, the device
/// is lost to this process.
void abandon_symmetric(const Communication& c, const std::string& why);

/// Waits for an event, or until the device counts as lost.
tern_device_status wait_for(Event event, const char* call);
/// Waits for all work on a stream, or until the device counts as lost.
tern_device_status wait_for_stream(Stream stream);
/// Waits before a blocking driver call; does nothing if no group uses symmetric memory.
tern_device_status wait_before(Stream stream);
/// True if the device will never finish its work. Functions no longer enter a lost device (devices.h), and destroying
/// functions leak memory, streams and modules until the process ends.
bool is_lost();
/// Fails with the reason.
tern_device_status lost();

}  // namespace tern::gpu
