// Products of 8-bit integers with a packed weight. A constant weight is packed once, others in each run, plane by
// plane.
#include <fmt/format.h>

#include "kernels/cpu/dense.h"
#include "kernels/cpu/products/algorithms/integer_problem.h"
#include "kernels/cpu/products/int8/driver.h"
#include "kernels/cpu/products/packed_weight.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

constexpr std::size_t kPlaneSlot = 5;  // slot of thread_buffer

int8::Int8LinearShape integer_rows_shape(const IntegerProduct& p) {
  return {p.problem.m, p.problem.n, p.problem.k, p.signs};
}

/// True if all threads multiply one plane together: few planes. Otherwise each thread multiplies whole planes.
bool threads_share_planes(const IntegerProduct& p) {
  const std::int64_t planes = p.problem.batch.planes;
  return planes == 1 || planes < 2 * Threads::current().count();
}

/// Plans a plane for all threads, or for the single thread that multiplies it.
int8::Int8Linear make_linear(const IntegerProduct& p) {
  const int8::Method& method = int8::methods().front();
  if (threads_share_planes(p)) return {integer_rows_shape(p), method};
  const ThreadScope single_thread(Threads(1));
  return {integer_rows_shape(p), method};
}

class IntegerRows : public PreparedAlgorithm {
 public:
  IntegerRows(const KernelCall& c, const IntegerProduct& p)
      : p_(p), threads_share_planes_(threads_share_planes(p)), linear_(make_linear(p)) {
    choice = {Algorithm::integer_rows};
    const bool is_constant = c.constant != nullptr && c.constant[1] && c.in[1].data != nullptr;
    if (!is_constant || p.problem.batch.planes != 1 || p.problem.convert_b) return;
    unread = 1u << 1;  // runs read the packed weight instead of operand 1
    const int8::WeightView weight = p_.weight(c.in[1].data);
    const std::string key = fmt::format("integers in {}: {} of {}, {} apart", int8::methods().front().name, weight.n,
                                        weight.k, weight.element);
    weight_ = tiles::packed_weight(c, 1, key, linear_.packed_bytes(),
                                   [linear = linear_, weight](std::byte* to) { linear.pack(weight, to); });
  }

  void reserve(const KernelCall& c, ScratchArena& arena) const override { Room(*this, c, arena); }

  RemainingWork run(KernelCall& c, ScratchArena& arena, const pointwise::Epilogue* epilogue) const override {
    const Room room(*this, c, arena);
    const Problem& p = p_.problem;
    if (room.x != nullptr)
      to_dense(planes_without_repeats(unsqueeze_to_rank(c.in[0], p.a.rank)), c.in[0].dtype, room.x);
    if (room.b != nullptr)
      to_dense(planes_without_repeats(unsqueeze_to_rank(c.in[1], p.b.rank)), c.in[1].dtype, room.b);
    if (room.bias != nullptr) to_dense(c.in[2], DType::i32, room.bias);
    const std::byte *x_data = room.x != nullptr ? room.x : c.in[0].data,
                    *b_data = room.b != nullptr ? room.b : c.in[1].data;
    const auto multiply_plane = [&](std::int64_t i, std::byte* packed, std::byte* scratch) {
      const Batch::Offsets offsets = p.batch.offsets_of(i);
      if (packed != nullptr) linear_.pack(p_.weight(b_data + offsets.b), packed);
      linear_.run({.x = x_data + offsets.a,
                   .x_row = p_.x_row(),
                   .weight = packed != nullptr ? packed : weight_.get(),
                   .bias = room.bias,
                   .y = c.out[0].data,
                   .stores_sums = p_.stores_sums,
                   .first = i * p.m,
                   .finish = {epilogue, &c}},
                  scratch);
    };
    if (threads_share_planes_) {
      for (std::int64_t i = 0; i < p.batch.planes; ++i) multiply_plane(i, room.packed, room.scratch);
      return RemainingWork::nothing;
    }
    const auto packed = static_cast<std::size_t>(linear_.packed_bytes());
    parallel_for(p.batch.planes, grain_for(p.m * p.n * p.k), [&](std::int64_t begin, std::int64_t end) {
      auto* buffer = thread_buffer<std::byte>(packed + linear_.scratch(), kPlaneSlot);
      for (std::int64_t i = begin; i < end; ++i) multiply_plane(i, buffer, buffer + packed);
    });
    return RemainingWork::nothing;
  }

 private:
  struct Room {
    Room(const IntegerRows& algorithm, const KernelCall& c, ScratchArena& arena)
        : scratch(algorithm.threads_share_planes_
                      ? arena.allocate<std::byte>(static_cast<std::int64_t>(algorithm.linear_.scratch()))
                      : nullptr),
          packed(algorithm.threads_share_planes_ && algorithm.weight_ == nullptr
                     ? arena.allocate<std::byte>(algorithm.linear_.packed_bytes())
                     : nullptr),
          x(algorithm.p_.copies_x ? arena.allocate<std::byte>(planes_without_repeats(c.in[0]).numel()) : nullptr),
          b(algorithm.p_.problem.convert_b ? arena.allocate<std::byte>(planes_without_repeats(c.in[1]).numel())
                                           : nullptr),
          bias(c.has_input(2) ? arena.allocate<std::int32_t>(algorithm.p_.problem.n) : nullptr) {}
    std::byte *scratch, *packed;  ///< packed: a weight of one plane
    std::byte *x, *b;             ///< dense copies of operands 0 and 1; null where kernels read the operands
    std::int32_t* bias;
  };

  IntegerProduct p_;
  bool threads_share_planes_;
  int8::Int8Linear linear_;
  std::shared_ptr<const std::byte> weight_;  ///< packed when prepared; null if each run packs it
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> prepare_integer_rows(const ProductProperties& p) {
  const auto integers = integer_product(p.call);
  if (!integers || !stores_result(*integers, p.call)) return nullptr;
  return std::make_unique<IntegerRows>(p.call, *integers);
}

}  // namespace tern::cpu
