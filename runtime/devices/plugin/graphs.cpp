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
  tern_device_graph handle() const { return graph_; }

 private:
  PluginStream& stream_;
  PluginDevice& device_;
  tern_device_graph graph_;
};

tern_device_address address(const std::byte* p) {
  return reinterpret_cast<tern_device_address>(p);
}

}  // namespace

tern_device_status PluginGraphs::record(const std::function<void()>& enqueue,
                                        const std::function<tern_device_status(bool complete)>& end) {
  PluginDevice& d = stream_.device();
  stream_.failure();           // allocates the failure word now: allocation is impossible during recording
  stream_.set_recorded(true);  // first: freeing memory waits for all streams except recorded streams
  const tern_device_status begun = d.tables().graphs->begin(d.index(), stream_.handle());
  if (begun != TERN_DEVICE_OK) stream_.set_recorded(false);
  if (begun == TERN_DEVICE_UNSUPPORTED) return begun;
  d.check(begun, "beginning a graph");
  try {
    enqueue();
  } catch (...) {
    end(false);
    stream_.set_recorded(false);
    throw;
  }
  const tern_device_status status = end(true);
  stream_.set_recorded(false);
  if (status != TERN_DEVICE_UNSUPPORTED) d.check(status, "making a graph");
  return status;
}

std::unique_ptr<DeviceGraph> PluginGraphs::record(const std::function<void()>& enqueue) {
  const PluginDevice& d = stream_.device();
  tern_device_graph graph = nullptr;
  const tern_device_status status = record(enqueue, [&](bool complete) {
    return d.tables().graphs->end(d.index(), stream_.handle(), complete ? &graph : nullptr);
  });
  return status != TERN_DEVICE_OK || graph == nullptr ? nullptr : std::make_unique<PluginGraph>(stream_, graph);
}

bool PluginGraphs::updates() const {
  const tern_device_graph_functions& functions = *stream_.device().tables().graphs;
  return functions.size >= sizeof functions && functions.update != nullptr;
}

bool PluginGraphs::update(DeviceGraph& graph, const std::function<void()>& enqueue) {
  const PluginDevice& d = stream_.device();
  const tern_device_graph_functions& functions = *d.tables().graphs;
  const tern_device_status status = record(enqueue, [&](bool complete) {
    if (!complete) return functions.end(d.index(), stream_.handle(), nullptr);
    return functions.update(d.index(), stream_.handle(), static_cast<PluginGraph&>(graph).handle());
  });
  return status == TERN_DEVICE_OK;
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
