#include "runtime/devices/plugin/clock.h"

#include <algorithm>

#include "runtime/devices/plugin/stream.h"

namespace tern {

void PluginClock::begin() {
  const PluginDevice& d = stream_.device();
  d.check(d.tables().profiler->begin(d.index(), stream_.handle()), "beginning to measure");
}

void PluginClock::mark(std::uint64_t id) {
  const PluginDevice& d = stream_.device();
  d.check(d.tables().profiler->mark(d.index(), stream_.handle(), id), "measuring a node");
}

bool PluginClock::times_graphs() const {
  const PluginTables& tables = stream_.device().tables();
  return tables.profiler->size >= sizeof *tables.profiler && tables.profiler->read_graph_spans != nullptr &&
         tables.graphs != nullptr && tables.graphs->annotate != nullptr;
}

std::span<const StepClock::Time> PluginClock::consume_times() {
  const PluginDevice& d = stream_.device();
  std::array<tern_device_span, std::tuple_size_v<decltype(times_)>> spans{};
  std::uint64_t count = 0;
  d.check(d.tables().profiler->read_spans(d.index(), stream_.handle(), spans.data(), spans.size(), &count),
          "asking for the times of nodes");
  count = std::min<std::uint64_t>(count, spans.size());
  for (std::size_t i = 0; i < count; ++i)
    times_[i] = {spans[i].id, 0, spans[i].begin, std::max(spans[i].begin, spans[i].end)};
  return count == 0 && times_graphs() ? consume_graph_times() : std::span(times_).first(count);
}

std::span<const StepClock::Time> PluginClock::consume_graph_times() {
  const PluginDevice& d = stream_.device();
  std::array<tern_device_graph_span, std::tuple_size_v<decltype(times_)>> spans{};
  std::uint64_t count = 0;
  d.check(d.tables().profiler->read_graph_spans(d.index(), stream_.handle(), spans.data(), spans.size(), &count),
          "asking for the times of graphs");
  count = std::min<std::uint64_t>(count, spans.size());
  for (std::size_t i = 0; i < count; ++i)
    times_[i] = {spans[i].id, spans[i].number, spans[i].begin, std::max(spans[i].begin, spans[i].end)};
  return std::span(times_).first(count);
}

void PluginClock::end() noexcept {
  const PluginDevice& d = stream_.device();
  d.tables().profiler->end(d.index(), stream_.handle());
}

}  // namespace tern
