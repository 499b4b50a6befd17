#include "tools/trace/summary.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

#include "tools/trace/intervals.h"

namespace tern {
namespace {

using Kind = TracedSpan::Kind;
using Sums = std::unordered_map<std::string, TraceSum>;

/// What is open on a thread while its spans are read in the order of their begins.
struct OpenSpan {
  std::size_t number;
  double end, inner = 0;  ///< microseconds of what counts directly in it
};

/// Has a time of its own.
bool counts(const TracedSpan& s) {
  return s.kind == Kind::op || s.kind == Kind::overhead;
}

/// What is known of each op, and of overhead, from the spans around it.
struct OpPlace {
  double self = 0;
  std::string module, annotation;
};

/// "nn.Module: Conv2d_0" is a module; other frames of Python are not.
std::string module_of(const std::string& frame) {
  constexpr std::string_view kPrefix = "nn.Module: ";
  return frame.starts_with(kPrefix) ? frame.substr(kPrefix.size()) : std::string();
}

class Thread {
 public:
  explicit Thread(const LoadedTrace& trace, std::unordered_map<std::size_t, OpPlace>& places)
      : trace_(trace), places_(places) {}

  void add(std::size_t number) {
    const TracedSpan& s = trace_.spans[number];
    while (!open_.empty() && open_.back().end <= s.begin) pop();
    if (counts(s)) {
      OpPlace& place = places_[number];
      place.self = s.duration;
      place.module = innermost(Kind::module);
      place.annotation = path(Kind::annotation);
    }
    open_.push_back({number, s.end()});
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
    places_[closed.number].self = std::max(0.0, s.duration - closed.inner);
    if (!open_.empty()) open_.back().inner += s.duration;
  }
  std::string innermost(Kind kind) const {
    for (std::size_t i = open_.size(); i > 0; --i) {
      const TracedSpan& s = trace_.spans[open_[i - 1].number];
      if (s.kind != kind) continue;
      if (std::string module = module_of(trace_.name(s.name)); !module.empty()) return module;
    }
    return {};
  }
  std::string path(Kind kind) const {
    std::string text;
    for (const OpenSpan& o : open_) {
      const TracedSpan& s = trace_.spans[o.number];
      if (s.kind == kind) text += (text.empty() ? "" : "/") + trace_.name(s.name);
    }
    return text;
  }

  const LoadedTrace& trace_;
  std::unordered_map<std::size_t, OpPlace>& places_;
  std::vector<OpenSpan> open_;
};

std::unordered_map<std::size_t, OpPlace> places_of_ops(const LoadedTrace& trace) {
  std::unordered_map<std::size_t, OpPlace> places;
  std::map<std::pair<std::int64_t, std::int64_t>, Thread> threads;
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    const TracedSpan& s = trace.spans[i];
    if (s.on_device() || s.kind == Kind::run || s.kind == Kind::call) continue;
    threads.try_emplace({s.process, s.thread}, trace, places).first->second.add(i);
  }
  for (auto& [at, thread] : threads) thread.finish();
  for (auto& [number, place] : places) {
    const TracedSpan& s = trace.spans[number];
    if (s.module != 0) place.module = trace.name(s.module);
    if (s.annotation != 0) place.annotation = trace.name(s.annotation);
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

/// Time of a place while anything runs, and while something computes.
struct BusyTime {
  Intervals all, computation;
};

/// A collective, or the wait for one. Gloo's calls in PyTorch's traces are annotations.
bool communicates(const LoadedTrace& trace, const TracedSpan& s) {
  if (s.collective != 0 || s.group != 0) return true;
  const std::string& name = trace.name(s.name);
  return s.kind == Kind::annotation ? name.starts_with("gloo:")
                                    : name.starts_with("c10d::") || name.starts_with("_c10d_functional::");
}

/// "host", "device 0"; of merged traces "host of rank 1".
std::string place_name(const LoadedTrace& trace, std::int64_t rank, const std::string& name) {
  return trace.is_merged ? name + " of rank " + std::to_string(rank) : name;
}

/// Counts the streams of a device together, as HolisticTraceAnalysis does, and the threads of a rank's host.
void add_busy(const LoadedTrace& trace, TraceSummary& s) {
  std::map<std::int64_t, BusyTime> devices, hosts;  // keys: process; rank
  for (const auto& [place, pieces] : pieces_of_places(trace)) {
    for (const PathPiece& p : pieces) {
      const TracedSpan& span = trace.spans[p.span];
      if (span.on_device()) continue;
      const bool talks = communicates(trace, span);
      BusyTime& host = hosts[trace.rank_of(place.first)];
      if (p.in_op || talks) host.all.add(p.begin, p.end);
      if (p.in_op && !talks) host.computation.add(p.begin, p.end);
    }
  }
  for (const TracedSpan& span : trace.spans) {
    if (span.kind == Kind::annotation && communicates(trace, span))
      hosts[trace.rank_of(span.process)].all.add(span.begin, span.end());
    if (!span.on_device()) continue;
    BusyTime& device = devices[span.process];
    device.all.add(span.begin, span.end());
    if (span.kind == Kind::kernel && span.collective == 0) device.computation.add(span.begin, span.end());
  }
  const auto add = [&](BusyTime& time, const std::string& name) {
    if (time.all.empty()) return;
    const double span = time.all.span(), busy = time.all.covered(), compute = time.computation.covered();
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
  const auto places = places_of_ops(trace);
  std::unordered_map<std::int64_t, std::size_t> by_external;
  for (const auto& [number, place] : places) {
    if (trace.spans[number].kind == Kind::op && trace.spans[number].external != 0)
      by_external.emplace(trace.spans[number].external, number);
  }
  Sums ops, modules, annotations, kernels, overheads;
  double first = std::numeric_limits<double>::infinity(), last = -first;
  const auto add = [&](const std::string& op, const OpPlace& place, bool counts, double host, double device,
                       const TracedSpan& span) {
    const auto to = [&](Sums& sums, const std::string& name) {
      TraceSum& sum = sums[name];
      sum.count += counts ? 1 : 0;
      sum.host += host;
      sum.device += device;
      if (!counts) return;
      sum.flops += span.flops;
      sum.bytes += span.bytes;
    };
    to(ops, op);
    to(modules, place.module.empty() ? "(none)" : place.module);
    if (!place.annotation.empty()) to(annotations, place.annotation);
  };
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    const TracedSpan& span = trace.spans[i];
    const std::string& name = trace.name(span.name);
    first = std::min(first, span.begin);
    last = std::max(last, span.end());
    s.unfinished += span.finished ? 0 : 1;
    if (span.kind == Kind::op) {
      ++s.ops;
      const OpPlace& place = places.at(i);
      add(name, place, true, place.self, 0, span);
    } else if (span.kind == Kind::run) {
      ++s.runs;
      s.run_mean += span.duration;
    } else if (span.kind == Kind::overhead) {
      TraceSum& sum = overheads[name.substr(0, name.find(" of "))];
      ++sum.count;
      sum.host += places.at(i).self;
    } else if (span.on_device()) {
      ++(span.kind == Kind::kernel ? s.kernels : s.copies);
      if (span.kind == Kind::copy) s.copied_bytes += span.bytes;
      TraceSum& sum = kernels[name];
      ++sum.count;
      sum.device += span.duration;
      const auto op = by_external.find(span.external);
      if (op != by_external.end()) {
        OpPlace place = places.at(op->second);
        if (span.annotation != 0) place.annotation = trace.name(span.annotation);
        add(trace.name(trace.spans[op->second].name), place, false, 0, span.duration, span);
      } else {
        const OpPlace place{0, trace.name(span.module), trace.name(span.annotation)};
        add("(not in an op)", place, false, 0, span.duration, span);
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
    TraceSum& sum = along[trace.name(span.name)];
    ++sum.count;
    const double time = piece.end - piece.begin;
    (span.on_device() ? sum.device : sum.host) += time;
    s.path_length += time;
  }
  s.path_by_time = sorted(along);
  return s;
}

}  // namespace tern
