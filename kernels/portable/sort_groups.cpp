#include "kernels/portable/sort_groups.h"

#include <algorithm>
#include <iterator>

namespace tern::portable {
namespace {

// Numbers of elements sorted by a group: a text for each.
constexpr std::int64_t kSortGroupsRooms[] = {8, 32, 64, 128, 256, 1024, 2048};
constexpr std::int64_t kSortGroupsRoom = 1024;    // block size of longer lines
constexpr std::int64_t kSortGroupsEach = 8;       // elements of an item
constexpr std::int64_t kLeastElements = 512;      // minimum of a group: several short lines
constexpr std::int64_t kSortGroupsJoining = 256;  // items merging two runs
constexpr std::int64_t kSelectionRatio = 4;  // number of blocks reduced to a single block if only their first elements
                                             // are kept

struct SortedRuns {
  std::uint64_t values, indices;  ///< offsets in the scratch
};

class Sort {
 public:
  Sort(Launches& list, const SortedLines& lines, const std::function<void(Launch&)>& results)
      : list_(list), lines_(lines), results_(results), t_(number_type(lines.dtype)) {}

  void add() {
    std::int64_t length = lines_.along.count;
    const SortedRuns* from = nullptr;
    SortedRuns runs[2] = {};
    const std::int64_t blocks = (length + kSortGroupsRoom - 1) / kSortGroupsRoom;
    const bool few = lines_.selected * kSelectionRatio <= kSortGroupsRoom;
    if (length <= kSortGroupsRooms[std::size(kSortGroupsRooms) - 1]) {
      add_blocks(length, nullptr, nullptr, lines_.selected);
      return;
    }
    if (blocks > 1) {
      const std::int64_t first = few ? blocks * lines_.selected : length;
      for (SortedRuns& r : runs) r = {scratch(first, t_), scratch(first, DType::i32)};
    }
    int to = 0;
    while (length > kSortGroupsRoom) {
      const std::int64_t kept = few ? lines_.selected : kSortGroupsRoom;
      length = add_blocks(length, from, &runs[to], kept);
      from = &runs[to];
      to = 1 - to;
      if (!few) return merge(runs, 1 - to);
    }
    add_blocks(length, from, nullptr, lines_.selected);
  }

 private:
  std::uint64_t scratch(std::int64_t of_line, DType t) {
    return list_.scratch(static_cast<std::uint64_t>(lines_.lines.count * of_line) *
                         static_cast<std::uint64_t>(element_size(t)));
  }

  void declare(Launch& k, std::int64_t room, std::int64_t slots, std::int64_t items, const SortedRuns* to) {
    declare_order(k.source, t_, lines_.descending);
    k.source.add_library("sort_rank");
    k.source.define("ROOM", room);
    k.source.define("GROUP", items);
    k.source.define("EACH", room * slots / items);
    k.source.define("FINAL", to == nullptr ? 1 : 0);
    if (to == nullptr) return results_(k);
    k.scratch("to_values", to->values, t_, true);
    k.scratch("to_places", to->indices, DType::i32, true);
  }

  /// Sorts each block. Returns the number of remaining elements of each line.
  std::int64_t add_blocks(std::int64_t length, const SortedRuns* from, const SortedRuns* to, std::int64_t kept) {
    // Sorting the remainders of blocks takes little time: a single text for all lengths.
    const std::int64_t needed = from != nullptr || to != nullptr ? kSortGroupsRoom : length;
    const std::int64_t room = *std::ranges::find_if(kSortGroupsRooms, [&](std::int64_t r) { return r >= needed; });
    const std::int64_t slots = std::max<std::int64_t>(kLeastElements / room, 1);
    const std::int64_t items = room * slots / kSortGroupsEach;
    const std::int64_t blocks = (length + room - 1) / room;
    Launch k("sort_block");
    k.source.define("LINES", slots);
    if (from == nullptr) {
      k.input("x", lines_.operand, lines_.dtype);
      k.load("LOAD_X", lines_.dtype, t_);
      lines_.lines.declare(k.source, "lines");
      lines_.along.declare(k.source, "along");
      k.source.define("READ(line, k, v, place)",
                      "v = LOAD_X(x, at_lines(line, &p) + at_along(k, &p)); place = (int)(k);");
    } else {
      k.scratch("values", from->values, t_, false);
      k.scratch("places", from->indices, DType::i32, false);
      k.source.define("READ(line, k, v, place)",
                      "v = values[(line) * p.length + (k)]; place = places[(line) * p.length + (k)];");
    }
    declare(k, room, slots, items, to);
    const std::int64_t rest = length - (blocks - 1) * room;
    const std::int64_t left = (blocks - 1) * std::min(kept, room) + std::min(kept, rest);
    k.parameter("lines", lines_.lines.count);
    k.parameter("length", length);
    k.parameter("blocks", blocks);
    k.parameter("kept", std::min(kept, room));
    k.parameter("to_length", left);
    const std::int64_t groups = (lines_.lines.count * blocks + slots - 1) / slots;
    list_.add(std::move(k), groups * items, static_cast<std::uint32_t>(items));
    return left;
  }

  /// Merges sorted blocks in pairs; runs are truncated to the kept length.
  void merge(const SortedRuns* runs, int from) {
    for (std::int64_t run = kSortGroupsRoom; run < lines_.along.count; run *= 2) {
      const bool last = 2 * run >= lines_.along.count;
      Launch k("sort_join");
      k.scratch("values", runs[from].values, t_, false);
      k.scratch("places", runs[from].indices, DType::i32, false);
      declare(k, kSortGroupsRoom, 1, kSortGroupsJoining, last ? nullptr : &runs[1 - from]);
      const std::int64_t tiles =
          (std::min({2 * run, lines_.along.count, lines_.selected}) + kSortGroupsRoom - 1) / kSortGroupsRoom;
      const std::int64_t pairs = (lines_.along.count + 2 * run - 1) / (2 * run);
      k.parameter("length", lines_.along.count);
      k.parameter("run", run);
      k.parameter("tiles", tiles);
      k.parameter("kept", lines_.selected);
      list_.add(std::move(k), lines_.lines.count * pairs * tiles * kSortGroupsJoining,
                static_cast<std::uint32_t>(kSortGroupsJoining));
      from = 1 - from;
    }
  }

  Launches& list_;
  const SortedLines& lines_;
  const std::function<void(Launch&)>& results_;
  const DType t_;
};

}  // namespace

void declare_order(KernelSource& s, DType t, bool descending) {
  s.type("VALUE_T", t);
  s.define("IS_NAN(a)", is_floating(t) ? "((a) != (a))" : "0");
  s.add_library("order");
  s.define("COMES_BEFORE(a, b)", descending ? "ABOVE(a, b)" : "BELOW(a, b)");
}

bool sorts_by_groups(const Target& target, DType t, std::int64_t length) {
  constexpr std::int64_t kMostLength = std::int64_t{1} << 30;  // places are int
  return target.groups && length <= kMostLength && t != DType::f4_e2m1;
}

bool sort_by_groups(Launches& list, const SortedLines& lines, const std::function<void(Launch&)>& results) {
  if (!sorts_by_groups(list.target(), lines.dtype, lines.along.count)) return false;
  Sort(list, lines, results).add();
  return true;
}

}  // namespace tern::portable
