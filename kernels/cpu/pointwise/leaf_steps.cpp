#include "kernels/cpu/pointwise/leaf_steps.h"

#include <algorithm>
#include <cmath>

#include "dtypes/byte_integers.h"

namespace tern::pointwise {
namespace {

/// Returns the operation with the chain's value as first operand, or as second.
std::optional<LeafOp> op_of(Scalar op, bool first) {
  switch (op) {
    case Scalar::add: return LeafOp::add;
    case Scalar::mul: return LeafOp::mul;
    case Scalar::sub: return first ? LeafOp::sub : LeafOp::sub_from;
    case Scalar::min: return first ? LeafOp::min : LeafOp::min_of;
    case Scalar::max: return first ? LeafOp::max : LeafOp::max_of;
    case Scalar::div: return first ? std::optional(LeafOp::div) : std::nullopt;
    default: return std::nullopt;
  }
}

class LeafStepReader {
 public:
  LeafStepReader(const KernelCall& call, const TileProgram& program)
      : call_(call), program_(program), code_(call.node->expr.code) {}

  LeafSteps steps(std::size_t at) const {
    // Walks from the last instruction backwards. A value read twice ends the chain.
    LeafSteps found;
    if (is_byte_integer(code_[at].dtype) && code_[at].op == Scalar::convert) at = code_[at].a;
    while (code_[at].dtype == DType::f32) {
      const Instruction& i = code_[at];
      LeafStep step{.op = LeafOp::round};
      bool first = i.op == Scalar::round;
      if (!first) {
        first = match(i, true, step);
        if (!first && !match(i, false, step)) break;
      }
      found.steps.push_back(step);
      at = first ? i.a : i.b;
    }
    std::ranges::reverse(found.steps);
    found.start = at;
    return found;
  }

 private:
  const Load& load_at(std::size_t i) const { return program_.loads[program_.instructions[i].load]; }

  bool match(const Instruction& i, bool first, LeafStep& step) const {
    const auto op = op_of(i.op, first);
    if (!op || !factors_at(first ? i.b : i.a, step)) return false;
    step.op = *op;
    return true;
  }
  /// Reads a leaf, or the product of two leaves.
  bool factors_at(std::size_t i, LeafStep& step) const {
    step = {};
    auto leaf = leaf_at(i);
    if (!leaf) leaf = bytes_at(i);
    if (!leaf && code_[i].op == Scalar::mul && code_[i].dtype == DType::f32) {
      leaf = leaf_at(code_[i].a);
      const auto times = leaf_at(code_[i].b);
      if (!times || !leaf) return false;
      step.times = *times;
    }
    if (leaf) step.leaf = *leaf;
    return leaf.has_value();
  }
  std::optional<Leaf> leaf_at(std::size_t at) const {
    const Instruction& i = code_[at];
    if (i.dtype != DType::f32) return std::nullopt;
    if (i.op == Scalar::constant) return Leaf{.kind = Leaf::Kind::constant, .number = static_cast<float>(i.number)};
    return i.op == Scalar::load ? operand_at(at, DType::f32) : std::nullopt;
  }
  std::optional<Leaf> operand_at(std::size_t at, DType dtype) const {
    const Load& load = load_at(at);
    if (load.operand == kOwnResult) return std::nullopt;
    Leaf leaf{.dtype = dtype, .operand = static_cast<std::size_t>(load.operand)};
    if (call_.in[leaf.operand].dtype != dtype) return std::nullopt;
    if (load.linear) {
      leaf.kind = Leaf::Kind::element;
    } else if (load.uniform) {
      leaf.kind = Leaf::Kind::uniform;
    } else if (program_.rank == 2 && load.axis >= 0) {
      leaf.kind = load.axis == 0 ? Leaf::Kind::row : Leaf::Kind::column;
      leaf.stride = load.strides[static_cast<std::size_t>(load.axis)];
    } else {
      return std::nullopt;
    }
    return leaf.kind == Leaf::Kind::column && leaf.stride != 1 ? std::nullopt : std::optional(leaf);
  }
  std::optional<float> constant_at(std::size_t i) const {
    if (code_[i].op != Scalar::constant || code_[i].dtype != DType::f32) return std::nullopt;
    return static_cast<float>(code_[i].number);
  }
  /// Reads (float(x) - constant) * constant of 8-bit integers; either constant may be absent.
  std::optional<Leaf> bytes_at(std::size_t at) const {
    float less = 0, times = 1;
    if (code_[at].op == Scalar::mul) {
      const bool second = constant_at(code_[at].b).has_value();
      const auto factor = constant_at(second ? code_[at].b : code_[at].a);
      if (!factor) return std::nullopt;
      times = *factor;
      at = second ? code_[at].a : code_[at].b;
    }
    if (code_[at].op == Scalar::sub) {
      const auto constant = constant_at(code_[at].b);
      if (!constant) return std::nullopt;
      less = *constant;
      at = code_[at].a;
    }
    if (code_[at].op != Scalar::convert || code_[at].dtype != DType::f32) return std::nullopt;
    at = code_[at].a;
    if (code_[at].op != Scalar::load || !is_byte_integer(code_[at].dtype)) return std::nullopt;
    auto leaf = operand_at(at, code_[at].dtype);
    if (!leaf || leaf->kind != Leaf::Kind::element) return std::nullopt;
    leaf->less = less;
    leaf->times = times;
    return leaf;
  }

  const KernelCall& call_;
  const TileProgram& program_;
  const std::vector<Instruction>& code_;
};

}  // namespace

LeafSteps leaf_steps(const KernelCall& call, const TileProgram& program, std::size_t last) {
  if (program.rank > 2) return {{}, last};
  return LeafStepReader(call, program).steps(last);
}

bool is_start(const KernelCall& call, const TileProgram& program, std::size_t instruction) {
  const Instruction& i = call.node->expr.code[instruction];
  if (i.op != Scalar::load || i.dtype != DType::f32) return false;
  const Load& load = program.loads[program.instructions[instruction].load];
  return load.operand == kOwnResult || (call.node->op == Op::pointwise && load.linear);
}

std::optional<BlockStart> BlockStart::create(std::int64_t inner, std::int64_t begin, std::int64_t row_step,
                                             std::int64_t rows, std::int64_t columns) {
  BlockStart start{.begin = begin, .row_step = row_step, .inner = inner};
  if (inner == 0) return start;
  start.row = begin / inner;
  start.column = begin % inner;
  if (start.column + columns > inner || (rows > 1 && row_step % inner != 0)) return std::nullopt;
  return start;
}

LeafNumbers BlockStart::numbers(const KernelCall& call, const Leaf& leaf) const {
  const auto* data = leaf.kind == Leaf::Kind::constant ? &leaf.number : call.in[leaf.operand].data_as<const float>();
  switch (leaf.kind) {
    case Leaf::Kind::none: return {};
    case Leaf::Kind::constant:
    case Leaf::Kind::uniform: return {data, 0, 0};
    case Leaf::Kind::row: return {data + row * leaf.stride, row_step / inner * leaf.stride, 0};
    case Leaf::Kind::column: return {data + column, 0, 1};
    case Leaf::Kind::element: return {data + begin, row_step, 1};
  }
  return {};
}

}  // namespace tern::pointwise
