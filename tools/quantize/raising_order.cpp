#include "tools/quantize/raising_order.h"

#include <algorithm>
#include <numeric>

namespace tern {
namespace {

double gain(const Rung& a, const Rung& b) {
  return (a.noise - b.noise) / static_cast<double>(b.bytes - a.bytes);
}

/// Rungs on the lower convex hull, from the fewest bytes on: noise falls from rung to rung, and so do gains.
std::vector<std::size_t> hull_of(const std::vector<Rung>& rungs) {
  std::vector<std::size_t> order(rungs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return rungs[a].bytes != rungs[b].bytes ? rungs[a].bytes < rungs[b].bytes : rungs[a].noise < rungs[b].noise;
  });
  std::vector<std::size_t> hull;
  for (const std::size_t i : order) {
    if (!hull.empty() && (rungs[i].bytes == rungs[hull.back()].bytes || !(rungs[i].noise < rungs[hull.back()].noise)))
      continue;
    while (hull.size() > 1 &&
           gain(rungs[hull[hull.size() - 2]], rungs[hull.back()]) <= gain(rungs[hull.back()], rungs[i]))
      hull.pop_back();
    hull.push_back(i);
  }
  return hull;
}

}  // namespace

RaisingOrder raising_order(const std::vector<std::vector<Rung>>& weights) {
  struct Ranked {
    Raise raise;
    double gain;
  };
  RaisingOrder order;
  std::vector<Ranked> ranked;
  for (std::size_t w = 0; w < weights.size(); ++w) {
    const std::vector<std::size_t> hull = hull_of(weights[w]);
    order.start.push_back(hull.front());
    for (std::size_t i = 1; i < hull.size(); ++i)
      ranked.push_back({{w, hull[i - 1], hull[i]}, gain(weights[w][hull[i - 1]], weights[w][hull[i]])});
  }
  // A weight's gains fall, so its raises keep their order; the stable sort also keeps the order of equal gains.
  std::ranges::stable_sort(ranked, [](const Ranked& a, const Ranked& b) { return a.gain > b.gain; });
  for (const Ranked& r : ranked) order.raises.push_back(r.raise);
  return order;
}

}  // namespace tern
