#include "kernels/portable/scan_groups.h"

#include <cstdint>

namespace tern::portable {
namespace {

constexpr std::int64_t kScanGroupsEach = 4;                                  // elements of an item
constexpr std::int64_t kFewItems = 64, kScanGroupsItems = 256;               // items of a group
constexpr std::int64_t kScanGroupsLeast = 32;                                // elements: shorter lines leave items idle
constexpr std::int64_t kMostLength = std::int64_t{1} << 30;                  // places are int
constexpr std::int64_t kScanGroupsFewLines = 66, kScanGroupsManyBlocks = 8;  // half the multiprocessors of an H100

class GroupScan {
 public:
  GroupScan(Launches& list, const ScannedLines& lines) : list_(list), lines_(lines) {
    items_ = lines.length <= kFewItems * kScanGroupsEach ? kFewItems : kScanGroupsItems;
  }

  void add() {
    const std::int64_t block = items_ * kScanGroupsEach, blocks = (lines_.length + block - 1) / block;
    if (lines_.lines >= kScanGroupsFewLines || blocks < kScanGroupsManyBlocks) {
      Launch k = scan(lines_.length, 1, false, false);
      lines_.read(k);
      lines_.write(k);
      return finish(std::move(k), 1);
    }
    const auto bytes = [&](DType t) { return static_cast<std::uint64_t>(lines_.lines * blocks * element_size(t)); };
    chunk_results_ = list_.scratch(bytes(lines_.t));
    if (lines_.has_indices) end_places_ = list_.scratch(bytes(DType::i32));
    Launch first = scan(lines_.length, blocks, true, false);
    lines_.read(first);
    add_ends(first, true);
    finish(std::move(first), blocks);
    Launch between = scan(blocks, 1, false, false);
    add_ends(between, true);
    between.source.define("READ(line, k, v, place)",
                          std::string("v = ends[(line) * p.length + (k)];") +
                              (lines_.has_indices ? " place = end_places[(line) * p.length + (k)];" : ""));
    between.source.define("WRITE(line, k, v, place)",
                          std::string("ends[(line) * p.length + (k)] = v;") +
                              (lines_.has_indices ? " end_places[(line) * p.length + (k)] = place;" : ""));
    finish(std::move(between), 1);
    Launch last = scan(lines_.length, blocks, false, true);
    lines_.read(last);
    add_ends(last, false);
    lines_.write(last);
    finish(std::move(last), blocks);
  }

 private:
  Launch scan(std::int64_t length, std::int64_t parts, bool first, bool carried) const {
    Launch k("scan_blocks");
    k.source.type("ACC_T", lines_.t);
    k.source.define("ACC_ZERO", literal(lines_.t, std::int64_t{0}));
    lines_.declare(k.source);
    k.source.define("GROUP", items_);
    k.source.define("EACH", kScanGroupsEach);
    k.source.define("PLACES", lines_.has_indices ? 1 : 0);
    k.source.define("FIRST", first ? 1 : 0);
    k.source.define("CARRIED", carried ? 1 : 0);
    k.parameter("length", length);
    k.parameter("parts", parts);
    return k;
  }

  void add_ends(Launch& k, bool writes) const {
    k.scratch("ends", chunk_results_, lines_.t, writes);
    if (lines_.has_indices) k.scratch("end_places", end_places_, DType::i32, writes);
  }

  void finish(Launch k, std::int64_t parts) const {
    list_.add(std::move(k), lines_.lines * parts * items_, static_cast<std::uint32_t>(items_));
  }

  Launches& list_;
  const ScannedLines& lines_;
  std::int64_t items_;
  std::uint64_t chunk_results_ = 0, end_places_ = 0;
};

}  // namespace

bool scans_by_groups(const Target& target, std::int64_t length) {
  return target.groups && length >= kScanGroupsLeast && length <= kMostLength;
}

void scan_by_groups(Launches& list, const ScannedLines& lines) {
  GroupScan(list, lines).add();
}

void start_sums(Launches& list, std::int64_t count, std::uint64_t starts, std::uint64_t total,
                const std::function<void(Launch&)>& read) {
  ScannedLines sums{1, count, DType::i64, false, {}, read, {}};
  sums.declare = [](KernelSource& s) { s.define("JOIN(a, b)", "((a) + (b))"); };
  sums.write = [&](Launch& k) {
    k.scratch("starts", starts, DType::i64, true);
    k.scratch("total", total, DType::i64, true);
    k.source.define(
        "WRITE(line, k, v, place)",
        "if ((k) == 0) starts[0] = 0; if ((k) + 1 < p.length) { starts[(k) + 1] = v; } else { total[0] = v; }");
  };
  scan_by_groups(list, sums);
}

}  // namespace tern::portable
