// Products of integers of 8 bits by a weight that is packed: once where it is constant, otherwise plane by plane.
#include <fmt/format.h>

#include "kernels/cpu/dense.h"
#include "kernels/cpu/products/algorithms/integer_problem.h"
#include "kernels/cpu/products/int8/driver.h"
#include "kernels/cpu/products/packed_weight.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

constexpr std::size_t kPlaneSlot = 5;

int8::Int8LinearShape shape_of_integer_rows(const IntegerProduct& p) {
  return {p.problem.m, p.problem.n, p.problem.k, p.signs};
}

/// Many planes are one each for the threads; of few, the threads share each.
bool is_shared(const IntegerProduct& p) {
  const std::int64_t planes = p.problem.batch.planes;
  return planes == 1 || planes < 2 * Threads::current().count();
}

int8::Int8Linear linear_of(const IntegerProduct& p) {
  const int8::Method& method = int8::methods().front();
  if (is_shared(p)) return {shape_of_integer_rows(p), method};
  const ThreadScope alone(Threads(1));
  return {shape_of_integer_rows(p), method};
}

class IntegerRows : public PreparedAlgorithm {
 public:
  IntegerRows(const KernelCall& c, const IntegerProduct& p) : p_(p), shared_(is_shared(p)), linear_(linear_of(p)) {
    choice = {Algorithm::integer_rows};
    const bool constant = c.constant != nullptr && c.constant[1] && c.in[1].data != nullptr;
    if (!constant || p.problem.batch.planes != 1 || p.problem.convert_b) return;
    unread = 1u << 1;
    const int8::WeightView weight = p_.weight(c.in[1].data);
    const std::string key = fmt::format("integers in {}: {} of {}, {} apart", int8::methods().front().name, weight.n,
                                        weight.k, weight.element);
    weight_ = tiles::packed_weight(c, 1, key, linear_.packed_bytes(),
                                   [linear = linear_, weight](std::byte* to) { linear.pack(weight, to); });
  }

  void reserve(const KernelCall& c, ScratchParts& parts) const override { Room(*this, c, parts); }

  RemainingWork run(KernelCall& c, ScratchParts& parts, const pointwise::Epilogue* epilogue) const override {
    const Room room(*this, c, parts);
    const Problem& p = p_.problem;
    if (room.x != nullptr) to_dense(planes_without_repeats(with_rank(c.in[0], p.a.rank)), c.in[0].dtype, room.x);
    if (room.b != nullptr) to_dense(planes_without_repeats(with_rank(c.in[1], p.b.rank)), c.in[1].dtype, room.b);
    if (room.bias != nullptr) to_dense(c.in[2], DType::i32, room.bias);
    const std::byte *x = room.x != nullptr ? room.x : c.in[0].data, *b = room.b != nullptr ? room.b : c.in[1].data;
    const auto plane = [&](std::int64_t i, std::byte* packed, std::byte* scratch) {
      const Batch::Offsets at = p.batch.at(i);
      if (packed != nullptr) linear_.pack(p_.weight(b + at.b), packed);
      linear_.run({.x = x + at.a,
                   .x_row = p_.x_row(),
                   .weight = packed != nullptr ? packed : weight_.get(),
                   .bias = room.bias,
                   .y = c.out[0].data,
                   .keeps = p_.keeps,
                   .first = i * p.m,
                   .finish = {epilogue, &c}},
                  scratch);
    };
    if (shared_) {
      for (std::int64_t i = 0; i < p.batch.planes; ++i) plane(i, room.packed, room.scratch);
      return RemainingWork::nothing;
    }
    const auto packed = static_cast<std::size_t>(linear_.packed_bytes());
    parallel_for(p.batch.planes, grain_for(p.m * p.n * p.k), [&](std::int64_t begin, std::int64_t end) {
      auto* own = thread_buffer<std::byte>(packed + linear_.scratch(), kPlaneSlot);
      for (std::int64_t i = begin; i < end; ++i) plane(i, own, own + packed);
    });
    return RemainingWork::nothing;
  }

 private:
  struct Room {
    Room(const IntegerRows& of, const KernelCall& c, ScratchParts& parts)
        : scratch(of.shared_ ? parts.take<std::byte>(static_cast<std::int64_t>(of.linear_.scratch())) : nullptr),
          packed(of.shared_ && of.weight_ == nullptr ? parts.take<std::byte>(of.linear_.packed_bytes()) : nullptr),
          x(of.p_.copies_x ? parts.take<std::byte>(planes_without_repeats(c.in[0]).numel()) : nullptr),
          b(of.p_.problem.convert_b ? parts.take<std::byte>(planes_without_repeats(c.in[1]).numel()) : nullptr),
          bias(c.has(2) ? parts.take<std::int32_t>(of.p_.problem.n) : nullptr) {}
    std::byte *scratch, *packed, *x, *b;
    std::int32_t* bias;
  };

  IntegerProduct p_;
  bool shared_;  ///< threads share a plane
  int8::Int8Linear linear_;
  std::shared_ptr<const std::byte> weight_;  ///< null where it is packed in a run
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> prepare_integer_rows(const ProductProperties& p) {
  const auto integers = integer_product(p.call);
  if (!integers || !stores_result(*integers, p.call)) return nullptr;
  return std::make_unique<IntegerRows>(p.call, *integers);
}

}  // namespace tern::cpu
