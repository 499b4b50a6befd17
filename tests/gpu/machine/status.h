// Failures of the emulated machine, independent of any vendor's API.
#pragma once

#include <string>

namespace tern::emulator {

enum class Status {
  ok,
  invalid_value,
  out_of_memory,
  not_initialized,
  no_device,
  invalid_device,
  device_unavailable,
  invalid_context,
  context_destroyed,
  invalid_handle,
  illegal_state,
  not_ready,
  not_found,
  not_supported,
  invalid_image,
  no_binary,
  invalid_text,
  newer_text,
  operating_system,
  out_of_resources,
  stream_detached,
  invalid_resource_type,
  invalid_resource_configuration,
  lossy_query,
  capture_unsupported,
  capture_invalidated,
  capture_merge,
  capture_unmatched,
  capture_unjoined,
  capture_isolation,
  capture_implicit,
  capture_wrong_thread,
  captured_event,
  update_failure,
  peer_unsupported,
  peer_enabled,
  unknown,
};

// A refused call, with the reason.
struct Failure {
  Status status;
  std::string why;
};

// Throws Failure.
[[noreturn]] void refuse(Status status, const char* format, ...) __attribute__((format(printf, 2, 3)));

// Prints the program's error, fatal on a real device, and ends the process.
[[noreturn]] void fatal(const char* format, ...) __attribute__((format(printf, 1, 2)));

// True if only a mistake of the caller causes the status.
bool is_mistake(Status status);

}  // namespace tern::emulator
