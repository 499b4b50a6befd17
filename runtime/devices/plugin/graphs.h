// Graphs recorded by a plugin's device ("graph" and "graph_conditional" of tern/device.h).
#pragma once

#include <tern/device.h>

#include "runtime/devices/abilities.h"

namespace tern {

class PluginStream;

class PluginGraphs : public GraphRecorder {
 public:
  explicit PluginGraphs(PluginStream& stream) : stream_(stream) {}
  std::unique_ptr<DeviceGraph> record(const std::function<void()>& enqueue) override;
  bool updates() const override;
  bool update(DeviceGraph& graph, const std::function<void()>& enqueue) override;
  bool conditional() const override;
  void begin_if(const std::byte* predicate) override;
  void begin_else() override;
  void begin_while(const std::byte* predicate) override;
  void end_body() override;
  void annotate(const std::function<std::string()>& text) override;

 private:
  /// Records `enqueue`, and ends the recording by `end`, which is called with null after an exception. TERN_DEVICE_OK
  /// or TERN_DEVICE_UNSUPPORTED.
  tern_device_status record(const std::function<void()>& enqueue,
                            const std::function<tern_device_status(bool complete)>& end);
  void check(tern_device_status status) const;
  PluginStream& stream_;
};

}  // namespace tern
