#include <algorithm>
#include <vector>

#include "dtypes/byte_integers.h"
#include "exporter/passes/passes.h"
#include "exporter/rewrite.h"
#include "schema/def_use.h"
#include "schema/passes/dead_code.h"

namespace tern {
namespace {

class FloatSumRewrite {
 public:
  explicit FloatSumRewrite(Function& f) : f_(f), def_use_(f) {}

  void run() {
    for (Node& n : f_.nodes) {
      if (n.op != Op::matmul && n.op != Op::convolution) continue;
      if (!is_byte(n.inputs[0]) || !is_byte(n.inputs[1]) || type(n.outputs[0]).dtype != DType::i32 ||
          (n.inputs.size() > 2 && n.inputs[2] != kNoValue))
        continue;
      std::vector<ValueId> values;
      if (!read_as_floats(n.outputs[0], values)) continue;
      n.set(AttrKey::dtype, Dims{static_cast<std::int64_t>(DType::f32)});
      for (ValueId v : values) make_float(v);
    }
  }

 private:
  TensorType& type(ValueId v) { return f_.values[static_cast<std::size_t>(v)].type; }
  bool is_byte(ValueId v) { return is_byte_integer(type(v).dtype); }

  /// Adds v and its views to `values`. Results of the function keep their types.
  bool read_as_floats(ValueId v, std::vector<ValueId>& values) {
    values.push_back(v);
    return def_use_.result_count(v) == 0 && std::ranges::all_of(def_use_.readers(v), [&](const ValueReader& r) {
             const Node& n = f_.nodes[r.node];
             if (n.op == Op::reshape || n.op == Op::permute) return read_as_floats(n.outputs[0], values);
             return n.op == Op::pointwise && converts(n, v);
           });
  }

  static bool loads(const Node& n, const Instruction& i, ValueId v) {
    return i.op == Scalar::load && n.inputs[static_cast<std::size_t>(i.integer)] == v;
  }

  /// True if the node only converts the elements of `v` to float32.
  static bool converts(const Node& n, ValueId v) {
    const std::vector<Instruction>& code = n.expr.code;
    for (std::size_t l = 0; l < code.size(); ++l) {
      if (!loads(n, code[l], v)) continue;
      if (l + 1 == code.size()) return false;
      // The conversion is the whole expression, or an operand of further instructions.
      if (code.back().op == Scalar::convert && code.back().a == l && code.size() > 2) return false;
      for (const Instruction& i : code) {
        const int operands = scalar_info(i.op).operands;
        const bool reads_sum = (operands > 0 && i.a == l) || (operands > 1 && i.b == l) || (operands > 2 && i.c == l);
        if (reads_sum && !(i.op == Scalar::convert && i.dtype == DType::f32)) return false;
      }
    }
    return true;
  }

  void make_float(ValueId v) {
    type(v).dtype = DType::f32;
    for (const ValueReader& r : def_use_.readers(v)) {
      Node& n = f_.nodes[r.node];
      if (n.op == Op::pointwise) read_float(n, v);
    }
  }

  /// Loads `v` as float32, and drops the conversions of the load.
  void read_float(Node& n, ValueId v) {
    std::vector<Instruction>& code = n.expr.code;
    std::vector<std::uint16_t> new_index(code.size());
    std::vector<Instruction> retained;
    for (std::size_t index = 0; index < code.size(); ++index) {
      Instruction i = code[index];
      const int operands = scalar_info(i.op).operands;
      if (i.op == Scalar::convert && loads(n, code[i.a], v)) {
        new_index[index] = new_index[i.a];
        continue;
      }
      if (loads(n, i, v)) i.dtype = DType::f32;
      if (operands > 0) i.a = new_index[i.a];
      if (operands > 1) i.b = new_index[i.b];
      if (operands > 2) i.c = new_index[i.c];
      new_index[index] = static_cast<std::uint16_t>(retained.size());
      retained.push_back(i);
    }
    code = std::move(retained);
    if (code.size() == 1) use_instead(f_, n.outputs[0], v);
  }

  Function& f_;
  const DefUse def_use_;
};

}  // namespace

void take_float_sums(Program& program) {
  for (Function& f : program.functions) FloatSumRewrite(f).run();
  remove_dead_code(program);
}

}  // namespace tern
