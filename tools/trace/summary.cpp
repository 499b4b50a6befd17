#include "tools/trace/summary.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "tools/trace/intervals.h"

namespace tern {
namespace {

using TracedSpanKind = TracedSpan::Kind;
using Sums = std::unordered_map<std::string, TraceSum>;

/// Names are truncated to this many bytes: a few spans with long names may contain many others.
constexpr std::size_t kMaxName = 1024;

std::string_view cut(std::string_view name) {
  return name.substr(0, kMaxName);
}

/// An open span of a thread while reading the spans in the order of their begins.
struct OpenSpan {
  std::size_t number;
  double end, inner = 0;                ///< microseconds of counted spans directly inside
  std::string_view module, annotation;  ///< names valid for spans inside
};

/// True for spans with their own time.
bool counts(const TracedSpan& s) {
  return s.kind == TracedSpanKind::op || s.kind == TracedSpanKind::overhead;
}

/// Data of each op, and of overhead, from the enclosing spans.
struct OpPlace {
  double self = 0;
  std::string_view module, annotation;
};

/// "nn.Module: Conv2d_0" is a module; other frames of Python are not.
std::string_view module_of(std::string_view frame) {
  constexpr std::string_view kPrefix = "nn.Module: ";
  return frame.starts_with(kPrefix) ? frame.substr(kPrefix.size()) : std::string_view();
}

struct OpPlaces {
  std::unordered_map<std::size_t, OpPlace> op_places;
  std::unordered_set<std::string> paths;  ///< paths of annotations
};

class Thread {
 public:
  Thread(const LoadedTrace& trace, OpPlaces& places) : trace_(trace), op_places_(places) {}

  void add(std::size_t number) {
    const TracedSpan& s = trace_.spans[number];
    while (!open_.empty() && open_.back().end <= s.begin) pop();
    OpenSpan open{number, s.end()};
    if (!open_.empty()) open.module = open_.back().module, open.annotation = open_.back().annotation;
    if (counts(s)) op_places_.op_places[number] = {s.duration, open.module, open.annotation};
    const std::string& name = trace_.name(s.name);
    if (const std::string_view module = module_of(name); s.kind == TracedSpanKind::module && !module.empty())
      open.module = cut(module);
    if (s.kind == TracedSpanKind::annotation) open.annotation = annotation_path(open.annotation, name);
    open_.push_back(open);
  }
  void finish() {
    while (!open_.empty()) pop();
  }

 private:
  void pop() {
    const OpenSpan closed = open_.back();
    open_.pop_back();
    const TracedSpan& s = trace_.spans[closed.number];
    if (!counts(s)) {
      if (!open_.empty()) open_.back().inner += closed.inner;
      return;
    }
    op_places_.op_places[closed.number].self = std::max(0.0, s.duration - closed.inner);
    if (!open_.empty()) open_.back().inner += s.duration;
  }
  /// "outer/inner", stored once for all equal paths.
  std::string_view annotation_path(std::string_view outer, std::string_view name) {
    if (outer.empty()) return cut(name);
    if (outer.size() >= kMaxName) return outer;
    return *op_places_.paths.emplace(cut(std::string(outer) + '/' + std::string(cut(name)))).first;
  }

  const LoadedTrace& trace_;
  OpPlaces& op_places_;
  std::vector<OpenSpan> open_;
};

OpPlaces places_of_ops(const LoadedTrace& trace) {
  OpPlaces places;
  std::map<std::pair<std::int64_t, std::int64_t>, Thread> threads;
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    const TracedSpan& s = trace.spans[i];
    if (s.is_on_device() || s.kind == TracedSpanKind::run || s.kind == TracedSpanKind::call) continue;
    threads.try_emplace({s.process, s.thread}, trace, places).first->second.add(i);
  }
  for (auto& [at, thread] : threads) thread.finish();
  for (auto& [number, place] : places.op_places) {
    const TracedSpan& s = trace.spans[number];
    if (s.module != 0) place.module = cut(trace.name(s.module));
    if (s.annotation != 0) place.annotation = cut(trace.name(s.annotation));
  }
  return places;
}

std::vector<TraceSum> sorted(const Sums& sums) {
  std::vector<TraceSum> list;
  for (const auto& [name, sum] : sums) {
    list.push_back(sum);
    list.back().name = name;
  }
  std::ranges::sort(list, [](const TraceSum& a, const TraceSum& b) {
    return a.total() != b.total() ? a.total() > b.total() : a.name < b.name;
  });
  return list;
}

/// Time of a place while anything runs, and while anything computes.
struct BusyTime {
  Intervals busy, computation;
};

/// True for a collective or the wait for a collective. Gloo's calls in PyTorch's traces are annotations.
bool communicates(const LoadedTrace& trace, const TracedSpan& s) {
  if (s.collective != 0 || s.group != 0) return true;
  const std::string& name = trace.name(s.name);
  return s.kind == TracedSpanKind::annotation ? name.starts_with("gloo:")
                                              : name.starts_with("c10d::") || name.starts_with("_c10d_functional::");
}

/// "host", "device 0"; of merged traces "host of rank 1".
std::string place_name(const LoadedTrace& trace, std::int64_t rank, const std::string& name) {
  return trace.is_merged ? name + " of rank " + std::to_string(rank) : name;
}

/// Merges the streams of a device, like HolisticTraceAnalysis, and the threads of a rank's host.
void add_busy(const LoadedTrace& trace, TraceSummary& s) {
  std::map<std::int64_t, BusyTime> devices, hosts;  // keys: process; rank
  for (const auto& [place, pieces] : pieces_of_places(trace)) {
    for (const PathPiece& p : pieces) {
      const TracedSpan& span = trace.spans[p.span];
      if (span.is_on_device()) continue;
      const bool talks = communicates(trace, span);
      BusyTime& host = hosts[trace.rank_of(place.first)];
      if (p.is_in_op || talks) host.busy.add(p.begin, p.end);
      if (p.is_in_op && !talks) host.computation.add(p.begin, p.end);
    }
  }
  for (const TracedSpan& span : trace.spans) {
    if (span.kind == TracedSpanKind::annotation && communicates(trace, span))
      hosts[trace.rank_of(span.process)].busy.add(span.begin, span.end());
    if (!span.is_on_device()) continue;
    BusyTime& device = devices[span.process];
    device.busy.add(span.begin, span.end());
    if (span.kind == TracedSpanKind::kernel && span.collective == 0) device.computation.add(span.begin, span.end());
  }
  const auto add = [&](BusyTime& time, const std::string& name) {
    if (time.busy.empty()) return;
    const double span = time.busy.span(), busy = time.busy.covered(), compute = time.computation.covered();
    s.busy.push_back({name, span, compute, busy - compute, span - busy});
  };
  for (auto& [rank, time] : hosts) add(time, place_name(trace, rank, "host"));
  for (auto& [process, time] : devices) {
    const std::int64_t rank = trace.rank_of(process), device = process - rank * LoadedTrace::kProcessesOfRank;
    add(time, place_name(trace, rank, "device " + std::to_string(device)));
  }
}

}  // namespace

TraceSummary summarize_trace(const LoadedTrace& trace) {
  TraceSummary s;
  s.events = trace.events;
  s.skipped = trace.skipped;
  s.dropped = trace.dropped;
  s.rank = trace.rank;
  s.world_size = trace.world_size;
  const OpPlaces known = places_of_ops(trace);
  const auto& places = known.op_places;
  std::unordered_map<std::int64_t, std::size_t> by_external;
  for (const auto& [number, place] : places) {
    if (trace.spans[number].kind == TracedSpanKind::op && trace.spans[number].external != 0)
      by_external.emplace(trace.spans[number].external, number);
  }
  Sums ops, modules, annotations, kernels, overheads;
  double first = std::numeric_limits<double>::infinity(), last = -first;
  const auto add = [&](std::string_view op, const OpPlace& place, bool counts, double host, double device,
                       const TracedSpan& span) {
    const auto add_to = [&](Sums& sums, std::string_view name) {
      TraceSum& sum = sums[std::string(name)];
      sum.count += counts ? 1 : 0;
      sum.host += host;
      sum.device += device;
      if (!counts) return;
      sum.flops += span.flops;
      sum.bytes += span.bytes;
    };
    add_to(ops, op);
    add_to(modules, place.module.empty() ? std::string_view("(none)") : place.module);
    if (!place.annotation.empty()) add_to(annotations, place.annotation);
  };
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    const TracedSpan& span = trace.spans[i];
    const std::string_view name = cut(trace.name(span.name));
    first = std::min(first, span.begin);
    last = std::max(last, span.end());
    s.unfinished += span.finished ? 0 : 1;
    if (span.kind == TracedSpanKind::op) {
      ++s.ops;
      const OpPlace& place = places.at(i);
      add(name, place, true, place.self, 0, span);
    } else if (span.kind == TracedSpanKind::run) {
      ++s.runs;
      s.run_mean += span.duration;
    } else if (span.kind == TracedSpanKind::overhead) {
      TraceSum& sum = overheads[std::string(name.substr(0, name.find(" of ")))];
      ++sum.count;
      sum.host += places.at(i).self;
    } else if (span.is_on_device()) {
      ++(span.kind == TracedSpanKind::kernel ? s.kernels : s.copies);
      if (span.kind == TracedSpanKind::copy) s.copied_bytes += span.bytes;
      TraceSum& sum = kernels[std::string(name)];
      ++sum.count;
      sum.device += span.duration;
      const auto op = by_external.find(span.external);
      if (op != by_external.end()) {
        OpPlace place = places.at(op->second);
        if (span.annotation != 0) place.annotation = cut(trace.name(span.annotation));
        add(cut(trace.name(trace.spans[op->second].name)), place, false, 0, span.duration, span);
      } else {
        const OpPlace place{0, cut(trace.name(span.module)), cut(trace.name(span.annotation))};
        // A kernel of a device graph names its op; the host has started the graph alone.
        const std::string graph_op =
            span.op == 0 ? std::string("(not in an op)") : "tern::" + std::string(cut(trace.name(span.op)));
        add(graph_op, place, false, 0, span.duration, span);
      }
    }
  }
  if (s.runs > 0) s.run_mean /= static_cast<double>(s.runs);
  s.span = last > first ? last - first : 0;
  s.ops_by_time = sorted(ops);
  s.modules = sorted(modules);
  s.annotations = sorted(annotations);
  s.kernels_by_time = sorted(kernels);
  s.overheads = sorted(overheads);
  add_busy(trace, s);
  Sums along;
  for (const PathPiece& piece : critical_path(trace)) {
    const TracedSpan& span = trace.spans[piece.span];
    TraceSum& sum = along[std::string(cut(trace.name(span.name)))];
    ++sum.count;
    const double time = piece.end - piece.begin;
    (span.is_on_device() ? sum.device : sum.host) += time;
    s.path_length += time;
  }
  s.path_by_time = sorted(along);
  return s;
}

}  // namespace tern
