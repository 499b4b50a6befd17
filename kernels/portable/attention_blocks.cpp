// Division of attention into blocks (text/attention_blocks.inc): the same for matrix units and loops, because only the
// device's compiler knows the available units.
#include <algorithm>
#include <iterator>
#include <optional>

#include "kernels/portable/attention.h"

namespace tern::portable {
namespace {

constexpr std::int64_t kAttentionBlocksWidest = 256;       // largest head width; wider heads exhaust registers
constexpr std::int64_t kAttentionBlocksWidestChunk = 128;  // columns of values summed at once
constexpr std::int64_t kAttentionBlocksManyGroups = 128;   // approximate multiprocessors of a large device
constexpr std::int64_t kShortPart = 64;                    // largest block of keys
constexpr std::int64_t kShortPartOfFloats = 32;
constexpr std::int64_t kMostParts = 64;  // joined by a single item
constexpr std::int64_t kMostLines = std::int64_t{1} << 31;
constexpr std::int64_t kAttentionBlocksColumns = 8;  // columns in 16 bytes

/// Columns of a head, in up to four equal steps of at most 64, each a multiple of 16.
struct HeadColumns {
  explicit HeadColumns(std::int64_t width) {
    const std::int64_t steps = divided_up(width, 64);
    step = divided_up(width, 16 * steps) * 16;
    total = step * steps;
  }
  std::int64_t step, total;
};

struct AttentionBlockShape {
  std::int64_t planes;  ///< keys and values, and chunks of the latter
  std::int64_t lines;   ///< queries of all heads sharing keys
  HeadColumns width, chunk;
};

struct AttentionBlocksBlocks {
  std::int64_t rows, items;  ///< lines and items of a group
  std::int64_t tile_keys, unit_keys;
};

constexpr std::int64_t kFlags = 16;  // bytes of attention_blocks.inc, excluding the offset of each line

/// Local memory of attention_tiles.inc, including OpenCL's memory for joining.
std::int64_t tile_bytes(const AttentionBlocksBlocks& b, const AttentionBlockShape& s) {
  const std::int64_t weights = b.tile_keys / 32 * 32 + 16;
  const std::int64_t floats =
      b.rows * (s.width.total + 4 + weights + 2) + b.tile_keys * (std::max(s.width.step, s.chunk.step) + 4) + b.items;
  return 4 * floats + kFlags;
}

/// Local memory of attention_units.inc.
std::int64_t unit_bytes(const AttentionBlocksBlocks& b, const AttentionBlockShape& s) {
  return 2 * (std::max(b.unit_keys, b.rows) * (s.width.total + 8) + b.unit_keys * (s.chunk.total + 8)) + 8 * b.rows +
         kFlags;
}

struct AttentionBlocksDivision {
  std::int64_t rows, keys;
  std::int64_t items;  ///< waves in kUnits
};
// Loops: sums of 8 x 4 or 4 x 4 for an item, limited by local memory and lines; and of 1 x 2 or 2 x 2 for few queries.
constexpr AttentionBlocksDivision kTiles[] = {{32, 64, 64}, {32, 32, 64}, {16, 64, 64}, {16, 32, 64}, {16, 16, 64}};
constexpr AttentionBlocksDivision kAttentionBlocksFewLines[] = {{4, 32, 64}, {8, 32, 64}};
// Matrix units: a wave has 16 lines.
constexpr AttentionBlocksDivision kAttentionBlocksUnits[] = {{64, 64, 4}, {64, 32, 4}, {32, 64, 2}, {32, 32, 2},
                                                             {16, 64, 1}, {16, 32, 1}, {16, 16, 1}};

std::int64_t groups_of(const AttentionBlockShape& s, std::int64_t rows) {
  return s.planes * divided_up(s.lines, rows);
}

/// True for the most lines without idle multiprocessors on a large device.
bool is_small(const AttentionBlocksDivision& d, const AttentionBlockShape& s) {
  return d.rows == 16 || groups_of(s, d.rows) >= kAttentionBlocksManyGroups;
}

std::optional<AttentionBlocksBlocks> choose_tiles(const Target& target, const AttentionBlockShape& s) {
  for (const AttentionBlocksDivision& d : kAttentionBlocksFewLines) {
    const AttentionBlocksBlocks b{d.rows, d.items, d.keys, d.keys};
    if (s.lines <= d.rows && tile_bytes(b, s) <= local_memory_bytes(target.dialect)) return b;
  }
  for (const AttentionBlocksDivision& d : kTiles) {
    const AttentionBlocksBlocks b{d.rows, d.items, d.keys, d.keys};
    if (is_small(d, s) && tile_bytes(b, s) <= local_memory_bytes(target.dialect)) return b;
  }
  return std::nullopt;
}

/// Chooses a division for units, with a division for loops in case the device lacks matrix units.
std::optional<AttentionBlocksBlocks> choose_units(const Target& target, const AttentionBlockShape& s) {
  const std::int64_t wave = target.dialect == Dialect::hip ? 64 : 32;  // largest wave size
  for (const AttentionBlocksDivision& d : kAttentionBlocksUnits) {
    AttentionBlocksBlocks b{d.rows, d.items * wave, 0, d.keys};
    if (!is_small(d, s) || unit_bytes(b, s) > local_memory_bytes(target.dialect)) continue;
    for (const std::int64_t keys : {64, 32, 16}) {
      b.tile_keys = keys;
      if (tile_bytes(b, s) <= local_memory_bytes(target.dialect)) return b;
    }
  }
  return std::nullopt;
}

}  // namespace

bool add_attention_blocks(const KernelCall& c, Launches& list) {
  const TensorView &q = c.in[0], &key = c.in[1], &v = c.in[2], &out = c.out[0];
  const int r = out.rank;
  if (!list.target().groups || out.numel() == 0 || compute_type(q.dtype) != DType::f32) return false;
  const std::int64_t keys = key.size(r - 2), width = q.size(r - 1), out_width = out.size(r - 1);
  if (width == 0 || width > kAttentionBlocksWidest) return false;
  const std::int64_t rows = out.numel() / out_width, shared = shared_heads(c);
  const std::int64_t chunks = divided_up(out_width, kAttentionBlocksWidestChunk);
  const std::int64_t lines = out.size(r - 2) * shared;
  const AttentionBlockShape s{rows / lines * chunks, lines, HeadColumns(width),
                              HeadColumns(divided_up(out_width, chunks))};
  if (lines >= kMostLines) return false;

  const bool units = q.dtype == DType::f16 || q.dtype == DType::bf16;
  const std::optional<AttentionBlocksBlocks> b =
      units ? choose_units(list.target(), s) : choose_tiles(list.target(), s);
  if (!b) return false;
  const std::int64_t blocks = divided_up(lines, b->rows), groups = groups_of(s, b->rows);
  const std::int64_t part = units ? kShortPart : kShortPartOfFloats;
  const std::int64_t wanted =
      std::clamp(std::min(kAttentionBlocksManyGroups / groups, keys / part), std::int64_t{1}, kMostParts);
  const std::int64_t run = divided_up(std::max<std::int64_t>(keys, 1), wanted * part) * part;
  const std::int64_t parts = std::max<std::int64_t>(divided_up(keys, run), 1), items = groups * parts * b->items;
  if (list.target().dialect == Dialect::metal && items >= kMostLines) return false;  // Metal counts lines in 32 bits

  Launch k("attention_blocks");
  if (units) {
    k.source.add_library("matrix_units:" + type_name(q.dtype));
    k.source.add_library("attention_units");
  }
  k.source.add_library("local_memory");
  k.source.add_library("attention_tiles");
  declare_attention(k, c);
  k.source.define("ROWS", b->rows);
  k.source.define("ITEMS", b->items);
  k.source.define("UNIT_KEYS", b->unit_keys);
  k.source.define("TILE_KEYS", b->tile_keys);
  k.source.define("WIDTH", s.width.total);
  k.source.define("DEPTH", s.width.step);
  k.source.define("CHUNK", s.chunk.total);
  k.source.define("DEPTH_OUT", s.chunk.step);
  k.parameter("shared", shared);
  k.parameter("lines", s.lines);
  k.parameter("blocks", blocks);
  k.parameter("chunks", chunks);
  k.parameter("run", run);
  k.parameter("parts", parts);
  k.parameter("q_wide", is_wide(q, kAttentionBlocksColumns) ? 1 : 0);
  k.parameter("k_wide", is_wide(key, kAttentionBlocksColumns) ? 1 : 0);
  k.parameter("v_wide", is_wide(v, kAttentionBlocksColumns) ? 1 : 0);
  add_attention(list, std::move(k), c, parts, items, static_cast<std::uint32_t>(b->items));
  return true;
}

}  // namespace tern::portable
