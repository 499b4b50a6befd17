#include "kernels/cpu/pointwise/epilogue.h"

#include <tern/error.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "dtypes/byte_integers.h"
#include "kernels/cpu/pointwise/worker.h"
#include "threads/parallel.h"

namespace tern::pointwise {
namespace {

constexpr std::int64_t kBlock = 2048;  // elements: a few float buffers of this size about fit the first-level cache

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

/// A thread's buffers, separate from thread_buffer: the calling kernel may hold its block there.
struct ThreadBuffers {
  std::vector<std::byte> bytes;
  std::uint64_t owner = 0;                ///< the epilogue whose constants are stored here
  std::vector<BufferedRows> cached_rows;  ///< contents of the owner's load buffers
};

std::byte* aligned(std::vector<std::byte>& bytes) {
  return reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(bytes.data()) + 63) / 64 * 64);
}

/// Returns the calling thread's worker for up to `count` elements at a time.
TileWorker worker(const TileProgram& program, const KernelCall& call, std::uint64_t number, std::int64_t count) {
  thread_local ThreadBuffers buffers;
  const std::size_t need = TileWorker::bytes(program) + 64;
  if (buffers.bytes.size() < need) {
    buffers.owner = 0;
    buffers.bytes = std::vector<std::byte>(need);
  }
  const bool filled = buffers.owner == number;
  buffers.owner = number;
  if (!filled) buffers.cached_rows.assign(program.loads.size(), {});
  TileWorker made(program, call, aligned(buffers.bytes), count, filled);
  made.set_cached_rows(buffers.cached_rows.data());
  return made;
}

/// Matches the expression from the last instruction backwards.
std::optional<SimpleEpilogue> simple_form(const std::vector<Instruction>& code, const TileProgram& program) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  SimpleEpilogue simple{-1, -kInfinity, kInfinity};
  std::size_t at = code.size() - 1;
  const auto is = [&](std::size_t i, Scalar op) { return code[i].op == op && code[i].dtype == DType::f32; };
  for (const Scalar bound : {Scalar::min, Scalar::max, Scalar::min}) {
    if (!is(at, bound)) continue;
    float& limit = bound == Scalar::min ? simple.high : simple.low;
    const bool first = is(code[at].a, Scalar::constant);
    const Instruction& c = code[first ? code[at].a : code[at].b];
    if (!std::isinf(limit) || c.op != Scalar::constant || std::isnan(c.number)) return std::nullopt;
    limit = static_cast<float>(c.number);
    at = first ? code[at].b : code[at].a;
  }
  if (simple.low > simple.high) return std::nullopt;
  const auto own = [&](std::size_t i) { return is(i, Scalar::load) && code[i].integer == 0; };
  if (own(at)) return simple;
  if (!is(at, Scalar::add) || own(code[at].a) == own(code[at].b)) return std::nullopt;
  const std::size_t other = own(code[at].a) ? code[at].b : code[at].a;
  if (!is(other, Scalar::load)) return std::nullopt;
  const Load& load = program.loads[program.instructions[other].load];
  if (!load.linear || load.operand == kOwnResult) return std::nullopt;
  simple.operand = load.operand;
  return simple;
}

}  // namespace

std::unique_ptr<Epilogue> Epilogue::create(const KernelCall& call) {
  return call.node->expr.code.empty() ? nullptr : std::make_unique<Epilogue>(call);
}

Epilogue::Epilogue(const KernelCall& call) : number_(next_number()), program_(call, kBlock) {
  const DType result = call.out[0].dtype;
  const DType made = call.node->expr.code.back().dtype;
  const bool bytes = made == result && is_byte_integer(made);
  bool fits = bytes || ((result == DType::f32 || result == DType::bf16) && made == DType::f32);
  for (const Load& l : program_.loads)
    fits = fits && (l.operand == kOwnResult || call.in[static_cast<std::size_t>(l.operand)].dtype != DType::f4_e2m1);
  if (!fits) fail(ErrorCode::internal, "an expression of these types cannot be fused into another op");
  if (bytes) {
    requantizer_ = Requantizer::create(call, program_);
    return;
  }
  simple_ = simple_form(call.node->expr.code, program_);
  const std::vector<Instruction>& code = call.node->expr.code;
  const auto end = activation_end(call.node->expr, code.size() - 1);
  leaves_ = LeafChain::create(call, program_, end ? end->argument : code.size() - 1);
  if (end && (leaves_ || is_start(call, program_, end->argument)))
    activation_ = (result == DType::bf16 ? program_.table.coarse_activations
                                         : program_.table.activations)[static_cast<int>(end->activation)];
}

void Epilogue::apply(const KernelCall& call) const {
  parallel_for(program_.tiles, program_.grain(), [&](std::int64_t begin, std::int64_t end) {
    TileWorker w = worker(program_, call, number_, program_.tile);
    for (std::int64_t i = begin; i < end; ++i) w.run_tile(program_.tile_at(i));
  });
}

void Epilogue::apply(const KernelCall& call, std::int64_t begin, std::int64_t count) const {
  if (count <= 0) return;
  TileWorker w = worker(program_, call, number_, std::min(count, program_.tile));
  const std::int64_t inner = program_.sizes[static_cast<std::size_t>(program_.rank) - 1];
  while (count > 0) {
    std::int64_t n = std::min(count, program_.tile);
    if (program_.is_row_tiled) n = std::min(n, inner - begin % inner);
    w.run_tile({begin, n});
    begin += n;
    count -= n;
  }
}

void Epilogue::apply_block(const KernelCall& call, float* block, std::int64_t ld, std::int64_t rows,
                           std::int64_t columns, std::int64_t begin, std::int64_t row_step) const {
  if (rows <= 0 || columns <= 0) return;
  const bool starts = leaves_ && leaves_->apply(call, {block, ld, block, ld, rows, columns}, begin, row_step);
  if (activation_ != nullptr && (starts || !leaves_)) return activation_(block, ld, rows, columns);
  if (starts) return;
  const std::int64_t wide = std::min(columns, kBlock);
  const std::int64_t high = std::min(rows, std::max<std::int64_t>(1, kBlock / wide));
  TileWorker w = worker(program_, call, number_, wide * high);
  for (std::int64_t i = 0; i < rows; i += high) {
    for (std::int64_t j = 0; j < columns; j += wide) {
      const OutputRows at{begin + i * row_step + j, row_step, std::min(high, rows - i), std::min(wide, columns - j)};
      w.run_block({block + i * ld + j, ld, at});
    }
  }
}

bool Epilogue::store_block(const KernelCall& call, float* block, std::int64_t ld, std::int64_t rows,
                           std::int64_t columns, std::int64_t begin, std::int64_t row_step) const {
  if (requantizer_) {
    requantizer_->store(call, block, ld, rows, columns, begin, row_step);
    return true;
  }
  if (!leaves_ || call.out[0].dtype != DType::f32) return false;
  float* const to = call.out[0].data_as<float>() + begin;
  if (!leaves_->apply(call, {block, ld, to, row_step, rows, columns}, begin, row_step)) return false;
  if (activation_ != nullptr) activation_(to, row_step, rows, columns);
  return true;
}

}  // namespace tern::pointwise
