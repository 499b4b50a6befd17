#include "runtime/graph/device_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/devices/stream.h"
#include "schema/op_record.h"

namespace tern {

namespace {

class DeviceGraphBuilder {
 public:
  DeviceGraphBuilder(const Replay& replay, GraphRecorder& graphs, GraphWorkList* list = nullptr)
      : replay_(replay), graphs_(graphs), list_(list) {}

  void build_graphs(Recording& recording) {
    std::vector<RecordedItem> items;
    auto& from = recording.items;
    for (std::size_t begin = 0; begin < from.size();) {
      std::size_t end = begin;
      while (end < from.size() && can_capture(from[end])) ++end;
      if (end == begin) {
        build_body_graphs(from[begin]);
        items.push_back(std::move(from[begin++]));
        continue;
      }
      if (auto graph = record(std::span(from).subspan(begin, end - begin))) {
        RecordedGraph graph_item{std::move(graph), std::make_unique<Recording>(), std::make_unique<TimedGraph>()};
        const std::uint32_t function = from[begin].function, node = from[begin].node;
        for (std::size_t i = begin; i < end; ++i) graph_item.items->items.push_back(std::move(from[i]));
        items.push_back({std::move(graph_item), function, node});
      } else {
        for (std::size_t i = begin; i < end; ++i) items.push_back(std::move(from[i]));
      }
      begin = end;
    }
    recording.items = std::move(items);
  }

  void enqueue(const Recording& r) {
    for (const RecordedItem& item : r.items) enqueue(item);
  }

 private:
  bool can_capture(const Recording& r) const {
    return std::ranges::all_of(r.items, [&](const RecordedItem& item) { return can_capture(item); });
  }
  bool is_byte(const TensorView& predicate) const { return element_size(predicate.dtype) == 1; }

  /// True if the device can run the item without the host.
  bool can_capture(const RecordedItem& item) const {
    if (const auto* k = std::get_if<RecordedKernel>(&item.operation)) {
      // Excludes effects: random numbers depend on the session's position in its random stream, library operators run
      // on the host, and the session's group may change.
      return !has_trait(k->step->resolved->op, Trait::effect);
    }
    if (std::holds_alternative<RecordedCopy>(item.operation)) return true;
    if (!graphs_.conditional()) return false;
    if (const auto* b = std::get_if<RecordedBranch>(&item.operation))
      return is_byte(b->predicate) && can_capture(*b->chosen) && can_capture(*b->otherwise);
    if (const auto* l = std::get_if<RecordedLoop>(&item.operation)) {
      const PrepareOptions& options = replay_.captured.prepared->options;
      return options.max_iterations == 0 && options.max_seconds == 0 && is_byte(l->predicate) &&
             can_capture(*l->condition) && can_capture(*l->body);
    }
    return false;
  }

  void build_body_graphs(RecordedItem& item) {
    if (auto* b = std::get_if<RecordedBranch>(&item.operation)) {
      build_graphs(*b->chosen);
      build_graphs(*b->otherwise);
    } else if (auto* l = std::get_if<RecordedLoop>(&item.operation)) {
      build_graphs(*l->condition);
      build_graphs(*l->body);
    }
  }

  std::unique_ptr<DeviceGraph> record(std::span<const RecordedItem> items) {
    return graphs_.record([&] {
      for (const RecordedItem& item : items) enqueue(item);
    });
  }

  void enqueue(const RecordedItem& item) {
    annotate(item);
    if (const auto* b = std::get_if<RecordedBranch>(&item.operation)) {
      graphs_.begin_if(b->predicate.data);
      enqueue(*b->chosen);
      graphs_.begin_else();
      enqueue(*b->otherwise);
      graphs_.end_body();
    } else if (const auto* l = std::get_if<RecordedLoop>(&item.operation)) {
      enqueue(*l->condition);
      annotate(item);
      graphs_.begin_while(l->predicate.data);
      enqueue(*l->body);
      enqueue(*l->condition);
      annotate(item);
      graphs_.end_body();
    } else {
      replay_.run(item);
    }
  }

  void annotate(const RecordedItem& item) const {
    const auto* kernel = std::get_if<RecordedKernel>(&item.operation);
    const auto text = [this, &item, kernel] {
      const std::string node = describe(*replay_.captured.prepared, item.function, item.node);
      if (kernel == nullptr || kernel->step->members == 0) return node;
      return fmt::format("partition of {} nodes to {}", kernel->step->members, node);
    };
    if (list_ == nullptr) {
      graphs_.annotate(text);
    } else {
      list_->enter(item.function, kernel == nullptr ? nullptr : kernel->step,
                   kernel == nullptr ? nullptr : kernel->args.data(), text);
    }
  }

  const Replay& replay_;
  GraphRecorder& graphs_;
  GraphWorkList* list_;  ///< null: an untraced recording
};

}  // namespace

void make_device_graphs(const Replay& replay, Recording& recording) {
  if (GraphRecorder* graphs = replay.captured.stream->graphs())
    DeviceGraphBuilder(replay, *graphs).build_graphs(recording);
}

void enqueue_timed(const Replay& replay, const Recording& recording, GraphWorkList& list) {
  DeviceGraphBuilder(replay, *replay.captured.stream->graphs(), &list).enqueue(recording);
}

}  // namespace tern
