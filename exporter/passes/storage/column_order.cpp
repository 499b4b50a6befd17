#include <algorithm>
#include <cstring>

#include "exporter/constants.h"
#include "exporter/passes/passes.h"
#include "schema/def_use.h"

namespace tern {
namespace {

constexpr std::int64_t kColumnOrderLeast = 16;  // rows and columns
constexpr std::int64_t kTile = 32;

/// Marks states that products read as their second operand, and nothing else reads.
std::vector<bool> read_by_products(const Program& program) {
  std::vector<bool> is_weight(program.states.size()), has_other_reader(program.states.size());
  for (const Function& f : program.functions) {
    const DefUse def_use(f);
    for (const FunctionInput& input : f.inputs) {
      if (input.kind != FunctionInput::Kind::state) continue;
      for (const ValueReader& r : def_use.readers(input.value))
        (f.nodes[r.node].op == Op::matmul && r.operand == 1 ? is_weight : has_other_reader)[input.state] = true;
      if (def_use.result_count(input.value) > 0) has_other_reader[input.state] = true;
    }
  }
  for (std::size_t i = 0; i < is_weight.size(); ++i) is_weight[i] = is_weight[i] && !has_other_reader[i];
  return is_weight;
}

bool is_large_matrix(const TensorType& t) {
  return t.rank() == 2 && t.shape[0].value() >= kColumnOrderLeast && t.shape[1].value() >= kColumnOrderLeast;
}

/// True for types whose matrices products read fastest column by column.
bool prefers_columns(DType t) {
  return t == DType::f32 || (element_size(t) == 1 && t != DType::f4_e2m1 && t != DType::boolean);
}

template <std::size_t Size>
std::vector<std::byte> transposed(std::span<const std::byte> bytes, std::int64_t rows, std::int64_t columns) {
  std::vector<std::byte> result(bytes.size());
  const std::byte* source = bytes.data();
  std::byte* destination = result.data();
  for (std::int64_t i = 0; i < rows; i += kTile) {
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t r = i; r < std::min(rows, i + kTile); ++r)
        std::memcpy(destination + static_cast<std::size_t>(j * rows + r) * Size,
                    source + static_cast<std::size_t>(r * columns + j) * Size, Size);
    }
  }
  return result;
}

}  // namespace

void store_weights_by_columns(Program& program) {
  const std::vector<bool> candidates = read_by_products(program);
  for (std::size_t i = 0; i < program.states.size(); ++i) {
    State& s = program.states[i];
    if (!candidates[i] || !prefers_columns(s.type.dtype) || !is_own_storage(program, s) || !is_large_matrix(s.type))
      continue;
    const std::int64_t rows = s.type.shape[0].value(), columns = s.type.shape[1].value();
    extendable_source(program).replace(
        s.storage, [rows, columns, wide = s.type.dtype == DType::f32](std::span<const std::byte> old_bytes) {
          return wide ? transposed<4>(old_bytes, rows, columns) : transposed<1>(old_bytes, rows, columns);
        });
    s.strides = {1, rows};
  }
}

}  // namespace tern
