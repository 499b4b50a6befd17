// Small calls of a group of devices through memory that all of them map, beside NCCL, where the environment asks for
// it. cuda/ has NVSHMEM; for ROCm nothing can be opened at run time.
#pragma once

#include <tern/device.h>

#include <cstddef>
#include <string>

#include "devices/gpu/api.h"
#include "devices/gpu/libraries/communication.h"

namespace tern::gpu {

/// "NVSHMEM 3.8.0", or why it is not used; empty where nobody asks for it.
std::string describe_symmetric();

/// All ranks of a group call it right after they have joined. Sets `c.symmetric` where all of them can: the process is
/// in no other such group, and each has the library. One group at a time has it. Fails only where the ranks cannot
/// exchange what they need.
tern_device_status join_symmetric(Communication& c);
/// Another group may have it then, of the same ranks, unless this one has failed.
void leave_symmetric(Communication& c);

/// Whether a call goes there; the same on all ranks. `bytes` are those of `in`.
bool takes_symmetric(const Communication& c, const tern_device_collective& call, std::size_t bytes);
/// Puts such a call on the stream.
tern_device_status run_symmetric(const tern_device_collective& call, std::size_t bytes, Stream stream);

/// The group has failed. Nothing ends a call whose other ranks never come: if one does not end soon, the device is
/// lost to this process.
void abandon_symmetric(const Communication& c, const std::string& why);

/// Waits for an event, or until the device is lost.
tern_device_status wait_for(Event event, const char* call);
/// Waits for all work on a stream, or until the device is lost.
tern_device_status wait_for_stream(Stream stream);
/// The same before a call of the driver that waits by itself; nothing where no group has its calls here.
tern_device_status wait_before(Stream stream);
/// Whether the device will never end its work. No function enters it any more (devices.h), and those that end something
/// leave memory, streams and modules until the process ends.
bool is_lost();
/// Why.
tern_device_status lost();

}  // namespace tern::gpu
