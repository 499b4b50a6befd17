#include "kernels/cpu/pointwise/tile_program.h"

#include <tern/error.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

namespace tern::pointwise {
namespace {

using Kind = TileInstruction::Kind;

constexpr std::size_t kCacheBytes = 32 * 1024;  // bytes of all tile buffers: the first-level cache
constexpr std::int64_t kLargestTile = 2048;
constexpr std::int64_t kSmallestTile = 64;
constexpr std::int64_t kChainTile = 8192, kManyElements = 1 << 20;
constexpr std::int64_t kLongRow = 2048;              // longer rows are divided among threads
constexpr std::int64_t kTileProgramGrain = 1 << 15;  // additions per thread

int cost_of(Scalar op) {
  if (op < Scalar::copysign) return op == Scalar::pow || op == Scalar::gcd || op == Scalar::lcm ? 16 : 1;
  if (op < Scalar::sqrt) return 8;
  if (op < Scalar::erfc) return 8;
  return op < Scalar::real ? 64 : 2;
}

std::array<std::byte, 16> constant_bytes(const Instruction& i) {
  std::array<std::byte, 16> bytes{};
  const auto store = [&](auto v) { std::memcpy(bytes.data(), &v, sizeof v); };
  switch (i.dtype) {
    case DType::boolean: store(static_cast<std::uint8_t>(i.integer != 0)); break;
    case DType::f32: store(static_cast<float>(i.number)); break;
    case DType::f64: store(i.number); break;
    case DType::c64: store(std::array{static_cast<float>(i.number), static_cast<float>(i.imaginary)}); break;
    case DType::c128: store(std::array{i.number, i.imaginary}); break;
    default: store(i.integer); break;
  }
  return bytes;
}

/// Returns the operand of a load: an epilogue's first load is the node's own result, the others follow the node's three
/// operands.
std::ptrdiff_t operand_of(const Node& node, const Instruction& load) {
  const auto number = static_cast<std::ptrdiff_t>(load.integer);
  if (node.op == Op::pointwise) return number;
  return number == 0 ? kOwnResult : number + 2;
}

}  // namespace

TileProgram::TileProgram(const KernelCall& call, std::int64_t least, const LoopTable& loops, bool by_rows)
    : table(loops), block(least) {
  std::vector<std::ptrdiff_t> operands;  // operands of the expression, each once
  for (const Instruction& i : call.node->expr.code) {
    if (i.op != Scalar::load) continue;
    const std::ptrdiff_t operand = operand_of(*call.node, i);
    if (std::ranges::find(operands, operand) == operands.end()) operands.push_back(operand);
  }
  total = call.out[0].numel();
  collapse(call, operands);
  find_periods();
  add_instructions(call, operands);
  if (block == 0) join_activations(call.node->expr);
  if (by_rows && !is_periodic) {
    const std::vector<TileInstruction> loops_alone = instructions;
    join_chains(call.node->expr.code, true);
    has_row_chain = is_row_chain();
    if (!has_row_chain) instructions = loops_alone;
  }
  if (!has_row_chain) join_chains(call.node->expr.code, false);
  choose_tile();
  find_crossed_operands();
  assign_slots();
}

void TileProgram::find_periods() {
  if (block > 0 || rank < 2 || loads.size() > kMostPeriodic) return;
  bool repeats = false;
  for (Load& l : loads) {
    if (l.linear || l.uniform) continue;
    std::size_t first = 0;
    while (l.strides[first] == 0) ++first;
    std::int64_t period = 1;
    for (std::size_t d = first; d < static_cast<std::size_t>(rank); ++d) period *= sizes[d];
    if (period > kLongestPeriod || 2 * period > total) return;
    l.period = period;
    repeats = true;
  }
  is_periodic = repeats;
}

void TileProgram::find_crossed_operands() {
  if (block > 0 || !is_row_tiled || row_tiles > 1) return;
  const auto last = static_cast<std::size_t>(rank) - 1;
  for (Load& l : loads) {
    const bool is_crossed = !l.linear && l.strides[last] > 1 && l.strides[last - 1] == 1 &&
                            sizes[last - 1] >= kCrossedRows && l.element <= 8;
    if (!is_crossed || crossed_slots == kMostCrossed) continue;
    l.crossed = static_cast<int>(crossed_slots++);
    const auto bytes = static_cast<std::size_t>(kCrossedRows * tile * l.element + 63) / 64 * 64;
    crossed_bytes = std::max(crossed_bytes, bytes);
  }
}

void TileProgram::collapse(const KernelCall& call, const std::vector<std::ptrdiff_t>& operands) {
  const TensorView& out = call.out[0];
  for (std::ptrdiff_t operand : operands) {
    const TensorView& in = operand == kOwnResult ? out : call.in[static_cast<std::size_t>(operand)];
    Load l;
    l.operand = operand;
    l.element = element_size(in.dtype);
    // Packed elements never broadcast (by the shape rule): reads follow the output's order.
    l.linear =
        operand == kOwnResult || in.dtype == DType::f4_e2m1 || (in.numel() == total && total != 1 && in.contiguous());
    l.uniform = !l.linear;
    const int skip = out.rank - in.rank;
    for (int d = 0; d < in.rank; ++d) {
      const bool moves = in.size(d) != 1 && in.stride(d) != 0;
      l.strides[static_cast<std::size_t>(skip + d)] = moves ? in.stride(d) : 0;
      l.uniform = l.uniform && !moves;
    }
    loads.push_back(l);
  }
  // Drops dimensions of size 1, then merges dimensions contiguous in every operand.
  std::size_t kept = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(out.rank); ++d) {
    if (out.sizes[d] == 1) continue;
    bool join = kept > 0;
    for (const Load& l : loads) join = join && (l.linear || l.strides[kept - 1] == l.strides[d] * out.sizes[d]);
    if (!join) ++kept;
    sizes[kept - 1] = (join ? sizes[kept - 1] : 1) * out.sizes[d];
    for (Load& l : loads) l.strides[kept - 1] = l.strides[d];
  }
  rank = static_cast<int>(kept);
  if (rank == 0) {
    rank = 1;
    sizes[0] = 1;
    for (Load& l : loads) l.strides[0] = 0;
  }
  for (Load& l : loads) {
    const auto last = static_cast<std::size_t>(rank) - 1;
    l.linear = l.linear || (rank == 1 && (l.strides[last] == 1 || total == 1));
    l.constant = l.operand != kOwnResult && call.constant != nullptr && call.constant[l.operand];
    int axes = 0;
    for (int d = 0; d < rank; ++d) {
      if (l.strides[static_cast<std::size_t>(d)] == 0) continue;
      l.axis = d;
      ++axes;
    }
    if (axes != 1) l.axis = -1;
  }
}

void TileProgram::add_instructions(const KernelCall& call, const std::vector<std::ptrdiff_t>& operands) {
  const PointwiseExpr& expr = call.node->expr;
  cost = 0;
  for (const Instruction& i : expr.code) {
    const int count = scalar_info(i.op).operands;
    TileInstruction n;
    n.a = i.a;
    n.b = i.b;
    n.c = i.c;
    n.type = i.dtype;
    n.uniform = n.fixed = count > 0;
    for (int k = 0; k < count; ++k) {
      const TileInstruction& from = instructions[k == 0 ? n.a : k == 1 ? n.b : n.c];
      n.uniform = n.uniform && from.uniform;
      n.fixed = n.fixed && from.fixed;
    }
    switch (i.op) {
      case Scalar::constant:
        n.kind = Kind::constant;
        n.uniform = n.fixed = true;
        n.constant = constant_bytes(i);
        break;
      case Scalar::load:
        n.kind = Kind::load;
        n.load = static_cast<std::size_t>(std::ranges::find(operands, operand_of(*call.node, i)) - operands.begin());
        n.uniform = loads[n.load].uniform;
        n.is_cached = is_periodic ? loads[n.load].period > 0
                                  : block > 0 && !n.uniform && loads[n.load].constant && loads[n.load].axis >= 0;
        break;
      case Scalar::index: {
        n.kind = Kind::index;
        const TensorView& out = call.out[0];
        const auto axis = static_cast<int>(i.integer);
        n.size = std::max<std::int64_t>(1, out.size(axis));
        for (int d = axis + 1; d < out.rank; ++d) n.inner *= std::max<std::int64_t>(1, out.size(d));
        break;
      }
      case Scalar::convert:
        n.kind = Kind::convert;
        n.source = expr.code[i.a].dtype;
        n.overflow = i.integer != 0 ? Overflow::saturate : Overflow::to_nan;
        break;
      case Scalar::bitcast: n.kind = Kind::bitcast; break;
      default: {
        const std::uint16_t last = count == 1 ? i.a : count == 2 ? i.b : i.c;
        n.loop = table.get(i.op, expr.code[last].dtype);
        if (n.loop == nullptr) {
          fail(ErrorCode::unsupported, "pointwise: no loop for " + std::string(scalar_info(i.op).name) + " of " +
                                           std::string(name_of(expr.code[last].dtype)));
        }
      }
    }
    if (!n.uniform) cost += cost_of(i.op);
    instructions.push_back(n);
  }
  cost = std::max<std::int64_t>(1, cost);
}

/// Marks loads of one element per row, such as a channel's scale over its image; with chains those alone that no loop
/// reads.
void TileProgram::find_row_constants(bool has_chains) {
  const auto last = static_cast<std::size_t>(rank) - 1;
  if (block > 0 || rank < 2 || is_periodic || sizes[last] < kTiledRow) return;
  std::vector<bool> is_read_by_loop(instructions.size());
  for (const TileInstruction& n : instructions) {
    const bool reads = n.kind == Kind::loop || n.kind == Kind::convert || n.kind == Kind::bitcast;
    if (has_chains && reads) is_read_by_loop[n.a] = is_read_by_loop[n.b] = is_read_by_loop[n.c] = true;
  }
  for (std::size_t i = 0; i + 1 < instructions.size(); ++i) {
    TileInstruction& n = instructions[i];
    n.row_constant = n.kind == Kind::load && !n.uniform && n.type == DType::f32 && !is_read_by_loop[i] &&
                     !loads[n.load].linear && loads[n.load].strides[last] == 0;
  }
}

bool TileProgram::is_row_chain() const {
  const auto last = static_cast<std::size_t>(rank) - 1;
  if (block > 0 || rank < 2 || sizes[last] < kTiledRow || sizes[last] > kLongRow) return false;
  if (!one_chain || instructions.back().known_chain == nullptr) return false;
  return std::ranges::all_of(instructions, [&](const TileInstruction& n) {
    return n.kind != Kind::load || n.uniform || n.row_constant || loads[n.load].strides[last] == 1;
  });
}

void TileProgram::choose_tile() {
  bool packed = false;
  std::size_t widest = 1;
  std::size_t held = 1;
  for (const TileInstruction& n : instructions) {
    packed = packed || n.type == DType::f4_e2m1;
    widest = std::max(widest, static_cast<std::size_t>(element_size(n.type)));
    held += needs_slot(n) ? 1 : 0;
  }
  tile = static_cast<std::int64_t>(kCacheBytes / (widest * std::min<std::size_t>(held, 8)));
  tile = std::clamp(tile / 64 * 64, kSmallestTile, kLargestTile);
  // Chains hold values in registers.
  if (one_chain && block == 0 && total >= kManyElements) tile = kChainTile;
  const std::int64_t inner = sizes[static_cast<std::size_t>(rank) - 1];
  is_row_tiled = rank > 1 && !is_periodic && inner >= kTiledRow && !packed;
  if (is_row_tiled) {
    row_tiles = (inner + tile - 1) / tile;
    tile = (inner + row_tiles - 1) / row_tiles;
    tiles = total / std::max<std::int64_t>(1, inner) * row_tiles;
  } else if (is_periodic) {
    constexpr std::int64_t kLine = 64;  // elements: tiles of the result begin with a line of the cache
    std::int64_t period = 1;            // each is a multiple of the shorter ones
    for (const Load& l : loads) period = std::max(period, l.period);
    const std::int64_t lines = std::lcm(period, kLine),
                       step = lines <= tile ? lines : std::lcm(period, std::int64_t{2});
    tile = std::max(step, tile / step * step);
    tiles = (total + tile - 1) / tile;
  } else {
    tile = std::min(tile, (std::max<std::int64_t>(total, 1) + 1) / 2 * 2);
    tiles = (total + tile - 1) / tile;
  }
  slot_bytes = (static_cast<std::size_t>(std::max(tile, block)) * widest + 63) / 64 * 64;
}

OutputSlice TileProgram::tile_at(std::int64_t number) const {
  if (!is_row_tiled) return {number * tile, std::min(tile, total - number * tile)};
  const std::int64_t inner = sizes[static_cast<std::size_t>(rank) - 1];
  const std::int64_t at = number % row_tiles * tile;
  return {number / row_tiles * inner + at, std::max<std::int64_t>(0, std::min(tile, inner - at))};
}

std::int64_t TileProgram::grain() const {
  return std::max<std::int64_t>(1, kTileProgramGrain / (cost * tile));
}

std::int64_t TileProgram::row_grain() const {
  return std::max<std::int64_t>(1, kTileProgramGrain / (cost * sizes[static_cast<std::size_t>(rank) - 1]));
}

bool TileProgram::needs_slot(const TileInstruction& n) const {
  if (n.uniform) return true;
  if (n.kind == Kind::merged) return n.shared;
  if (n.kind == Kind::bitcast) return false;
  if (n.kind != Kind::load) return true;
  const Load& l = loads[n.load];
  return block > 0 ? l.operand != kOwnResult : !reads_in_place(l);
}

/// Values equal for all tiles keep their buffers; other values release them after the last use.
void TileProgram::assign_slots() {
  std::vector<std::size_t> last_use(instructions.size(), 0);
  const auto operands_of = [&](std::size_t i) {
    const TileInstruction& n = instructions[i];
    std::vector<std::size_t> v;
    const bool loop = n.kind == Kind::loop, chain = n.kind == Kind::chain;
    if (loop || chain || n.kind == Kind::convert || n.kind == Kind::bitcast) v.push_back(n.a);
    if (loop) v.insert(v.end(), {n.b, n.c});
    for (const Link& l : n.links) v.insert(v.end(), {l.y, l.lhs, l.rhs});
    v.erase(std::remove_if(v.begin(), v.end(), [&](std::size_t k) { return k >= i; }), v.end());
    return v;
  };
  // A bitcast's operand lives as long as the bitcast.
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    for (std::size_t k : operands_of(i)) last_use[k] = std::max(last_use[k], i);
  }
  for (std::size_t i = instructions.size(); i-- > 0;) {
    if (instructions[i].kind == Kind::bitcast)
      last_use[instructions[i].a] = std::max(last_use[instructions[i].a], last_use[i]);
  }
  std::vector<std::ptrdiff_t> free;
  std::vector<bool> released(instructions.size(), false);
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    TileInstruction& n = instructions[i];
    const std::vector<std::size_t> operands = operands_of(i);
    const auto release = [&](bool same_size_only) {
      for (std::size_t k : operands) {
        const TileInstruction& o = instructions[k];
        if (released[k] || last_use[k] > i || o.uniform || o.is_cached || o.slot < 0) continue;
        // A loop reads its row constant again after the first results.
        const bool may_overwrite = (n.kind == Kind::loop || n.kind == Kind::chain) && !o.row_constant &&
                                   element_size(o.type) == element_size(n.type);
        if (same_size_only && !may_overwrite) continue;
        released[k] = true;
        free.push_back(o.slot);
      }
    };
    release(true);  // a loop may overwrite its operand
    const bool result = i + 1 == instructions.size() && !n.uniform;
    if (needs_slot(n) && !result) {
      if (!n.uniform && !n.is_cached && !free.empty()) {
        n.slot = free.back();
        free.pop_back();
      } else {
        n.slot = static_cast<std::ptrdiff_t>(slots++);
      }
    }
    release(false);
  }
}

}  // namespace tern::pointwise
