#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "tools/trace/summary.h"

namespace tern {
namespace {

using TracedSpanKind = TracedSpan::Kind;

bool takes_part(const TracedSpan& s) {
  return s.kind == TracedSpanKind::op || s.kind == TracedSpanKind::call || s.kind == TracedSpanKind::overhead ||
         s.on_device();
}

/// Divides a thread's time among the innermost spans.
class ThreadTimeDivider {
 public:
  ThreadTimeDivider(const LoadedTrace& trace, std::vector<PathPiece>& pieces) : trace_(trace), pieces_(pieces) {}

  void add(std::size_t number) {
    const double begin = trace_.spans[number].begin;
    close(begin);
    if (!open_.empty()) give(open_.back(), begin);
    reached_ = begin;
    open_.push_back(number);
    open_ops_ += is_op(number) ? 1U : 0U;
  }
  void finish() { close(std::numeric_limits<double>::infinity()); }

 private:
  /// Closes spans ended by `time`.
  void close(double time) {
    while (!open_.empty() && trace_.spans[open_.back()].end() <= time) {
      const std::size_t number = open_.back();
      give(number, trace_.spans[number].end());
      reached_ = std::max(reached_, trace_.spans[number].end());
      open_.pop_back();
      open_ops_ -= is_op(number) ? 1U : 0U;
    }
  }
  void give(std::size_t number, double end) {
    if (end > reached_ || pieces_.empty())
      pieces_.push_back({number, reached_, std::max(end, reached_), open_ops_ > 0});
  }
  bool is_op(std::size_t number) const { return trace_.spans[number].kind == TracedSpanKind::op; }

  const LoadedTrace& trace_;
  std::vector<PathPiece>& pieces_;
  std::vector<std::size_t> open_;
  std::size_t open_ops_ = 0;
  double reached_ = 0;
};

struct PieceAt {
  const std::vector<PathPiece>* pieces = nullptr;
  std::size_t at = 0;
  const PathPiece& piece() const { return (*pieces)[at]; }
};

}  // namespace

std::map<TracePlace, std::vector<PathPiece>> pieces_of_places(const LoadedTrace& trace) {
  std::map<TracePlace, std::vector<PathPiece>> places;
  std::map<TracePlace, ThreadTimeDivider> dividers;
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    const TracedSpan& s = trace.spans[i];
    if (!takes_part(s)) continue;
    const TracePlace place(s.process, s.thread);
    dividers.try_emplace(place, trace, places[place]).first->second.add(i);
  }
  for (auto& [place, divider] : dividers) divider.finish();
  return places;
}

std::vector<PathPiece> critical_path(const LoadedTrace& trace) {
  const std::map<TracePlace, std::vector<PathPiece>> places = pieces_of_places(trace);
  std::unordered_map<std::int64_t, PieceAt> launches;
  std::vector<PieceAt> on_device;
  PieceAt at;
  for (const auto& [place, pieces] : places) {
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      const TracedSpan& s = trace.spans[pieces[k].span];
      if (s.kind == TracedSpanKind::call && s.correlation != 0) launches[s.correlation] = {&pieces, k};
      if (s.on_device()) on_device.push_back({&pieces, k});
      if (at.pieces == nullptr || pieces[k].end > at.piece().end) at = {&pieces, k};
    }
  }
  const auto end_of = [](const PieceAt& p) { return p.piece().end; };
  std::ranges::sort(on_device, {}, end_of);
  std::vector<PathPiece> path;
  // Each step goes back in time, or from a wait to the awaited span (never a wait itself).
  while (at.pieces != nullptr) {
    const PathPiece piece = at.piece();
    const TracedSpan& s = trace.spans[piece.span];
    if (s.waits) {
      const auto after = std::ranges::upper_bound(on_device, piece.end, {}, end_of);
      if (after != on_device.begin() && end_of(*(after - 1)) > piece.begin) {
        at = *(after - 1);
        continue;
      }
    }
    path.push_back(piece);
    PieceAt before;
    if (at.at > 0) before = {at.pieces, at.at - 1};
    const auto launch = s.on_device() ? launches.find(s.correlation) : launches.end();
    if (launch != launches.end() && launch->second.piece().end <= piece.end &&
        (before.pieces == nullptr || end_of(launch->second) > before.piece().end))
      before = launch->second;
    if (path.size() > 2 * trace.spans.size() + on_device.size()) break;  // contradictory times
    at = before;
  }
  std::ranges::reverse(path);
  return path;
}

}  // namespace tern
