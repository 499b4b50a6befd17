#include "runtime/devices/plugin/graphs.h"

#include "runtime/devices/plugin/stream.h"

namespace tern {
namespace {

class PluginGraph : public DeviceGraph {
 public:
  PluginGraph(PluginStream& stream, tern_device_graph graph)
      : stream_(stream), device_(stream.device()), graph_(graph) {}
  ~PluginGraph() override {
    device_.wait();
    device_.tables().graphs->destroy(device_.index(), graph_);
  }
  PluginGraph(const PluginGraph&) = delete;
  PluginGraph& operator=(const PluginGraph&) = delete;
  void launch() override { stream_.run_graph(graph_); }

 private:
  PluginStream& stream_;
  PluginDevice& device_;
  tern_device_graph graph_;
};

tern_device_address address(const std::byte* p) {
  return reinterpret_cast<tern_device_address>(p);
}

}  // namespace

std::unique_ptr<DeviceGraph> PluginGraphs::record(const std::function<void()>& put) {
  PluginDevice& d = stream_.device();
  stream_.failure();           // allocates the failure word now: allocation is impossible during recording
  stream_.set_recorded(true);  // first: freeing memory waits for all streams except recorded streams
  const tern_device_status begun = d.tables().graphs->begin(d.index(), stream_.handle());
  if (begun != TERN_DEVICE_OK) stream_.set_recorded(false);
  if (begun == TERN_DEVICE_UNSUPPORTED) return nullptr;
  d.check(begun, "beginning a graph");
  try {
    put();
  } catch (...) {
    stop(nullptr);
    throw;
  }
  tern_device_graph graph = nullptr;
  const tern_device_status status = stop(&graph);
  if (status == TERN_DEVICE_UNSUPPORTED) return nullptr;
  d.check(status, "making a graph");
  return graph == nullptr ? nullptr : std::make_unique<PluginGraph>(stream_, graph);
}

tern_device_status PluginGraphs::stop(tern_device_graph* graph) {
  const PluginDevice& d = stream_.device();
  const tern_device_status status = d.tables().graphs->end(d.index(), stream_.handle(), graph);
  stream_.set_recorded(false);
  return status;
}

bool PluginGraphs::conditional() const {
  return stream_.device().tables().conditionals != nullptr;
}

void PluginGraphs::check(tern_device_status status) const {
  stream_.device().check(status, "recording a graph");
}

void PluginGraphs::begin_if(const std::byte* predicate) {
  const PluginDevice& d = stream_.device();
  check(d.tables().conditionals->begin_if(d.index(), stream_.handle(), address(predicate)));
}

void PluginGraphs::begin_else() {
  const PluginDevice& d = stream_.device();
  check(d.tables().conditionals->begin_else(d.index(), stream_.handle()));
}

void PluginGraphs::begin_while(const std::byte* predicate) {
  const PluginDevice& d = stream_.device();
  check(d.tables().conditionals->begin_while(d.index(), stream_.handle(), address(predicate)));
}

void PluginGraphs::end_body() {
  const PluginDevice& d = stream_.device();
  check(d.tables().conditionals->end_body(d.index(), stream_.handle()));
}

void PluginGraphs::annotate(const std::function<std::string()>& text) {
  const PluginDevice& d = stream_.device();
  if (d.tables().graphs->annotate == nullptr) return;
  check(d.tables().graphs->annotate(d.index(), stream_.handle(), text().c_str()));
}

}  // namespace tern
