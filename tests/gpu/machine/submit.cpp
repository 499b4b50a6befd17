// Work submitted to a stream: checks at the call, and data read at the call.
#include <cstring>

#include "tests/gpu/machine/machine.h"
#include "tests/gpu/machine/pointer.h"
#include "tests/gpu/machine/properties.h"
#include "tests/gpu/machine/settings.h"

namespace tern::emulator {

using ull = unsigned long long;

std::string text(const Work& work) {
  if (const auto* launch = std::get_if<Launch>(&work)) return std::string("kernel ") + launch->function->kernel->name;
  if (const auto* copy = std::get_if<Copy>(&work)) {
    const char* way[] = {"to the device", "to the host", "on the device"};
    return "a copy of " + std::to_string(copy->bytes) + " bytes " + way[static_cast<int>(copy->direction)];
  }
  const auto& fill = std::get<Fill>(work);
  return "a fill of " + std::to_string(fill.count * fill.element) + " bytes";
}

// Sets `pinned`.
void Machine::check_copy(Copy& copy) const {
  if (copy.bytes == 0) return;
  if (copy.direction != Direction::in) memory.check_device(copy.source, copy.bytes, "a copy");
  if (copy.direction != Direction::out) memory.check_device(copy.target, copy.bytes, "a copy");
  if (copy.direction == Direction::device_to_device) return;
  const uint64_t host = copy.direction == Direction::in ? copy.source : copy.target;
  if (host == 0) refuse(Status::invalid_value, "the host's address of a copy is null");
  if (memory.is_device(host)) {
    refuse(Status::invalid_value, "the host's address of a copy is one of the device: %s",
           memory.history(host).c_str());
  }
  const std::string wrong = memory.wrong(host, copy.bytes);
  if (!wrong.empty()) refuse(Status::invalid_value, "the host's side of a copy: %s", wrong.c_str());
  copy.pinned = memory.is_pinned(host, copy.bytes);
}

void Machine::check_fill(const Fill& fill) const {
  if (fill.element != 1 && fill.element != 2 && fill.element != 4) {
    refuse(Status::invalid_value, "an element of %u bytes", fill.element);
  }
  // cuMemsetD32Async: "unsigned int *dstDevice [...] must be aligned to" the size of its elements.
  if (fill.target % fill.element != 0)
    refuse(Status::invalid_value, "the address of a fill is not aligned to its elements");
  if (fill.count != 0) memory.check_device(fill.target, fill.count * fill.element, "a fill");
}

void Machine::check_launch(const Launch& launch) const {
  const tern_emulated_kernel& kernel = *launch.function->kernel;
  const Properties& device = properties();
  const uint64_t threads = uint64_t{1} * launch.block[0] * launch.block[1] * launch.block[2];
  for (int i = 0; i < 3; ++i) {
    if (launch.grid[i] == 0 || launch.grid[i] > device.most_grid[i]) {
      refuse(Status::invalid_value, "kernel %s: a grid of %u blocks along axis %d; 1 to %u are possible", kernel.name,
             launch.grid[i], i, device.most_grid[i]);
    }
    if (launch.block[i] == 0 || launch.block[i] > device.most_block[i]) {
      refuse(Status::invalid_value, "kernel %s: a block of %u threads along axis %d; 1 to %u are possible", kernel.name,
             launch.block[i], i, device.most_block[i]);
    }
  }
  const uint64_t most = kernel.most_threads != 0 ? kernel.most_threads : device.most_threads;
  if (threads > most) {
    refuse(Status::invalid_value, "kernel %s: a block of %llu threads; %llu are possible", kernel.name,
           static_cast<ull>(threads), static_cast<ull>(most));
  }
  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: "The maximum size in bytes of dynamically-allocated shared memory
  // that can be used by this function. If the user-specified dynamic shared memory size is larger than this value, the
  // launch will fail."
  const uint32_t dynamic = launch.function->most_dynamic;
  const uint32_t together = dynamic > device.local_bytes ? device.local_bytes_opt_in : device.local_bytes;
  if (launch.local_bytes > dynamic || launch.local_bytes + kernel.local_bytes > together) {
    refuse(Status::invalid_value,
           "kernel %s: %u bytes of dynamic local memory on top of %u of its own; this function may have %u of dynamic "
           "memory, and %u together",
           kernel.name, launch.local_bytes, kernel.local_bytes, dynamic, together);
  }
}

void Machine::submit(Work work, const std::shared_ptr<Stream>& stream) {
  if (stream->capture) {
    add_captured(stream, std::move(work));
    return;
  }
  stream->queue.emplace_back(std::move(work));
  stream->is_queried = false;
}

// "API synchronization behavior" of the CUDA driver API, asynchronous copies:
// - "For transfers from pageable host memory to device memory, host memory is copied to a staging buffer immediately
//   (no device synchronization is performed). The function will return once the pageable buffer has been copied to the
//   staging memory. The DMA transfer to final destination may not have completed."
// - "For transfers from pinned host memory to device memory, the function is fully asynchronous": read late.
// - "For transfers from device memory to pageable host memory, the function will return only once the copy has
//   completed."
// - "For all other transfers, the function is fully asynchronous."
void Machine::copy(Direction direction, uint64_t to, uint64_t from, uint64_t bytes, uint64_t stream_handle) {
  const std::shared_ptr<Stream> stream = this->stream(stream_handle);
  Copy copy{direction, to, from, bytes, nullptr, false};
  check_copy(copy);
  if (bytes == 0) return;
  const bool pageable = direction != Direction::device_to_device && !copy.pinned;
  if (pageable && direction == Direction::in && !stream->capture) {
    const auto* source = pointer(from);
    copy.staged = std::make_shared<std::vector<char>>(source, source + bytes);
  }
  submit(copy, stream);
  if (pageable && direction == Direction::out && !stream->capture) run_all(*stream);
}

// cuMemcpyPeerAsync: "Copies from device memory in one context to device memory in another context. dstDevice is the
// base device pointer of the destination memory and dstContext is the destination context."
void Machine::copy_peer(uint64_t to, int to_device, uint64_t from, int from_device, uint64_t bytes,
                        uint64_t stream_handle) {
  if (bytes != 0 && (memory.device_of(to) != to_device || memory.device_of(from) != from_device)) {
    refuse(Status::invalid_value, "a copy between devices: memory of devices %d and %d is named as that of %d and %d",
           memory.device_of(to), memory.device_of(from), to_device, from_device);
  }
  copy(Direction::device_to_device, to, from, bytes, stream_handle);
}

// cuDeviceCanAccessPeer: "Returns in *canAccessPeer a value of 1 if contexts on dev are capable of directly accessing
// memory from contexts on peerDev and 0 otherwise."
bool Machine::can_access(int device, int peer) const {
  return check_device(device) != check_device(peer) && settings().peers;
}

// cuCtxEnablePeerAccess: "Returns CUDA_ERROR_PEER_ACCESS_UNSUPPORTED if cuDeviceCanAccessPeer() indicates that the
// CUdevice of the current context cannot directly access memory from the CUdevice of peerContext. Returns
// CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED if direct access of peerContext from the current context has already been
// enabled." "Note that access granted by this call is unidirectional".
void Machine::enable_peer(int device, int peer) {
  if (!can_access(device, peer)) refuse(Status::peer_unsupported, "device %d cannot access device %d", device, peer);
  if (!peers_.emplace(device, peer).second) {
    refuse(Status::peer_enabled, "device %d has access to device %d already", device, peer);
  }
}

void Machine::fill(const Fill& fill, uint64_t stream_handle) {
  const std::shared_ptr<Stream> stream = this->stream(stream_handle);
  check_fill(fill);
  if (fill.count != 0) submit(fill, stream);
}

void Machine::launch(Launch launch, uint64_t stream_handle) {
  const std::shared_ptr<Stream> stream = this->stream(stream_handle);
  check_launch(launch);
  if (!same_primary(*launch.module->context, *stream->context)) {
    refuse(Status::invalid_handle, "the function and the stream belong to different contexts");
  }
  launch.tag = current_tag();
  submit(std::move(launch), stream);
}

}  // namespace tern::emulator
