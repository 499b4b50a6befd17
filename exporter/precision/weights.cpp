#include "exporter/precision/weights.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "dtypes/convert.h"
#include "exporter/builder.h"
#include "exporter/constants.h"
#include "schema/node_precision.h"
#include "schema/op_record.h"
#include "schema/passes/dead_code.h"

namespace tern {
namespace {

constexpr std::int64_t kLeast = 16;  // rows and columns: smaller matrices are not worth a rounding

bool is_large_matrix(const TensorType& t) {
  if (t.rank() < 2 || !std::ranges::all_of(t.shape, &Dim::is_const)) return false;
  const auto r = static_cast<std::size_t>(t.rank());
  return t.shape[r - 2].value() >= kLeast && t.shape[r - 1].value() >= kLeast;
}

/// Kinds of readers of a value.
struct Readers {
  bool products = false, others = false;
};

Readers readers(const Function& f, ValueId v) {
  Readers r;
  for (const Node& n : f.nodes) {
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.inputs[i] != v) continue;
      const bool kept = noted_precision(n) == Precision::exported;
      if (n.op == Op::matmul && i == 1 && !kept &&
          f.values[static_cast<std::size_t>(n.inputs[0])].type.dtype == DType::f32) {
        r.products = true;
      } else if (is_view(n.op) && i == 0) {
        const Readers further = readers(f, n.outputs[0]);
        r.products |= further.products;
        r.others |= further.others;
      } else if (n.op != Op::index_select || i != 0) {
        r.others = true;
      }
    }
  }
  const auto is = [&](ValueId w) { return w == v; };
  r.others |= std::ranges::any_of(f.outputs, is, &FunctionOutput::value) ||
              std::ranges::any_of(f.writebacks, is, &WriteBack::value);
  return r;
}

/// True if the state may be narrow: a matrix filling the storage. Sets `products` if a product reads it.
bool may_be_narrow(const Program& program, std::uint32_t state, bool* products) {
  const State& s = program.states[state];
  std::uint64_t size = 0;
  if (s.is_mutable || s.type.dtype != DType::f32 || s.type.quantized() || s.offset != 0 || !is_large_matrix(s.type) ||
      !byte_size(s.type, &size) || program.storages[s.storage].size != size)
    return false;
  for (const Function& f : program.functions) {
    for (const FunctionInput& in : f.inputs) {
      if (in.kind != FunctionInput::Kind::state || in.state != state || in.value == kNoValue) continue;
      const Readers r = readers(f, in.value);
      if (r.others) return false;
      *products |= r.products;
    }
  }
  return true;
}

/// States of a storage if all may be narrow and a product reads one: tied weights share the storage.
std::vector<std::uint32_t> narrow_states(const Program& program, std::uint32_t storage) {
  std::vector<std::uint32_t> states;
  bool products = false;
  for (std::uint32_t s = 0; s < program.states.size(); ++s) {
    if (program.states[s].storage != storage) continue;
    if (!may_be_narrow(program, s, &products)) return {};
    states.push_back(s);
  }
  return products ? states : std::vector<std::uint32_t>();
}

/// Retypes `v` and its views to `dtype`; rows taken by an embedding are widened to float32 afterwards.
void retype(Program& program, std::uint32_t function, ValueId v, DType dtype) {
  program.functions[function].values[static_cast<std::size_t>(v)].type.dtype = dtype;
  for (std::size_t i = 0; i < program.functions[function].nodes.size(); ++i) {
    Function& f = program.functions[function];
    if (f.nodes[i].inputs.empty() || f.nodes[i].inputs[0] != v) continue;
    const ValueId result = f.nodes[i].outputs[0];
    if (is_view(f.nodes[i].op)) {
      retype(program, function, result, dtype);
    } else if (f.nodes[i].op == Op::index_select) {
      Builder b(program, function);
      b.set_origin(f.nodes[i].origin, f.nodes[i].annotations);
      const ValueId rows = b.add_value({dtype, b.shape(result)});
      b.cast(rows, DType::f32);
      Function& g = b.function();
      g.nodes[i].outputs = {rows};
      Node cast = std::move(g.nodes.back());
      g.nodes.pop_back();
      cast.outputs = {result};
      g.nodes.insert(g.nodes.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(cast));
    }
  }
}

void retype_state(Program& program, std::uint32_t state, DType dtype) {
  for (std::uint32_t f = 0; f < program.functions.size(); ++f) {
    std::vector<ValueId> values;
    for (const FunctionInput& in : program.functions[f].inputs) {
      if (in.kind == FunctionInput::Kind::state && in.state == state && in.value != kNoValue)
        values.push_back(in.value);
    }
    for (const ValueId v : values) retype(program, f, v, dtype);
  }
}

std::vector<std::byte> narrowed(std::span<const std::byte> bytes, DType dtype, const std::string& name) {
  const std::size_t count = bytes.size() / sizeof(float);
  std::vector<std::byte> result(count * 2);
  convert(bytes.data(), DType::f32, result.data(), dtype, static_cast<std::int64_t>(count));
  if (dtype != DType::f16) return result;
  for (std::size_t i = 0; i < count; ++i) {
    float v = 0;
    std::memcpy(&v, bytes.data() + i * sizeof v, sizeof v);
    if (std::isfinite(v) && std::abs(v) >= 65520) {  // rounds to infinity
      fail(ErrorCode::invalid_argument,
           fmt::format(
               "weight '{}' holds {}, which float16 cannot hold (at most 65504): export with --precision bfloat16",
               name, v));
    }
  }
  return result;
}

}  // namespace

std::size_t narrow_weights(Program& program, DType dtype) {
  std::size_t count = 0;
  for (std::uint32_t storage = 0; storage < program.storages.size(); ++storage) {
    const std::vector<std::uint32_t> states = narrow_states(program, storage);
    if (states.empty()) continue;
    ++count;
    for (const std::uint32_t s : states) {
      retype_state(program, s, dtype);
      program.states[s].type.dtype = dtype;
    }
    const std::string& name = program.states[states[0]].name;
    extendable_source(program).replace(
        storage, [dtype, name](std::span<const std::byte> before) { return narrowed(before, dtype, name); });
    program.storages[storage].size /= 2;
  }
  if (count > 0) remove_dead_code(program);  // renumbers values without the removed casts
  return count;
}

}  // namespace tern
