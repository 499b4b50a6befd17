// A maker for ops without their own: the samples of the op's definition, with other sizes, types and settings.
#include "fuzz/ops/sampled.h"

#include "kernels/generate/samples.h"
#include "kernels/portable/definitions.h"
#include "schema/op_record.h"

namespace tern::fuzz {
namespace {

std::vector<generate::Sample> samples_of(Op op) {
  std::vector<generate::Sample> all;
  for (std::string_view line : portable::definitions().compiled[static_cast<std::size_t>(op)].samples) {
    for (generate::Sample& s : generate::read_samples(op, line)) all.push_back(std::move(s));
  }
  return all;
}

/// Another value within the record's known limits.
void vary(Make& m, const AttrRecord& r) {
  switch (r.type) {
    case AttrType::boolean: m.set(r.key, m.in(0, 1)); break;
    case AttrType::enumeration: m.set(r.key, m.in(0, static_cast<std::int64_t>(r.names.size()) - 1)); break;
    case AttrType::number: m.numbers(r.key, {m.number()}); break;
    case AttrType::dims:
    case AttrType::integers: {
      Sizes values;
      for (Dim d : m.node.dims(r.key)) values.push_back(m.chance(50) && d.is_const() ? d.value() : m.in(1, 6));
      if (!values.empty()) m.set(r.key, values);
      break;
    }
    default: break;
  }
}

}  // namespace

bool is_sampled(Op op) {
  return portable::is_compiled(op);
}

void make_sampled(Make& m) {
  const auto samples = samples_of(m.node.op);
  const auto& s = samples[static_cast<std::size_t>(m.in(0, static_cast<std::int64_t>(samples.size()) - 1))];
  const bool other_type = m.chance(60);
  const DType from = s.inputs.empty() ? DType::invalid : s.inputs[0].dtype, to = m.floating();
  for (const generate::SampleOperand& o : s.inputs) {
    if (o.dtype == DType::invalid) {
      m.absent();
      continue;
    }
    Sizes sizes = o.sizes;
    for (std::int64_t& size : sizes) size = m.chance(20) ? m.in(0, 6) : size;
    m.operand(other_type && o.dtype == from && is_floating(from) ? to : o.dtype, sizes);
  }
  m.node.attrs = s.attrs;
  for (const AttrRecord& r : op_record(m.node.op).attributes) {
    if (m.chance(30)) vary(m, r);
  }
}

}  // namespace tern::fuzz
