#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "dtypes/convert.h"
#include "exporter/builder.h"
#include "exporter/constants.h"
#include "exporter/passes/passes.h"
#include "schema/def_use.h"
#include "schema/node_precision.h"
#include "schema/op_record.h"
#include "schema/passes/dead_code.h"

namespace tern {
namespace {

constexpr std::int64_t kNarrowWeightsLeast = 16;  // rows and columns: smaller matrices save too little for a rounding

bool is_large_matrix_weights(const TensorType& t) {
  if (t.rank() < 2 || !std::ranges::all_of(t.shape, &Dim::is_const)) return false;
  const auto r = static_cast<std::size_t>(t.rank());
  return t.shape[r - 2].value() >= kNarrowWeightsLeast && t.shape[r - 1].value() >= kNarrowWeightsLeast;
}

/// Kinds of readers of a value or its views.
struct ReaderKinds {
  bool has_products = false, has_other_readers = false;
};

ReaderKinds reader_kinds(const Function& f, const DefUse& def_use, ValueId v) {
  ReaderKinds kinds{false, def_use.result_count(v) > 0};
  for (const ValueReader& r : def_use.readers(v)) {
    const Node& n = f.nodes[r.node];
    const bool is_kept = noted_precision(n) == Precision::exported;
    if (n.op == Op::matmul && r.operand == 1 && !is_kept &&
        f.values[static_cast<std::size_t>(n.inputs[0])].type.dtype == DType::f32) {
      kinds.has_products = true;
    } else if (is_view(n.op) && r.operand == 0) {
      const ReaderKinds further = reader_kinds(f, def_use, n.outputs[0]);
      kinds.has_products |= further.has_products;
      kinds.has_other_readers |= further.has_other_readers;
    } else if (n.op != Op::index_select || r.operand != 0) {
      kinds.has_other_readers = true;
    }
  }
  return kinds;
}

/// True if the state is a matrix that fills its storage, and all its readers take narrow weights. Sets `products` if a
/// product reads the state.
bool may_be_narrow(const Program& program, const std::vector<DefUse>& def_uses, std::uint32_t state, bool* products) {
  const State& s = program.states[state];
  std::uint64_t size = 0;
  if (s.is_mutable || s.type.dtype != DType::f32 || s.type.quantized() || s.offset != 0 ||
      !is_large_matrix_weights(s.type) || !byte_size(s.type, &size) || program.storages[s.storage].size != size)
    return false;
  for (std::size_t i = 0; i < program.functions.size(); ++i) {
    const Function& f = program.functions[i];
    for (const FunctionInput& input : f.inputs) {
      if (input.kind != FunctionInput::Kind::state || input.state != state || input.value == kNoValue) continue;
      const ReaderKinds kinds = reader_kinds(f, def_uses[i], input.value);
      if (kinds.has_other_readers) return false;
      *products |= kinds.has_products;
    }
  }
  return true;
}

/// The states of a storage, if all may be narrow and a product reads one: tied weights share a storage.
std::vector<std::uint32_t> narrow_states(const Program& program, const std::vector<DefUse>& def_uses,
                                         std::uint32_t storage) {
  std::vector<std::uint32_t> states;
  bool products = false;
  for (std::uint32_t s = 0; s < program.states.size(); ++s) {
    if (program.states[s].storage != storage) continue;
    if (!may_be_narrow(program, def_uses, s, &products)) return {};
    states.push_back(s);
  }
  return products ? states : std::vector<std::uint32_t>();
}

/// Gives `v` and its views the type `dtype`; converts rows that an embedding selects back to float32.
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
    for (const FunctionInput& input : program.functions[f].inputs) {
      if (input.kind == FunctionInput::Kind::state && input.state == state && input.value != kNoValue)
        values.push_back(input.value);
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
      fail(ErrorCode::invalid_argument, fmt::format("weight '{}' contains {}, which is out of range for float16 (at "
                                                    "most 65504): export with --precision bfloat16",
                                                    name, v));
    }
  }
  return result;
}

}  // namespace

std::size_t narrow_weights(Program& program, DType dtype) {
  std::vector<DefUse> def_uses;
  for (const Function& f : program.functions) def_uses.emplace_back(f);
  std::map<std::uint32_t, std::vector<std::uint32_t>> narrow_states_of;  // states by storage
  for (std::uint32_t storage = 0; storage < program.storages.size(); ++storage) {
    std::vector<std::uint32_t> states = narrow_states(program, def_uses, storage);
    if (!states.empty()) narrow_states_of.emplace(storage, std::move(states));
  }
  for (const auto& [storage, states] : narrow_states_of) {
    for (const std::uint32_t s : states) {
      retype_state(program, s, dtype);
      program.states[s].type.dtype = dtype;
    }
    extendable_source(program).replace(
        storage, [dtype, name = program.states[states[0]].name](std::span<const std::byte> old_bytes) {
          return narrowed(old_bytes, dtype, name);
        });
    program.storages[storage].size /= 2;
  }
  if (!narrow_states_of.empty()) remove_dead_code(program);  // renumbers values: casts left some without a definition
  return narrow_states_of.size();
}

}  // namespace tern
