// Definitions of the interface's handles.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "devices/metal/modules.h"
#include "devices/metal/stream.h"

struct tern_device_stream_s {
  std::shared_ptr<tern::metal::MetalStream> stream;
};
struct tern_device_event_s {
  tern::metal::Owned<MTL::SharedEvent> event;
  std::uint64_t value = 0;                           ///< value of the last record; signalled on the event
  std::shared_ptr<tern::metal::MetalStream> stream;  ///< stream of the last record
  tern::metal::SubmissionPtr submission;             ///< submission ending with the last record
};
struct tern_device_module_s {
  tern::metal::Owned<MTL::Library> library;
  std::vector<std::unique_ptr<tern_device_kernel_s>> kernels;
};
struct tern_device_kernel_s {
  tern::metal::Pipeline pipeline;
};
