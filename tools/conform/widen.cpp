#include "tools/conform/widen.h"

#include <set>

#include "dtypes/convert.h"
#include "exporter/constants.h"

namespace tern {
namespace {

std::vector<std::byte> widened_bytes(std::span<const std::byte> bytes, DType original) {
  const std::int64_t count = static_cast<std::int64_t>(bytes.size()) / element_size(original);
  std::vector<std::byte> wide_bytes(static_cast<std::size_t>(run_bytes(widened(original), count)));
  convert(bytes.data(), original, wide_bytes.data(), widened(original), count);
  return wide_bytes;
}

void widen_states(Program& program) {
  ExtendableSource& source = extendable_source(program);
  std::set<std::uint32_t> widened_storages;
  for (State& s : program.states) {
    const DType original = s.type.dtype;
    s.type.dtype = widened(original);
    if (original == s.type.dtype || !widened_storages.insert(s.storage).second) continue;
    source.replace(s.storage, [original](std::span<const std::byte> bytes) { return widened_bytes(bytes, original); });
    program.storages[s.storage].size = source.bytes(s.storage).size();
  }
}

void widen_node(Node& node) {
  for (Instruction& i : node.expr.code) i.dtype = widened(i.dtype);
  for (Attr& a : node.attrs) {
    if (a.key != AttrKey::dtype || !std::holds_alternative<Dims>(a.data)) continue;
    for (Dim& d : std::get<Dims>(a.data)) {
      if (d.is_const()) d = Dim(static_cast<std::int64_t>(widened(static_cast<DType>(d.value()))));
    }
  }
}

}  // namespace

DType widened(DType dtype) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16:
    case DType::f32: return DType::f64;
    case DType::c32:
    case DType::c64: return DType::c128;
    default: return dtype;
  }
}

void widen(Program& program) {
  widen_states(program);
  for (Function& f : program.functions) {
    for (Value& v : f.values) v.type.dtype = widened(v.type.dtype);
    for (Node& n : f.nodes) widen_node(n);
  }
}

}  // namespace tern
