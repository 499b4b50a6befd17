// Control of the test plugins by tests: the table "test" of get_extension.
#pragma once

#include <tern/device.h>

#include <cstdint>

namespace tern::testing {

/// Live objects over all devices of the plugin.
struct DeviceCounts {
  std::int64_t streams = 0, events = 0, modules = 0, allocations = 0, graphs = 0, overrides = 0, profiles = 0,
               pinned = 0, pieces = 0, partitions = 0, communicators = 0;
  std::uint64_t bytes = 0;
};

/// Counts of "partition" so far.
struct PartCounts {
  std::uint64_t asked = 0, compiled = 0, nodes = 0, runs = 0;  ///< nodes: of all compiled parts
  std::uint64_t weights = 0;                                   ///< values with an address known before the run
};

/// Copies requested so far.
struct CopyCounts {
  std::uint64_t to_device = 0, to_host = 0, within = 0;
};

struct DeviceControl {
  /// The nth call from now on (1: the next) of this function of tern/device.h fails with `status`; 0: no failure.
  void (*fail)(const char* function, int nth, tern_device_status status);
  /// True if the requested failure has happened.
  bool (*failed)();
  DeviceCounts (*counts)();
  void (*set_memory)(std::uint64_t bytes);  ///< total bytes available to allocate
  std::uint64_t (*launches)();              ///< number of kernel launches so far
  std::uint64_t (*overridden)();            ///< nodes run by the plugin's kernels
  std::uint64_t (*collectives)();           ///< collectives run without the host
  PartCounts (*parts)();
  const char* (*annotations)();  ///< all annotations of graphs, a line each
  CopyCounts (*copies)();
};

}  // namespace tern::testing
