#include "kernels/cpu/pointwise/worker.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "dtypes/convert.h"
#include "kernels/cpu/simd/stream.h"

namespace tern::pointwise {
namespace {

using Kind = TileInstruction::Kind;

std::size_t pointer_bytes(const TileProgram& program) {
  return (program.instructions.size() * sizeof(std::byte*) + 63) / 64 * 64;
}

/// Computes the positions of consecutive elements along an axis.
void positions(const TileInstruction& n, std::int64_t start, std::int64_t count, std::int64_t* dst) {
  std::int64_t position = start / n.inner % n.size;
  std::int64_t left = n.inner - start % n.inner;
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t run = std::min(left, count - i);
    for (std::int64_t k = 0; k < run; ++k) dst[i + k] = position;
    i += run;
    left = n.inner;
    if (++position == n.size) position = 0;
  }
}

std::int64_t offset(const TileProgram& program, const Load& l, std::int64_t position) {
  std::int64_t at = 0;
  for (auto d = static_cast<std::size_t>(program.rank); d-- > 0;) {
    at += position % program.sizes[d] * l.strides[d];
    position /= program.sizes[d];
  }
  return at;
}

/// Copies rows of floats between two row distances. Most rows have a few cache lines: a call per row would take as long
/// as the rest of a simple epilogue.
void copy_rows(const float* from, std::int64_t from_step, float* to, std::int64_t to_step, std::int64_t rows,
               std::int64_t columns) {
  constexpr std::int64_t kLine = 16;
  for (std::int64_t i = 0; i < rows; ++i, from += from_step, to += to_step) {
    std::int64_t j = 0;
    for (; j + kLine <= columns; j += kLine) std::memcpy(to + j, from + j, kLine * sizeof(float));
    if (j < columns) std::memcpy(to + j, from + j, static_cast<std::size_t>(columns - j) * sizeof(float));
  }
}

}  // namespace

std::size_t TileWorker::bytes(const TileProgram& program) {
  return pointer_bytes(program) + (program.slots + 1) * program.slot_bytes +
         program.crossed_slots * program.crossed_bytes;
}

TileWorker::TileWorker(const TileProgram& program, const KernelCall& call, std::byte* memory, std::int64_t count,
                       bool filled)
    : program_(program),
      call_(call),
      where_(reinterpret_cast<const std::byte**>(memory)),
      slots_(memory + pointer_bytes(program)),
      loops_(program.table) {
  // Constants fill their buffers, since other workers of the program may reuse the memory.
  const std::int64_t all = std::max(program.tile, program.block);
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const TileInstruction& n = program.instructions[i];
    std::byte* dst = slot(i);
    where_[i] = dst;
    if (!n.uniform || (n.fixed && filled)) continue;
    const std::int64_t wanted = n.fixed ? all : count;
    if (n.kind == Kind::loop && wanted > 1) {
      run(i, {0, 1}, dst);
      fill(dst, dst, element_size(n.type), wanted);
    } else {
      run(i, {0, wanted}, dst);
    }
  }
}

/// Bypasses the caches for large results that are not also operands.
void TileWorker::stream_result() {
  const TensorView& out = call_.out[0];
  streams_ = run_bytes(out.dtype, program_.total) >= kStreamBytes;
  for (const Load& l : program_.loads) streams_ = streams_ && data(l) != out.data;
}

std::byte* TileWorker::slot(std::size_t instruction) const {
  const std::ptrdiff_t number = program_.instructions[instruction].slot;
  return number < 0 ? nullptr : slots_ + static_cast<std::size_t>(number) * program_.slot_bytes;
}

const std::byte* TileWorker::data(const Load& l) const {
  return l.operand == kOwnResult ? call_.out[0].data : call_.in[static_cast<std::size_t>(l.operand)].data;
}

void TileWorker::copy(std::byte* to, const std::byte* from, std::int64_t count) const {
  if (to != from) std::memcpy(to, from, static_cast<std::size_t>(run_bytes(call_.out[0].dtype, count)));
}

void TileWorker::run_tile(const OutputSlice& t) {
  std::byte* out = call_.out[0].data + run_bytes(call_.out[0].dtype, t.start);
  const TileInstruction& n = program_.instructions.back();
  if (!streams_ || n.uniform || n.kind == Kind::bitcast) return compute(t, out);
  run_operands(t);
  const bool aligned = reinterpret_cast<std::uintptr_t>(out) % 64 == 0;
  if (n.kind == Kind::chain && aligned) return run_chain(n, t.count, out, true);
  run(program_.instructions.size() - 1, t, spare());
  stream(out, spare(), static_cast<std::size_t>(run_bytes(call_.out[0].dtype, t.count)));
}

void TileWorker::run_output_rows(std::int64_t begin, std::int64_t end) {
  const auto last = static_cast<std::size_t>(program_.rank) - 1;
  const std::int64_t columns = program_.sizes[last];
  for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
    const TileInstruction& n = program_.instructions[i];
    if (n.kind != Kind::load || n.uniform) continue;
    const Load& l = program_.loads[n.load];
    where_[i] = data(l) + offset(program_, l, begin * columns) * l.element;
  }
  const TileInstruction& chain = program_.instructions.back();
  LinkMemory memory;
  ChainLink* links = links_of(chain, nullptr, memory);
  ChainOperand start = operand(chain.a, nullptr);
  // The operands that move from row to row.
  struct Cursor {
    const float** data;
    const std::int64_t* strides;
  };
  Cursor cursors[3 * kMostLinks + 1];
  std::size_t count = 0;
  const auto add_cursor = [&](ChainOperand& o, std::size_t instruction) {
    const TileInstruction& n = program_.instructions[instruction];
    if (n.kind == Kind::load && !n.uniform) cursors[count++] = {&o.data, program_.loads[n.load].strides.data()};
  };
  add_cursor(start, chain.a);
  for (std::size_t k = 0; k < chain.links.size(); ++k) {
    add_cursor(links[k].y, chain.links[k].y);
    add_cursor(links[k].lhs, chain.links[k].lhs);
    add_cursor(links[k].rhs, chain.links[k].rhs);
  }
  std::array<std::int64_t, kMaxRank> at{};
  std::int64_t row = begin;
  for (std::size_t d = last; d-- > 0;) {
    at[d] = row % program_.sizes[d];
    row /= program_.sizes[d];
  }
  float* out = reinterpret_cast<float*>(call_.out[0].data) + begin * columns;
  for (row = begin; row < end; ++row, out += columns) {
    chain.known_chain(out, start, links, chain.links.size(), columns, false);
    for (std::size_t d = last; d-- > 0;) {
      const bool carries = ++at[d] == program_.sizes[d];
      const std::int64_t steps = carries ? 1 - program_.sizes[d] : 1;
      for (std::size_t k = 0; k < count; ++k) *cursors[k].data += steps * cursors[k].strides[d];
      if (!carries) break;
      at[d] = 0;
    }
  }
}

void TileWorker::compute(const OutputSlice& t, std::byte* dst) {
  run_operands(t);
  const std::size_t last = program_.instructions.size() - 1;
  const TileInstruction& n = program_.instructions[last];
  if (!n.uniform) run(last, t, dst);
  // Copies results computed elsewhere: an unchanged operand, or a uniform value.
  if (n.uniform || n.kind == Kind::bitcast) copy(dst, where_[last], t.count);
}

void TileWorker::run_operands(const OutputSlice& t) {
  for (std::size_t i = 0; i + 1 < program_.instructions.size(); ++i) {
    if (!program_.instructions[i].uniform) run(i, t, slot(i));
  }
}

void TileWorker::run_block(const ResultBlock& b) {
  const std::int64_t columns = b.rows.columns, count = b.rows.rows * columns;
  const bool dense = b.ld == columns || b.rows.rows == 1;
  if (program_.one_chain && !dense && columns % kChainColumns == 0) return run_rows(b);
  auto* own = dense ? reinterpret_cast<std::byte*>(b.data) : spare();
  if (!dense) copy_rows(b.data, b.ld, reinterpret_cast<float*>(own), columns, b.rows.rows, columns);
  const std::size_t last = program_.instructions.size() - 1;
  for (std::size_t i = 0; i <= last; ++i) {
    const TileInstruction& n = program_.instructions[i];
    std::byte* dst = i == last ? own : slot(i);
    if (n.uniform) continue;
    if (n.kind == Kind::load) {
      load_block(i, b.rows, own);
    } else if (n.kind == Kind::index) {
      for (std::int64_t r = 0; r < b.rows.rows; ++r)
        positions(n, b.rows.begin + r * b.rows.row_step, columns, reinterpret_cast<std::int64_t*>(dst) + r * columns);
    } else {
      run(i, {0, count}, dst);
    }
  }
  const TileInstruction& n = program_.instructions[last];
  if (n.uniform || n.kind == Kind::bitcast || n.kind == Kind::load) copy(own, where_[last], count);
  if (!dense) copy_rows(reinterpret_cast<const float*>(own), columns, b.data, b.ld, b.rows.rows, columns);
}

/// True if the kept operand's buffer holds these rows already. The caller fills the buffer otherwise.
bool TileWorker::buffer_holds(std::size_t load, const OutputRows& at) {
  const Load& l = program_.loads[load];
  std::int64_t inner = 1;
  for (int d = program_.rank - 1; d > l.axis; --d) inner *= program_.sizes[static_cast<std::size_t>(d)];
  const std::int64_t size = program_.sizes[static_cast<std::size_t>(l.axis)];
  // Supports an element per row or an element per column; other layouts are gathered anew.
  const bool is_row_tiled = at.row_step % inner == 0 && at.begin % inner + at.columns <= inner,
             by_columns = inner == 1 && at.row_step % size == 0 && at.begin % size + at.columns <= size;
  if (!is_row_tiled && !by_columns) {
    cached_rows_[load] = {};
    return false;
  }
  const BufferedRows wanted{at.begin / inner % size, by_columns ? 0 : at.row_step / inner % size, at.rows, at.columns};
  if (cached_rows_[load] == wanted) return true;
  cached_rows_[load] = wanted;
  return false;
}

void TileWorker::load_block(std::size_t i, const OutputRows& at, std::byte* own) {
  const Load& l = program_.loads[program_.instructions[i].load];
  if (l.operand == kOwnResult) {
    where_[i] = own;
  } else if (l.linear && (at.rows == 1 || at.row_step == at.columns)) {
    where_[i] = data(l) + at.begin * l.element;
  } else {
    where_[i] = slot(i) != nullptr ? slot(i) : own;
    if (program_.instructions[i].is_cached && cached_rows_ != nullptr && slot(i) != nullptr &&
        buffer_holds(program_.instructions[i].load, at))
      return;
    gather_rows(program_, l, data(l), at, slot(i) != nullptr ? slot(i) : own);
  }
}

/// Returns an instruction's value as a chain operand. `rows` sets the row distance of operands read in place.
ChainOperand TileWorker::operand(std::size_t instruction, const ResultBlock* rows) const {
  const TileInstruction& n = program_.instructions[instruction];
  ChainOperand o{reinterpret_cast<const float*>(where_[instruction]), n.uniform || n.row_constant ? 0 : 1};
  if (rows == nullptr) return o;
  o.row = rows->rows.columns;
  if (n.kind != Kind::load) return o;
  const Load& l = program_.loads[n.load];
  if (l.operand == kOwnResult) {
    o.row = rows->ld;
  } else if (l.linear) {
    o.row = rows->rows.row_step;
  }
  return o;
}

ChainLink* TileWorker::links_of(const TileInstruction& n, const ResultBlock* rows, LinkMemory& memory) const {
  auto* links = reinterpret_cast<ChainLink*>(memory.bytes);
  for (std::size_t k = 0; k < n.links.size(); ++k) {
    const Link& l = n.links[k];
    float* store = l.store < 0 ? nullptr : reinterpret_cast<float*>(slot(static_cast<std::size_t>(l.store)));
    new (links + k) ChainLink{l.op, operand(l.y, rows), operand(l.lhs, rows), operand(l.rhs, rows), store};
  }
  return links;
}

void TileWorker::run_chain(const TileInstruction& n, std::int64_t elements, std::byte* dst, bool past_caches) {
  LinkMemory memory;
  const ChainLoop loop = n.known_chain != nullptr && !past_caches ? n.known_chain : loops_.chain;
  loop(reinterpret_cast<float*>(dst), operand(n.a, nullptr), links_of(n, nullptr, memory), n.links.size(), elements,
       past_caches);
}

/// Runs the single chain of a program on rows in place.
void TileWorker::run_rows(const ResultBlock& b) {
  for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
    const TileInstruction& n = program_.instructions[i];
    if (n.uniform || n.kind != Kind::load) continue;
    const Load& l = program_.loads[n.load];
    if (l.linear && l.operand != kOwnResult) {
      where_[i] = data(l) + b.rows.begin * l.element;
    } else {
      load_block(i, b.rows, reinterpret_cast<std::byte*>(b.data));
    }
  }
  const TileInstruction& n = program_.instructions.back();
  LinkMemory memory;
  loops_.chain_rows(b.data, b.ld, operand(n.a, &b), links_of(n, &b, memory), n.links.size(), b.rows.rows,
                    b.rows.columns);
}

void TileWorker::run(std::size_t i, const OutputSlice& t, std::byte* dst) {
  const TileInstruction& n = program_.instructions[i];
  switch (n.kind) {
    case Kind::loop: n.loop(dst, where_[n.a], where_[n.b], where_[n.c], t.count); break;
    case Kind::convert: convert(where_[n.a], n.source, dst, n.type, t.count, n.overflow); break;
    case Kind::load: load(i, t, dst); break;
    case Kind::bitcast: where_[i] = where_[n.a]; break;
    case Kind::constant: fill(dst, n.constant.data(), element_size(n.type), t.count); break;
    case Kind::index: positions(n, t.start, t.count, reinterpret_cast<std::int64_t*>(dst)); break;
    case Kind::chain: run_chain(n, t.count, dst, false); break;
    case Kind::merged: break;
  }
}

const std::byte* TileWorker::crossed_rows(const Load& l, std::int64_t start) {
  const auto last = static_cast<std::size_t>(program_.rank) - 1, number = static_cast<std::size_t>(l.crossed);
  const std::int64_t inner = program_.sizes[last], column = start % inner,
                     row = start / inner % program_.sizes[last - 1], first = row / kCrossedRows * kCrossedRows,
                     wanted = start - column - (row - first) * inner;
  std::byte* const buffer = spare() + program_.slot_bytes + number * program_.crossed_bytes;
  if (crossed_[number] != wanted) {
    crossed_[number] = wanted;
    gather_crossed(data(l) + offset(program_, l, wanted) * l.element, l.strides[last], l.element,
                   std::min(kCrossedRows, program_.sizes[last - 1] - first), inner, buffer, inner);
  }
  return buffer + ((row - first) * inner + column) * l.element;
}

void TileWorker::load(std::size_t i, const OutputSlice& t, std::byte* dst) {
  const Load& l = program_.loads[program_.instructions[i].load];
  const std::byte* from = data(l);
  if (l.uniform) return fill(dst, from, l.element, t.count);
  if (program_.instructions[i].row_constant) {
    fill(dst, from + offset(program_, l, t.start) * l.element, l.element, std::min(t.count, TileProgram::kRepeated));
    where_[i] = dst;
    return;
  }
  const bool result = i + 1 == program_.instructions.size();
  if (l.linear) {
    where_[i] = from + run_bytes(program_.instructions[i].type, t.start);
  } else if (program_.reads_in_place(l)) {
    where_[i] = from + offset(program_, l, t.start) * l.element;
  } else if (l.crossed >= 0) {
    where_[i] = crossed_rows(l, t.start);
  } else if (program_.is_periodic && !result) {
    BufferedPeriod& buffered = periods_[program_.instructions[i].load];
    where_[i] = dst;
    if (buffered.phase == t.start % l.period && buffered.count >= t.count) return;
    buffered = {t.start % l.period, t.count};
    gather(program_, l, from, t.start, t.count, dst);
    return;
  } else {
    if (!result) where_[i] = dst;
    if (cached_rows_ != nullptr) cached_rows_[program_.instructions[i].load] = {};
    return gather(program_, l, from, t.start, t.count, dst);
  }
  if (result) copy(dst, where_[i], t.count);
}

}  // namespace tern::pointwise
