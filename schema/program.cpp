#include "schema/program.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "schema/op_record.h"

namespace tern {

const AttrData* Node::find(AttrKey key) const {
  for (const Attr& a : attrs) {
    if (a.key == key) return &a.data;
  }
  return nullptr;
}

namespace {

template <class T>
const T& attribute_value(const Node& node, AttrKey key, const char* kind) {
  static const T empty{};
  const AttrData* data = node.find(key);
  if (data == nullptr) return empty;
  const T* value = std::get_if<T>(data);
  if (value == nullptr) {
    fail(ErrorCode::bad_file, fmt::format("{}: attribute '{}' is not {}", op_name(node.op), attr_name(key), kind));
  }
  return *value;
}

std::int64_t default_integer(Op op, AttrKey key) {
  const AttrRecord* record = find_attribute(op, key);
  return record == nullptr ? 0 : record->integer;
}

}  // namespace

const Dims& Node::dims(AttrKey key) const {
  return attribute_value<Dims>(*this, key, "a list of integers");
}
const std::vector<double>& Node::numbers(AttrKey key) const {
  return attribute_value<std::vector<double>>(*this, key, "a list of numbers");
}
const std::string& Node::text(AttrKey key) const {
  return attribute_value<std::string>(*this, key, "a text");
}

Dim Node::dim(AttrKey key) const {
  const Dims& d = dims(key);
  if (d.empty()) return default_integer(op, key);
  if (d.size() != 1) {
    fail(ErrorCode::bad_file,
         fmt::format("{}: attribute '{}' has {} values, not one", op_name(op), attr_name(key), d.size()));
  }
  return d[0];
}

std::int64_t Node::integer(AttrKey key) const {
  const Dim d = dim(key);
  if (!d.is_const()) {
    fail(ErrorCode::bad_file, fmt::format("{}: attribute '{}' must be a constant", op_name(op), attr_name(key)));
  }
  return d.value();
}

std::int64_t Node::integer_at(AttrKey key, std::size_t i) const {
  const Dims& d = dims(key);
  return i < d.size() ? d[i].value() : default_integer(op, key);
}

double Node::number_at(AttrKey key, std::size_t i) const {
  const std::vector<double>& n = numbers(key);
  if (i < n.size()) return n[i];
  const AttrRecord* record = find_attribute(op, key);
  return record == nullptr ? 0 : record->number;
}

void Node::set(AttrKey key, AttrData data) {
  for (Attr& a : attrs) {
    if (a.key == key) {
      a.data = std::move(data);
      return;
    }
  }
  attrs.push_back({key, std::move(data)});
}

int Program::find_entry(const std::string& name) const {
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (functions[i].entry && functions[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

const std::string* Program::find_metadata(const std::string& key) const {
  for (const auto& [k, v] : metadata) {
    if (k == key) return &v;
  }
  return nullptr;
}

namespace {

/// Size of a value with `count` elements.
bool quantized_size(const TensorType& type, std::uint64_t count, std::uint64_t* bytes) {
  // Padding of blocks, scale tiles and alignment adds less than 128 rows of four blocks.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 58;
  if (type.shape.empty() || type.blocks.columns < 1 || type.blocks.rows < 1 || count > kMost) return false;
  const auto columns = static_cast<std::uint64_t>(type.shape.back().value());
  if (columns > kMost / 128) return false;
  *bytes = static_cast<std::uint64_t>(quantized_matrix(type).bytes());
  return true;
}

/// "mx32(float8_e4m3fn)", "blocks(int4, 1x32, float32 scales, int8 zero points)", "2:4(bfloat16)",
/// "blocks(uint8 in 4 bits, 1x32, uint8 scales, uint8 zero points added, super-blocks of 256)".
std::string text_of(const Blocks& b, const std::string& element) {
  if (b.sparse()) return fmt::format("{}:{}({})", b.kept, b.columns, element);
  if (b.scale == DType::f8_e8m0 && b.rows == 1 && b.zero_point == ZeroPoint::none && !b.outer)
    return fmt::format("mx{}({})", b.columns, element);
  const std::string bits = b.bits == 0 ? "" : fmt::format(" in {} bits", b.bits);
  std::string s = fmt::format("blocks({}{}, {}x{}, {} scales", element, bits, b.rows, b.columns, name_of(b.scale));
  if (b.outer) s += " with an outer one";
  if (b.zero_point != ZeroPoint::none)
    s += fmt::format(", {} zero points{}", name_of(b.zero), b.zero_point == ZeroPoint::added ? " added" : "");
  if (b.super()) s += fmt::format(", super-blocks of {}", b.super_columns);
  return s + ")";
}

}  // namespace

bool byte_size(const TensorType& type, std::uint64_t* bytes) {
  std::uint64_t n = 1;
  bool empty = false;
  for (Dim d : type.shape) {
    if (!d.is_const() || d.value() < 0) return false;
    empty = empty || d.value() == 0;
    if (d.value() != 0 && __builtin_mul_overflow(n, static_cast<std::uint64_t>(d.value()), &n)) return false;
  }
  if (n > (std::uint64_t{1} << 62)) return false;  // strides of empty tensors are products of sizes as well
  if (empty) n = 0;
  if (type.quantized()) return quantized_size(type, n, bytes);
  const auto per = static_cast<std::uint64_t>(elements_per_byte(type.dtype));
  n = (n + per - 1) / per;
  if (__builtin_mul_overflow(n, static_cast<std::uint64_t>(element_size(type.dtype)), &n)) return false;
  if (n > (std::uint64_t{1} << 62)) return false;
  *bytes = n;
  return true;
}

QuantizedMatrix quantized_matrix(const TensorType& type) {
  QuantizedMatrix m{type.dtype, 1, type.shape.back().value(), type.blocks};
  for (std::size_t i = 0; i + 1 < type.shape.size(); ++i) m.rows *= type.shape[i].value();
  return m;
}

std::string text_of(const TensorType& type, const ExprPool& pool) {
  std::string s(name_of(type.dtype));
  if (type.quantized()) s = text_of(type.blocks, s);
  s += "[";
  for (std::size_t i = 0; i < type.shape.size(); ++i) s += (i == 0 ? "" : ", ") + pool.text(type.shape[i]);
  return s + "]";
}

std::string describe(const Program& program, const Function& function, std::size_t node) {
  if (node >= function.nodes.size()) return fmt::format("function '{}'", function.name);  // a copy without a node
  const Node& n = function.nodes[node];
  std::string s = fmt::format("node {} of '{}' ({}", node, function.name, op_name(n.op));
  if (n.origin >= 0 && static_cast<std::size_t>(n.origin) < program.origins.size()) {
    const Origin& o = program.origins[static_cast<std::size_t>(n.origin)];
    if (!o.op.empty()) s += ", from " + o.op;
    if (!o.module.empty()) s += " in " + o.module;
    if (!o.source.empty()) s += ", " + o.source;
  }
  return s + ")";
}

}  // namespace tern
