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
const T& get(const Node& node, AttrKey key, const char* kind) {
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
  return get<Dims>(*this, key, "a list of integers");
}
const std::vector<double>& Node::numbers(AttrKey key) const {
  return get<std::vector<double>>(*this, key, "a list of numbers");
}
const std::string& Node::text(AttrKey key) const {
  return get<std::string>(*this, key, "a text");
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

bool byte_size(const TensorType& type, std::uint64_t* bytes) {
  std::uint64_t n = 1;
  bool empty = false;
  for (Dim d : type.shape) {
    if (!d.is_const() || d.value() < 0) return false;
    empty = empty || d.value() == 0;
    if (d.value() != 0 && __builtin_mul_overflow(n, static_cast<std::uint64_t>(d.value()), &n)) return false;
  }
  if (n > (std::uint64_t{1} << 62)) return false;  // strides of an empty tensor are products of sizes as well
  if (empty) n = 0;
  std::uint64_t scales = 0;
  if (type.block > 0) {
    if (type.shape.empty()) return false;
    const std::int64_t columns = type.shape.back().value(), per_row = (columns + type.block - 1) / type.block;
    const std::uint64_t rows = columns == 0 ? 0 : n / static_cast<std::uint64_t>(columns);
    if (type.layout == ScaleLayout::plain) {
      if (__builtin_mul_overflow(rows, static_cast<std::uint64_t>(per_row), &scales)) return false;
    } else {
      const std::uint64_t r = (rows + 127) / 128 * 128, c = (static_cast<std::uint64_t>(per_row) + 3) / 4 * 4;
      if (__builtin_mul_overflow(r, c, &scales)) return false;
    }
  }
  const auto per = static_cast<std::uint64_t>(elements_per_byte(type.dtype));
  n = (n + per - 1) / per;
  if (__builtin_mul_overflow(n, static_cast<std::uint64_t>(element_size(type.dtype)), &n)) return false;
  if (__builtin_add_overflow(n, scales, &n) || n > (std::uint64_t{1} << 62)) return false;
  *bytes = n;
  return true;
}

std::string text_of(const TensorType& type, const ExprPool& pool) {
  std::string s(name_of(type.dtype));
  if (type.block > 0) s = fmt::format("mx{}({})", type.block, s);
  s += "[";
  for (std::size_t i = 0; i < type.shape.size(); ++i) s += (i == 0 ? "" : ", ") + pool.text(type.shape[i]);
  return s + "]";
}

std::string describe(const Program& program, const Function& function, std::size_t node) {
  if (node >= function.nodes.size()) return fmt::format("function '{}'", function.name);  // a copy in one without nodes
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
