#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "tools/trace/summary.h"

namespace tern {
namespace {

using TracedSpanKind = TracedSpan::Kind;

bool takes_time(const TracedSpan& s) {
  return s.kind == TracedSpanKind::op || s.kind == TracedSpanKind::call || s.kind == TracedSpanKind::overhead ||
         s.is_on_device();
}

/// Divides a thread's time into pieces: each moment belongs to the innermost open span. Spans are added by begin.
class ThreadTimeDivider {
 public:
  ThreadTimeDivider(const LoadedTrace& trace, std::vector<PathPiece>& pieces_out)
      : trace_(trace), pieces_(pieces_out) {}

  void add(std::size_t span) {
    const double begin = trace_.spans[span].begin;
    close_ended(begin);
    if (!open_spans_.empty()) add_piece(open_spans_.back(), begin);
    covered_until_ = begin;
    open_spans_.push_back(span);
    open_op_count_ += is_op(span) ? 1U : 0U;
  }
  void finish() { close_ended(std::numeric_limits<double>::infinity()); }

 private:
  /// Closes spans ended by `time`.
  void close_ended(double time) {
    while (!open_spans_.empty() && trace_.spans[open_spans_.back()].end() <= time) {
      const std::size_t span = open_spans_.back();
      add_piece(span, trace_.spans[span].end());
      covered_until_ = std::max(covered_until_, trace_.spans[span].end());
      open_spans_.pop_back();
      open_op_count_ -= is_op(span) ? 1U : 0U;
    }
  }
  void add_piece(std::size_t span, double end) {
    if (end > covered_until_ || pieces_.empty())
      pieces_.push_back({span, covered_until_, std::max(end, covered_until_), open_op_count_ > 0});
  }
  bool is_op(std::size_t span) const { return trace_.spans[span].kind == TracedSpanKind::op; }

  const LoadedTrace& trace_;
  std::vector<PathPiece>& pieces_;
  std::vector<std::size_t> open_spans_;
  std::size_t open_op_count_ = 0;
  double covered_until_ = 0;  ///< pieces cover the time before
};

struct PieceAt {
  const std::vector<PathPiece>* pieces = nullptr;
  std::size_t index = 0;
  const PathPiece& piece() const { return (*pieces)[index]; }
};

}  // namespace

std::map<TracePlace, std::vector<PathPiece>> pieces_of_places(const LoadedTrace& trace) {
  std::map<TracePlace, std::vector<PathPiece>> pieces_by_place;
  std::map<TracePlace, ThreadTimeDivider> dividers;
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    const TracedSpan& s = trace.spans[i];
    if (!takes_time(s)) continue;
    const TracePlace place(s.process, s.thread);
    dividers.try_emplace(place, trace, pieces_by_place[place]).first->second.add(i);
  }
  for (auto& [place, divider] : dividers) divider.finish();
  return pieces_by_place;
}

std::vector<PathPiece> critical_path(const LoadedTrace& trace) {
  const std::map<TracePlace, std::vector<PathPiece>> pieces_by_place = pieces_of_places(trace);
  std::unordered_map<std::int64_t, PieceAt> launches;
  std::vector<PieceAt> device_pieces;
  PieceAt current;
  for (const auto& [place, pieces] : pieces_by_place) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const TracedSpan& s = trace.spans[pieces[i].span];
      if (s.kind == TracedSpanKind::call && s.correlation != 0) launches[s.correlation] = {&pieces, i};
      if (s.is_on_device()) device_pieces.push_back({&pieces, i});
      if (current.pieces == nullptr || pieces[i].end > current.piece().end) current = {&pieces, i};
    }
  }
  const auto end_of = [](const PieceAt& p) { return p.piece().end; };
  std::ranges::sort(device_pieces, {}, end_of);
  std::vector<PathPiece> path;
  // Each step goes back in time, or from a wait to the awaited span (never a wait itself).
  while (current.pieces != nullptr) {
    const PathPiece piece = current.piece();
    const TracedSpan& s = trace.spans[piece.span];
    if (s.waits) {
      const auto next_piece = std::ranges::upper_bound(device_pieces, piece.end, {}, end_of);
      if (next_piece != device_pieces.begin() && end_of(*(next_piece - 1)) > piece.begin) {
        current = *(next_piece - 1);
        continue;
      }
    }
    path.push_back(piece);
    PieceAt predecessor;
    if (current.index > 0) predecessor = {current.pieces, current.index - 1};
    const auto launch = s.is_on_device() ? launches.find(s.correlation) : launches.end();
    if (launch != launches.end() && launch->second.piece().end <= piece.end &&
        (predecessor.pieces == nullptr || end_of(launch->second) > predecessor.piece().end))
      predecessor = launch->second;
    if (path.size() > 2 * trace.spans.size() + device_pieces.size()) break;  // contradictory times
    current = predecessor;
  }
  std::ranges::reverse(path);
  return path;
}

}  // namespace tern
