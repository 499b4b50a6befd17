#include "tools/conform/widen.h"

#include <set>

#include "dtypes/convert.h"
#include "exporter/constants.h"

namespace tern {
namespace {

std::vector<std::byte> widened_bytes(std::span<const std::byte> bytes, DType from) {
  const std::int64_t count = static_cast<std::int64_t>(bytes.size()) / element_size(from);
  std::vector<std::byte> wide(static_cast<std::size_t>(run_bytes(widened(from), count)));
  convert(bytes.data(), from, wide.data(), widened(from), count);
  return wide;
}

void widen_states(Program& program) {
  ExtendableSource& source = extendable_source(program);
  std::set<std::uint32_t> done;
  for (State& s : program.states) {
    const DType from = s.type.dtype;
    s.type.dtype = widened(from);
    if (from == s.type.dtype || !done.insert(s.storage).second) continue;
    source.replace(s.storage, [from](std::span<const std::byte> bytes) { return widened_bytes(bytes, from); });
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
