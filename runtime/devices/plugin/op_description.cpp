#include "runtime/devices/plugin/op_description.h"

#include <algorithm>

#include "schema/op_record.h"

namespace tern {

tern_device_tensor tensor_of(const TensorView& v, bool with_address) {
  tern_device_tensor t{};
  if (v.dtype == DType::invalid) return t;
  t.data = with_address ? reinterpret_cast<tern_device_address>(v.data) : 0;
  t.dtype = static_cast<std::int32_t>(v.dtype);
  t.rank = v.rank;
  static_assert(kMaxRank <= TERN_DEVICE_MAX_RANK);
  std::copy_n(v.sizes.begin(), v.rank, t.sizes);
  std::copy_n(v.strides.begin(), v.rank, t.strides);
  return t;
}

namespace {

tern_device_instruction instruction_of(const Instruction& i) {
  const ScalarInfo& info = scalar_info(i.op);
  tern_device_instruction t{};
  t.name = info.name.data();  // zero-terminated: a literal of a table
  t.dtype = static_cast<std::int32_t>(i.dtype);
  const std::uint16_t operands[] = {i.a, i.b, i.c};
  for (int k = 0; k < 3; ++k) t.operands[k] = k < info.operands ? operands[k] : -1;
  t.integer = i.integer;
  t.number = i.number;
  t.imaginary = i.imaginary;
  return t;
}

}  // namespace

OpDescription::OpDescription(const Node& node, std::span<const TensorView> in, std::span<const TensorView> out) {
  const OpRecord& info = op_record(node.op);
  op_.size = sizeof op_;
  op_.version = static_cast<std::uint32_t>(info.version);
  op_.name = info.name.data();  // zero-terminated: a literal of a table
  for (const Attr& a : node.attrs) add(a);
  for (const TensorView& v : in) {
    if (v.blocks.columns == 0) continue;
    add({AttrKey::block, Dims{Dim(v.blocks.columns)}});
    add({AttrKey::layout, Dims{Dim(static_cast<std::int64_t>(v.blocks.layout))}});
    break;
  }
  for (const Instruction& i : node.expr.code) instructions_.push_back(instruction_of(i));
  tensors_.resize(in.size() + out.size());
  op_.input_count = static_cast<std::int32_t>(in.size());
  op_.output_count = static_cast<std::int32_t>(out.size());
  op_.attribute_count = static_cast<std::int32_t>(attributes_.size());
  op_.inputs = tensors_.data();
  op_.outputs = tensors_.data() + in.size();
  op_.attributes = attributes_.data();
  op_.instructions = instructions_.empty() ? nullptr : instructions_.data();
  op_.instruction_count = static_cast<std::int64_t>(instructions_.size());
  fill(in, out, false);
}

void OpDescription::fill(std::span<const TensorView> in, std::span<const TensorView> out, bool with_addresses) {
  std::size_t k = 0;
  for (const TensorView& v : in) tensors_[k++] = tensor_of(v, with_addresses);
  for (const TensorView& v : out) tensors_[k++] = tensor_of(v, with_addresses);
}

void OpDescription::add(const Attr& a) {
  tern_device_attribute t{};
  t.name = attr_name(a.key).data();
  if (const auto* dims = std::get_if<Dims>(&a.data)) {
    std::vector<std::int64_t>& values = integers_.emplace_back();
    for (Dim d : *dims) values.push_back(d.value());
    t.kind = TERN_ATTRIBUTE_INTEGERS;
    t.count = static_cast<std::int32_t>(values.size());
    t.integers = values.data();
  } else if (const auto* numbers = std::get_if<std::vector<double>>(&a.data)) {
    t.kind = TERN_ATTRIBUTE_NUMBERS;
    t.count = static_cast<std::int32_t>(numbers->size());
    t.numbers = numbers->data();
  } else if (const auto* text = std::get_if<std::string>(&a.data)) {
    t.kind = TERN_ATTRIBUTE_TEXT;
    t.count = static_cast<std::int32_t>(text->size());
    t.text = text->c_str();
  } else {
    return;
  }
  attributes_.push_back(t);
}

}  // namespace tern
