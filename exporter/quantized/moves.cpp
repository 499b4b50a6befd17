#include "exporter/quantized/moves.h"

#include <tern/error.h>
#include <tern/tensor.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "dtypes/byte_integers.h"
#include "exporter/builder.h"
#include "exporter/constant_part.h"
#include "exporter/rewrite.h"
#include "schema/passes/dead_code.h"
#include "schema/window_kinds.h"

namespace tern {
namespace {

/// Every integer of a byte.
constexpr std::int64_t kCodes = 256;

/// True for functions of one operand and the expression's own constants.
bool is_map(const Node& n) {
  return n.op == Op::pointwise && n.inputs.size() == 1 && n.outputs.size() == 1 && !n.has(AttrKey::sizes) &&
         std::ranges::none_of(n.expr.code, [](const Instruction& i) { return i.op == Scalar::index; });
}

/// True if the result consists of operand elements selected by their order alone.
bool keeps_elements(const Node& n) {
  switch (n.op) {
    case Op::reshape:
    case Op::permute:
    case Op::slice:
    case Op::expand:
    case Op::concat: return true;
    case Op::pool:
      return static_cast<PoolKind>(n.integer(AttrKey::kind)) == PoolKind::max &&
             (n.outputs.size() < 2 || n.outputs[1] == kNoValue);
    default: return false;
  }
}

class Moves {
 public:
  Moves(Program& program, std::uint32_t function) : program_(program), function_(function) {}

  bool run() {
    producers_ = producers(f());
    readers_.assign(f().values.size(), 0);
    for (const Node& n : f().nodes) {
      for (ValueId v : n.inputs) {
        if (v != kNoValue) ++readers_[static_cast<std::size_t>(v)];
      }
    }
    for (const FunctionOutput& o : f().outputs) read_outside(o.value);
    for (const WriteBack& w : f().writebacks) read_outside(w.value);
    bool changed = false;
    for (std::size_t i = 0; i < f().nodes.size(); ++i) changed = keep(i) || changed;
    return changed;
  }

 private:
  Function& f() { return program_.functions[function_]; }
  const TensorType& type(ValueId v) { return f().values[static_cast<std::size_t>(v)].type; }
  void read_outside(ValueId v) {
    if (v != kNoValue) readers_[static_cast<std::size_t>(v)] += 2;
  }

  /// Handles node `i`, the quantization of a selection from widened integers.
  bool keep(std::size_t i) {
    const Node quantizes = f().nodes[i];
    if (!is_map(quantizes) || !is_byte_integer(type(quantizes.outputs[0]).dtype)) return false;
    const ValueId numbers = quantizes.inputs[0];
    const std::int64_t at = producers_[static_cast<std::size_t>(numbers)];
    if (at < 0 || readers_[static_cast<std::size_t>(numbers)] != 1) return false;
    const Node& chooses = f().nodes[static_cast<std::size_t>(at)];
    if (!keeps_elements(chooses) || chooses.outputs[0] != numbers) return false;
    std::vector<ValueId> integers;
    for (ValueId v : chooses.inputs) {
      const std::int64_t from = v == kNoValue ? -1 : producers_[static_cast<std::size_t>(v)];
      if (from < 0) return false;
      const Node& widens = f().nodes[static_cast<std::size_t>(from)];
      if (!is_map(widens) || type(widens.inputs[0]).dtype != type(quantizes.outputs[0]).dtype ||
          type(widens.inputs[0]).shape != type(v).shape || !knows_inverse(widens, quantizes))
        return false;
      integers.push_back(widens.inputs[0]);
    }
    Node& made = f().nodes[i];  // selects from the integers directly
    made = f().nodes[static_cast<std::size_t>(at)];
    made.inputs = std::move(integers);
    made.outputs[0] = quantizes.outputs[0];
    return true;
  }

  bool knows_inverse(const Node& widens, const Node& quantizes) {
    const Pair pair{widens.expr.code, quantizes.expr.code};
    const auto known = std::ranges::find(known_, pair, &std::pair<Pair, bool>::first);
    if (known != known_.end()) return known->second;
    known_.emplace_back(pair, are_inverse(widens, quantizes));
    return known_.back().second;
  }
  /// True if the numbers ascend with the integers, and quantizing returns the integers.
  bool are_inverse(const Node& widens, const Node& quantizes) {
    Program p;
    p.metadata = program_.metadata;
    p.functions.emplace_back().name = "forward";
    p.functions[0].entry = true;
    Builder b(p, 0);
    const DType dtype = type(widens.inputs[0]).dtype;
    const int least = dtype == DType::u8 ? 0 : -128;
    const ValueId codes = b.expr("x", {{"x", b.iota(kCodes, DType::i64, least, 1)}}, DType::i64, dtype);
    const auto apply = [&](const Node& from, ValueId to) {
      Node n;
      n.op = Op::pointwise;
      n.expr = from.expr;
      n.inputs = {to};
      return b.add(std::move(n)).front();
    };
    const ValueId numbers = apply(widens, codes), back = apply(quantizes, numbers);
    if (b.dtype(numbers) != DType::f32) return false;
    const ConstantPart part(p, p.functions[0]);
    bool ascend = false, same = false;
    try {
      part.evaluate(numbers, part.slice(numbers), [&](const Tensor& value) {
        const auto span = value.span<const float>();
        ascend = std::ranges::adjacent_find(span, std::greater_equal<>()) == span.end();
      });
      part.evaluate(back, part.slice(back), [&](const Tensor& value) {
        same = is_every_code(static_cast<const std::uint8_t*>(value.data()), least);
      });
    } catch (const Error&) {
      return false;  // a run reports the error
    }
    return ascend && same;
  }
  static bool is_every_code(const std::uint8_t* codes, int least) {
    for (int i = 0; i < kCodes; ++i) {
      if (codes[i] != static_cast<std::uint8_t>(i + least)) return false;
    }
    return true;
  }

  Program& program_;
  std::uint32_t function_;
  std::vector<std::int64_t> producers_;
  std::vector<int> readers_;
  using Pair = std::pair<std::vector<Instruction>, std::vector<Instruction>>;
  std::vector<std::pair<Pair, bool>> known_;  ///< inverse test of expression pairs
};

}  // namespace

void keep_integers(Program& program) {
  bool changed = false;
  for (std::uint32_t f = 0; f < program.functions.size(); ++f) changed = Moves(program, f).run() || changed;
  if (changed) remove_dead_code(program);
}

}  // namespace tern
