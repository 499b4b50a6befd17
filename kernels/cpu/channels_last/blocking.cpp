#include "kernels/cpu/channels_last/blocking.h"

#include <algorithm>
#include <iterator>

namespace tern::channels_last {
namespace {

struct Entry {
  Way convolution, product;
  Blocking blocking;
};
constexpr Entry kEntries[] = {
    {Way::channels_last, Way::panels, {}},
    {Way::channels_last_lines, Way::panels_lines, {.share = Share::lines}},
    {Way::channels_last_columns, Way::panels_columns, {.share = Share::channels}},
    {Way::channels_last_shallow, Way::panels_shallow, {.depth = 256}},
    {Way::channels_last_deep, Way::panels_deep, {.depth = 1024}},
};

const Blocking* find(Way way, Way Entry::*of) {
  const auto* found = std::ranges::find(kEntries, way, of);
  return found == std::end(kEntries) ? nullptr : &found->blocking;
}

}  // namespace

const Blocking* convolution_blocking(Way way) {
  return find(way, &Entry::convolution);
}
const Blocking* product_blocking(Way way) {
  return find(way, &Entry::product);
}

}  // namespace tern::channels_last
