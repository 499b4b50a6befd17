// How tests reach into the test plugins: the table "test" of get_extension.
#pragma once

#include <tern/device.h>

#include <cstdint>

namespace tern::testing {

/// What is out at the moment, over all devices of the plugin.
struct DeviceCounts {
  std::int64_t streams = 0, events = 0, modules = 0, allocations = 0, graphs = 0, overrides = 0, profiles = 0,
               pinned = 0, pieces = 0, partitions = 0, communicators = 0;
  std::uint64_t bytes = 0;
};

/// What was asked of "partition" so far.
struct PartCounts {
  std::uint64_t asked = 0, compiled = 0, nodes = 0, runs = 0;  ///< nodes: of all compiled parts
  std::uint64_t weights = 0;                                   ///< values whose address was known before
};

/// Copies that were asked for so far.
struct CopyCounts {
  std::uint64_t to_device = 0, to_host = 0, within = 0;
};

struct DeviceControl {
  /// The nth call from now (1: the next) of this function of tern/device.h fails with `status`; 0: none does.
  void (*fail)(const char* function, int nth, tern_device_status status);
  /// Whether that failure has come.
  bool (*failed)();
  DeviceCounts (*counts)();
  void (*set_memory)(std::uint64_t bytes);  ///< how much allocate gives in all
  std::uint64_t (*launches)();              ///< of kernels, so far
  std::uint64_t (*overridden)();            ///< nodes that ran by a kernel of the plugin's
  std::uint64_t (*collectives)();           ///< that ranks ran by themselves
  PartCounts (*parts)();
  const char* (*annotations)();  ///< all texts that graphs were given, a line each
  CopyCounts (*copies)();
};

}  // namespace tern::testing
