// Reading the arguments of a call.
#include <fmt/format.h>
#include <tern/error.h>

#include <cmath>

#include "exporter/lower/lower.h"

namespace tern {
namespace {

using OperandKind = Operand::Kind;

const char* text_of(OperandKind kind) {
  switch (kind) {
    case OperandKind::none: return "None";
    case OperandKind::tensor: return "a tensor";
    case OperandKind::integer: return "an integer";
    case OperandKind::number: return "a number";
    case OperandKind::boolean: return "a boolean";
    case OperandKind::complex: return "a complex number";
    case OperandKind::text: return "a text";
    case OperandKind::dtype: return "a dtype";
    case OperandKind::tensors: return "a list of tensors";
    case OperandKind::integers: return "a list of integers";
    case OperandKind::numbers: return "a list of numbers";
    case OperandKind::booleans: return "a list of booleans";
    case OperandKind::device: return "a device";
    case OperandKind::layout: return "a layout";
    case OperandKind::memory_format: return "a memory format";
  }
  return "of an unknown kind";
}

const Operand* find(const Call& c, ArgumentName name) {
  for (const auto& [n, operand] : c.args) {
    if (n == name.text()) return &operand;
  }
  return nullptr;
}

[[noreturn]] void wrong(const Call& c, ArgumentName name, const char* wanted) {
  fail(ErrorCode::unsupported, fmt::format("{}: argument '{}' is {}; only {} is supported", c.target, name.text(),
                                           text_of(c.arg(name).kind), wanted));
}

std::int64_t constant(const Call& c, ArgumentName name, Dim d) {
  if (d.is_const()) return d.value();
  fail(ErrorCode::unsupported, fmt::format("{}: argument '{}' is {}; only a constant is supported", c.target,
                                           name.text(), c.builder->pool().text(d)));
}

}  // namespace

const Operand& Call::arg(ArgumentName name) const {
  if (const Operand* o = find(*this, name)) return *o;
  fail(ErrorCode::bad_file, fmt::format("{} has no argument '{}'", target, name.text()));
}

bool Call::has(ArgumentName name) const {
  const Operand* o = find(*this, name);
  return o != nullptr && o->kind != OperandKind::none;
}

bool Call::is_tensor(ArgumentName name) const {
  return arg(name).kind == OperandKind::tensor;
}

ValueId Call::tensor(ArgumentName name) const {
  const Operand& o = arg(name);
  switch (o.kind) {
    case OperandKind::tensor: return o.value;
    case OperandKind::integer: return builder->from_dim(o.integer);
    case OperandKind::boolean: return builder->from_dim(o.integer, DType::boolean);
    case OperandKind::number: return builder->scalar(o.number, DType::f32);
    case OperandKind::complex: return builder->full({}, {o.number, o.imaginary}, DType::c64);
    default: wrong(*this, name, "a tensor or a number");
  }
}

ValueId Call::tensor_as(ArgumentName name, DType dtype) const {
  const Operand& o = arg(name);
  if (o.kind == OperandKind::number || (o.kind == OperandKind::complex && is_complex(dtype))) {
    return builder->full({}, {o.number, o.imaginary}, dtype);
  }
  return builder->cast(tensor(name), dtype);
}

ValueId Call::tensor_or_none(ArgumentName name) const {
  return has(name) ? tensor(name) : kNoValue;
}

const std::vector<ValueId>& Call::tensors(ArgumentName name) const {
  const Operand& o = arg(name);
  if (o.kind == OperandKind::tensors || o.kind == OperandKind::none) return o.values;
  if ((o.kind == OperandKind::integers || o.kind == OperandKind::numbers) && o.integers.empty() && o.numbers.empty())
    return o.values;
  wrong(*this, name, "a list of tensors");
}

Dim Call::dim(ArgumentName name) const {
  const Operand& o = arg(name);
  if (o.kind == OperandKind::integer || o.kind == OperandKind::boolean) return o.integer;
  if (o.kind == OperandKind::integers && o.integers.size() == 1) return o.integers[0];
  if (o.kind == OperandKind::number && o.number == std::floor(o.number) && std::fabs(o.number) < 9e15) {
    return static_cast<std::int64_t>(o.number);
  }
  wrong(*this, name, "an integer");
}

std::int64_t Call::integer(ArgumentName name) const {
  return constant(*this, name, dim(name));
}

std::int64_t Call::integer_or(ArgumentName name, std::int64_t otherwise) const {
  return has(name) ? integer(name) : otherwise;
}

double Call::number(ArgumentName name) const {
  const Operand& o = arg(name);
  if (o.kind == OperandKind::number) return o.number;
  if (o.kind == OperandKind::complex && o.imaginary == 0) return o.number;
  if (o.kind == OperandKind::integer || o.kind == OperandKind::boolean) {
    return static_cast<double>(constant(*this, name, o.integer));
  }
  wrong(*this, name, "a number known at export");
}

double Call::number_or(ArgumentName name, double otherwise) const {
  return has(name) ? number(name) : otherwise;
}

bool Call::flag(ArgumentName name) const {
  const Operand& o = arg(name);
  if (o.kind == OperandKind::boolean || o.kind == OperandKind::integer) return constant(*this, name, o.integer) != 0;
  wrong(*this, name, "a boolean");
}

bool Call::flag_or(ArgumentName name, bool otherwise) const {
  return has(name) ? flag(name) : otherwise;
}

std::string Call::text(ArgumentName name) const {
  const Operand& o = arg(name);
  if (o.kind == OperandKind::text || o.kind == OperandKind::device) return o.text;
  wrong(*this, name, "a text");
}

std::string Call::text_or(ArgumentName name, std::string_view otherwise) const {
  return has(name) ? text(name) : std::string(otherwise);
}

DType Call::dtype_or(ArgumentName name, DType otherwise) const {
  const Operand* o = find(*this, name);
  if (o == nullptr || o->kind == OperandKind::none) return otherwise;
  if (o->kind == OperandKind::dtype) return o->dtype;
  wrong(*this, name, "a dtype");
}

Dims Call::dims(ArgumentName name) const {
  const Operand& o = arg(name);
  if (o.kind == OperandKind::integers || o.kind == OperandKind::booleans) return o.integers;
  if (o.kind == OperandKind::integer) return {o.integer};
  if (o.kind == OperandKind::none || (o.kind == OperandKind::tensors && o.values.empty())) return {};
  wrong(*this, name, "a list of integers");
}

std::vector<std::int64_t> Call::integers(ArgumentName name) const {
  std::vector<std::int64_t> result;
  for (Dim d : dims(name)) result.push_back(constant(*this, name, d));
  return result;
}

std::vector<double> Call::numbers(ArgumentName name) const {
  const Operand& o = arg(name);
  if (o.kind == OperandKind::numbers) return o.numbers;
  if (o.kind == OperandKind::none) return {};
  if (o.kind == OperandKind::integers || o.kind == OperandKind::booleans) {
    std::vector<double> result;
    for (Dim d : o.integers) result.push_back(static_cast<double>(constant(*this, name, d)));
    return result;
  }
  if (o.kind == OperandKind::number || o.kind == OperandKind::integer) return {number(name)};
  if (o.kind == OperandKind::tensors && o.values.empty()) return {};
  wrong(*this, name, "a list of numbers");
}

DType Call::result_dtype(std::size_t i) const {
  if (i < declared.size()) return declared[i].dtype;
  fail(ErrorCode::bad_file, fmt::format("{}: the file does not record the type of result {}", target, i));
}

void Call::unsupported(const std::string& why) const {
  fail(ErrorCode::unsupported, fmt::format("{}: {}", target, why));
}

}  // namespace tern
