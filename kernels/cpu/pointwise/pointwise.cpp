// Runs pointwise nodes tile by tile, with a loop for each instruction; threads share the tiles.
#include <memory>

#include "dtypes/convert.h"
#include "kernels/cpu/pointwise/kernels.h"
#include "kernels/cpu/pointwise/requantize.h"
#include "kernels/cpu/pointwise/worker.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/simd/stream.h"
#include "threads/parallel.h"

namespace tern::pointwise {
namespace {

/// Returns the node with its result rounded to bfloat16.
Node rounded(const Node& node) {
  Node n = node;
  Instruction convert{Scalar::convert, DType::bf16};
  convert.a = static_cast<std::uint16_t>(n.expr.code.size() - 1);
  n.expr.code.push_back(convert);
  return n;
}

bool is_rounded(const KernelCall& call) {
  return call.out[0].dtype == DType::bf16 && call.node->expr.code.back().dtype == DType::f32;
}

bool stores_rounded(const KernelCall& call) {
  return call.node->expr.code.back().dtype == DType::f32;
}

/// A tile program; quantized results have a dedicated loop.
struct PointwiseProgram : TileProgram {
  PointwiseProgram(const KernelCall& call, const LoopTable& table)
      : TileProgram(call, 0, table, true), requantizer(Requantizer::create(call, *this)) {}
  std::optional<Requantizer> requantizer;
};

template <const LoopTable& (*kTable)()>
std::unique_ptr<KernelState> prepare(const KernelCall& call) {
  if (!is_rounded(call)) return std::make_unique<PointwiseProgram>(call, kTable());
  const Node node = rounded(*call.node);
  KernelCall of_rounded = call;
  of_rounded.node = &node;
  return std::make_unique<PointwiseProgram>(of_rounded, kTable());
}

void run_program(const KernelCall& call, const PointwiseProgram& program) {
  if (program.total == 0) return;
  if (program.requantizer) return program.requantizer->run(call);
  if (program.has_row_chain && run_bytes(DType::f32, program.total) < kStreamBytes) {
    const std::int64_t columns = program.sizes[static_cast<std::size_t>(program.rank) - 1];
    parallel_for(program.total / columns, program.row_grain(), [&](std::int64_t begin, std::int64_t end) {
      TileWorker worker(program, call, thread_buffer<std::byte>(TileWorker::bytes(program)), TileProgram::kRepeated);
      worker.run_output_rows(begin, end);
    });
    return;
  }
  parallel_for(program.tiles, program.grain(), [&](std::int64_t begin, std::int64_t end) {
    TileWorker worker(program, call, thread_buffer<std::byte>(TileWorker::bytes(program)), program.tile);
    worker.stream_result();
    for (std::int64_t i = begin; i < end; ++i) worker.run_tile(program.tile_at(i));
    end_stream();
  });
}

template <const LoopTable& (*kTable)()>
void run(KernelCall& call) {
  std::unique_ptr<KernelState> own;
  if (call.state == nullptr) own = prepare<kTable>(call);
  run_program(call, static_cast<const PointwiseProgram&>(call.state != nullptr ? *call.state : *own));
}

template <const LoopTable& (*kTable)()>
void register_with(KernelTable& t) {
  Kernel k;
  k.run = run<kTable>;
  k.prepare = prepare<kTable>;
  k.strided = kAllStrided;
  k.in_place = 0;
  k.stores_rounded = stores_rounded;
  t.set(Op::pointwise, k);
}

}  // namespace

void register_pointwise(KernelTable& t) {
  register_with<loop_table>(t);
}
void register_reproducible_pointwise(KernelTable& t) {
  register_with<reproducible_loop_table>(t);
}

}  // namespace tern::pointwise
