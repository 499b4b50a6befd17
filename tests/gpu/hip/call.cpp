#include "tests/gpu/hip/call.h"

#include <cstdio>
#include <map>
#include <memory>

#include "tests/gpu/machine/fault.h"
#include "tests/gpu/machine/settings.h"

namespace tern::gpu::hip {
namespace {

struct Mapping {
  Status status;
  hipError_t error;
};
// Others have no name of their own in HIP.
constexpr Mapping kErrors[] = {
    {Status::ok, hipSuccess},
    {Status::invalid_value, hipErrorInvalidValue},
    {Status::out_of_memory, hipErrorOutOfMemory},
    {Status::not_initialized, hipErrorNotInitialized},
    {Status::no_device, hipErrorNoDevice},
    {Status::invalid_device, hipErrorInvalidDevice},
    {Status::invalid_context, hipErrorInvalidContext},
    {Status::context_destroyed, hipErrorContextIsDestroyed},
    {Status::invalid_handle, hipErrorInvalidHandle},
    {Status::illegal_state, hipErrorIllegalState},
    {Status::not_ready, hipErrorNotReady},
    {Status::not_found, hipErrorNotFound},
    {Status::not_supported, hipErrorNotSupported},
    {Status::invalid_image, hipErrorInvalidImage},
    {Status::no_binary, hipErrorNoBinaryForGpu},
    {Status::operating_system, hipErrorOperatingSystem},
    {Status::out_of_resources, hipErrorLaunchOutOfResources},
    {Status::capture_unsupported, hipErrorStreamCaptureUnsupported},
    {Status::capture_invalidated, hipErrorStreamCaptureInvalidated},
    {Status::capture_merge, hipErrorStreamCaptureMerge},
    {Status::capture_unmatched, hipErrorStreamCaptureUnmatched},
    {Status::capture_unjoined, hipErrorStreamCaptureUnjoined},
    {Status::capture_isolation, hipErrorStreamCaptureIsolation},
    {Status::capture_implicit, hipErrorStreamCaptureImplicit},
    {Status::capture_wrong_thread, hipErrorStreamCaptureWrongThread},
    {Status::captured_event, hipErrorCapturedEvent},
    {Status::peer_unsupported, hipErrorPeerAccessUnsupported},
    {Status::peer_enabled, hipErrorPeerAccessAlreadyEnabled},
    {Status::update_failure, hipErrorGraphExecUpdateFailure},
};

thread_local const char* current = "";
thread_local std::string why;
thread_local int current_device = 0;

}  // namespace

hipError_t to_error(Status status) {
  for (const Mapping& mapping : kErrors) {
    if (mapping.status == status) return mapping.error;
  }
  return hipErrorUnknown;
}

Call::Call(const char* name, Machine& machine)
    : name_(name), machine_(machine), lock_(machine.lock), fails_(machine.counters.call(name)) {
  current = name;
}
Call::~Call() {
  current = "";
}

hipError_t Call::refused(Status status, const std::string& reason) {
  why = std::string(name_) + ": " + reason;
  // "This is not actually an error" (hipErrorNotReady).
  if (status == Status::not_ready) return hipErrorNotReady;
  machine_.counters.refused(name_, !fails_ && emulator::is_mistake(status));
  if (emulator::settings().log) std::fprintf(stderr, "emulated GPU: %s\n", why.c_str());
  return to_error(status);
}

const std::string& last_why() {
  return why;
}

void initialize(Machine& machine) {
  emulator::install_fault_handler();
  machine.initialize();
}

int device() {
  return current_device;
}
void set_device(int device) {
  current_device = device;
}

std::shared_ptr<emulator::Context> context(Machine& machine) {
  // Under the machine's lock; for ever, as streams of the emulator are.
  static std::map<int, std::uint64_t>& contexts = *std::make_unique<std::map<int, std::uint64_t>>().release();
  const auto [at, fresh] = contexts.try_emplace(current_device, 0);
  if (fresh) at->second = machine.retain_primary(current_device);
  return machine.context(at->second);
}

void no_flags(std::uint64_t flags) {
  if (flags != 0)
    refuse(Status::invalid_value, "flags are 0x%llx and have to be 0", static_cast<unsigned long long>(flags));
}

}  // namespace tern::gpu::hip

namespace tern::emulator {

const char* current_call() {
  return tern::gpu::hip::current;
}

}  // namespace tern::emulator
