// The clock of a plugin's device ("profiler" of tern/device.h).
#pragma once

#include <tern/device.h>

#include <array>

#include "runtime/devices/abilities.h"

namespace tern {

class PluginStream;

class PluginClock : public StepClock {
 public:
  explicit PluginClock(PluginStream& stream) : stream_(stream) {}
  void begin() override;
  void mark(std::uint64_t id) override;
  bool times_graphs() const override;
  std::span<const Time> consume_times() override;
  void end() noexcept override;

 private:
  std::span<const Time> consume_graph_times();
  PluginStream& stream_;
  std::array<Time, 256> times_{};
};

}  // namespace tern
