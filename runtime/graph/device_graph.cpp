#include "runtime/graph/device_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/devices/stream.h"
#include "schema/op_record.h"

namespace tern {

DeviceGraph::~DeviceGraph() {
  if (graph_ == nullptr) return;
  device_->wait();
  device_->graphs()->destroy(device_->index(), graph_);
}

namespace {

class Maker {
 public:
  explicit Maker(const Replay& replay)
      : replay_(replay),
        stream_(*replay.captured.stream),
        device_(stream_.device()),
        conditional_(device_.graph_conditionals()) {}

  void make(Recording& recording) {
    std::vector<RecordedItem> items;
    auto& from = recording.items;
    for (std::size_t begin = 0; begin < from.size();) {
      std::size_t end = begin;
      while (end < from.size() && holds(from[end])) ++end;
      if (end == begin) {
        make_bodies(from[begin]);
        items.push_back(std::move(from[begin++]));
        continue;
      }
      if (const tern_device_graph graph = record(std::span(from).subspan(begin, end - begin))) {
        items.push_back({DeviceGraph(device_, graph), from[begin].function, from[begin].node});
      } else {
        for (std::size_t i = begin; i < end; ++i) items.push_back(std::move(from[i]));
      }
      begin = end;
    }
    recording.items = std::move(items);
  }

 private:
  bool holds(const Recording& r) const {
    return std::ranges::all_of(r.items, [&](const RecordedItem& item) { return holds(item); });
  }
  bool is_byte(const TensorView& predicate) const { return element_size(predicate.dtype) == 1; }

  /// Whether the device can run it without the host.
  bool holds(const RecordedItem& item) const {
    if (const auto* k = std::get_if<RecordedKernel>(&item.what)) {
      // Random numbers depend on the session's place in its stream; operators of libraries run on the host; the session
      // may get another group.
      return !has_trait(k->step->resolved->op, Trait::effect);
    }
    if (std::holds_alternative<RecordedCopy>(item.what)) return true;
    if (conditional_ == nullptr) return false;
    if (const auto* b = std::get_if<RecordedBranch>(&item.what))
      return is_byte(b->predicate) && holds(*b->chosen) && holds(*b->otherwise);
    if (const auto* l = std::get_if<RecordedLoop>(&item.what)) {
      const PrepareOptions& options = replay_.captured.prepared->options;
      return options.max_iterations == 0 && options.max_seconds == 0 && is_byte(l->predicate) && holds(*l->condition) &&
             holds(*l->body);
    }
    return false;
  }

  void make_bodies(RecordedItem& item) {
    if (auto* b = std::get_if<RecordedBranch>(&item.what)) {
      make(*b->chosen);
      make(*b->otherwise);
    } else if (auto* l = std::get_if<RecordedLoop>(&item.what)) {
      make(*l->condition);
      make(*l->body);
    }
  }

  tern_device_graph record(std::span<const RecordedItem> items) {
    DeviceStream::Recorded recorded(stream_);
    if (!recorded.open()) return nullptr;
    for (const RecordedItem& item : items) put(item);
    return recorded.end();
  }

  void put(const Recording& r) {
    for (const RecordedItem& item : r.items) put(item);
  }

  void put(const RecordedItem& item) {
    if (const auto* b = std::get_if<RecordedBranch>(&item.what)) {
      check(conditional_->begin_if(device_.index(), stream_.handle(), address(b->predicate)));
      put(*b->chosen);
      check(conditional_->begin_else(device_.index(), stream_.handle()));
      put(*b->otherwise);
      check(conditional_->end_body(device_.index(), stream_.handle()));
    } else if (const auto* l = std::get_if<RecordedLoop>(&item.what)) {
      put(*l->condition);
      check(conditional_->begin_while(device_.index(), stream_.handle(), address(l->predicate)));
      put(*l->body);
      put(*l->condition);
      check(conditional_->end_body(device_.index(), stream_.handle()));
    } else {
      annotate(item);
      replay_.run(item);
    }
  }

  void annotate(const RecordedItem& item) const {
    if (device_.graphs()->annotate == nullptr) return;
    std::string text = describe(*replay_.captured.prepared, item.function, item.node);
    const auto* kernel = std::get_if<RecordedKernel>(&item.what);
    if (kernel != nullptr && kernel->step->members > 0)
      text = fmt::format("partition of {} nodes to {}", kernel->step->members, text);
    check(device_.graphs()->annotate(device_.index(), stream_.handle(), text.c_str()));
  }

  void check(tern_device_status status) const { device_.check(status, "recording a graph"); }
  static tern_device_address address(const TensorView& v) { return reinterpret_cast<tern_device_address>(v.data); }

  const Replay& replay_;
  DeviceStream& stream_;
  Device& device_;
  const tern_device_graph_conditional_functions* conditional_;
};

}  // namespace

void make_device_graphs(const Replay& replay, Recording& recording) {
  if (replay.captured.stream == nullptr || replay.captured.stream->device().graphs() == nullptr) return;
  replay.captured.stream->failure();  // its memory cannot be made while the device records
  Maker(replay).make(recording);
}

}  // namespace tern
