// Reading the arguments of a call.
#include <fmt/format.h>
#include <tern/error.h>

#include <cmath>

#include "exporter/lower/lower.h"

namespace tern {
namespace {

const char* text_of(CallArgumentKind kind) {
  switch (kind) {
    case CallArgumentKind::none: return "None";
    case CallArgumentKind::tensor: return "a tensor";
    case CallArgumentKind::integer: return "an integer";
    case CallArgumentKind::number: return "a number";
    case CallArgumentKind::boolean: return "a boolean";
    case CallArgumentKind::complex: return "a complex number";
    case CallArgumentKind::text: return "a text";
    case CallArgumentKind::dtype: return "a dtype";
    case CallArgumentKind::tensors: return "a list of tensors";
    case CallArgumentKind::integers: return "a list of integers";
    case CallArgumentKind::numbers: return "a list of numbers";
    case CallArgumentKind::booleans: return "a list of booleans";
    case CallArgumentKind::device: return "a device";
    case CallArgumentKind::layout: return "a layout";
    case CallArgumentKind::memory_format: return "a memory format";
  }
  return "of an unknown kind";
}

const CallArgument* find(const Call& c, ArgumentName name) {
  for (const auto& [n, operand] : c.args) {
    if (n == name.text()) return &operand;
  }
  return nullptr;
}

[[noreturn]] void fail_kind(const Call& c, ArgumentName name, const char* requested) {
  fail(ErrorCode::unsupported, fmt::format("{}: argument '{}' is {}; only {} is supported", c.target, name.text(),
                                           text_of(c.arg(name).kind), requested));
}

std::int64_t constant(const Call& c, ArgumentName name, Dim d) {
  if (d.is_const()) return d.value();
  fail(ErrorCode::unsupported, fmt::format("{}: argument '{}' is {}; only a constant is supported", c.target,
                                           name.text(), c.builder->pool().text(d)));
}

}  // namespace

const CallArgument& Call::arg(ArgumentName name) const {
  if (const CallArgument* o = find(*this, name)) return *o;
  fail(ErrorCode::bad_file, fmt::format("{} has no argument '{}'", target, name.text()));
}

bool Call::has_argument(ArgumentName name) const {
  const CallArgument* o = find(*this, name);
  return o != nullptr && o->kind != CallArgumentKind::none;
}

bool Call::is_tensor(ArgumentName name) const {
  return arg(name).kind == CallArgumentKind::tensor;
}

ValueId Call::tensor(ArgumentName name) const {
  const CallArgument& o = arg(name);
  switch (o.kind) {
    case CallArgumentKind::tensor: return o.value;
    case CallArgumentKind::integer: return builder->from_dim(o.integer);
    case CallArgumentKind::boolean: return builder->from_dim(o.integer, DType::boolean);
    case CallArgumentKind::number: return builder->scalar(o.number, DType::f32);
    case CallArgumentKind::complex: return builder->full({}, {o.number, o.imaginary}, DType::c64);
    default: fail_kind(*this, name, "a tensor or a number");
  }
}

ValueId Call::tensor_as(ArgumentName name, DType dtype) const {
  const CallArgument& o = arg(name);
  if (o.kind == CallArgumentKind::number || (o.kind == CallArgumentKind::complex && is_complex(dtype))) {
    return builder->full({}, {o.number, o.imaginary}, dtype);
  }
  return builder->cast(tensor(name), dtype);
}

ValueId Call::tensor_or_none(ArgumentName name) const {
  return has_argument(name) ? tensor(name) : kNoValue;
}

const std::vector<ValueId>& Call::tensors(ArgumentName name) const {
  const CallArgument& o = arg(name);
  if (o.kind == CallArgumentKind::tensors || o.kind == CallArgumentKind::none) return o.values;
  if ((o.kind == CallArgumentKind::integers || o.kind == CallArgumentKind::numbers) && o.integers.empty() &&
      o.numbers.empty())
    return o.values;
  fail_kind(*this, name, "a list of tensors");
}

Dim Call::dim(ArgumentName name) const {
  const CallArgument& o = arg(name);
  if (o.kind == CallArgumentKind::integer || o.kind == CallArgumentKind::boolean) return o.integer;
  if (o.kind == CallArgumentKind::integers && o.integers.size() == 1) return o.integers[0];
  if (o.kind == CallArgumentKind::number && o.number == std::floor(o.number) && std::fabs(o.number) < 9e15) {
    return static_cast<std::int64_t>(o.number);
  }
  fail_kind(*this, name, "an integer");
}

std::int64_t Call::integer(ArgumentName name) const {
  return constant(*this, name, dim(name));
}

std::int64_t Call::integer_or(ArgumentName name, std::int64_t otherwise) const {
  return has_argument(name) ? integer(name) : otherwise;
}

double Call::number(ArgumentName name) const {
  const CallArgument& o = arg(name);
  if (o.kind == CallArgumentKind::number) return o.number;
  if (o.kind == CallArgumentKind::complex && o.imaginary == 0) return o.number;
  if (o.kind == CallArgumentKind::integer || o.kind == CallArgumentKind::boolean) {
    return static_cast<double>(constant(*this, name, o.integer));
  }
  fail_kind(*this, name, "a number known at export");
}

double Call::number_or(ArgumentName name, double otherwise) const {
  return has_argument(name) ? number(name) : otherwise;
}

bool Call::flag(ArgumentName name) const {
  const CallArgument& o = arg(name);
  if (o.kind == CallArgumentKind::boolean || o.kind == CallArgumentKind::integer)
    return constant(*this, name, o.integer) != 0;
  fail_kind(*this, name, "a boolean");
}

bool Call::flag_or(ArgumentName name, bool otherwise) const {
  return has_argument(name) ? flag(name) : otherwise;
}

std::string Call::text(ArgumentName name) const {
  const CallArgument& o = arg(name);
  if (o.kind == CallArgumentKind::text || o.kind == CallArgumentKind::device) return o.text;
  fail_kind(*this, name, "a text");
}

std::string Call::text_or(ArgumentName name, std::string_view otherwise) const {
  return has_argument(name) ? text(name) : std::string(otherwise);
}

DType Call::dtype_or(ArgumentName name, DType otherwise) const {
  const CallArgument* o = find(*this, name);
  if (o == nullptr || o->kind == CallArgumentKind::none) return otherwise;
  if (o->kind == CallArgumentKind::dtype) return o->dtype;
  fail_kind(*this, name, "a dtype");
}

Dims Call::dims(ArgumentName name) const {
  const CallArgument& o = arg(name);
  if (o.kind == CallArgumentKind::integers || o.kind == CallArgumentKind::booleans) return o.integers;
  if (o.kind == CallArgumentKind::integer) return {o.integer};
  if (o.kind == CallArgumentKind::none || (o.kind == CallArgumentKind::tensors && o.values.empty())) return {};
  fail_kind(*this, name, "a list of integers");
}

std::vector<std::int64_t> Call::integers(ArgumentName name) const {
  std::vector<std::int64_t> result;
  for (Dim d : dims(name)) result.push_back(constant(*this, name, d));
  return result;
}

std::vector<double> Call::numbers(ArgumentName name) const {
  const CallArgument& o = arg(name);
  if (o.kind == CallArgumentKind::numbers) return o.numbers;
  if (o.kind == CallArgumentKind::none) return {};
  if (o.kind == CallArgumentKind::integers || o.kind == CallArgumentKind::booleans) {
    std::vector<double> result;
    for (Dim d : o.integers) result.push_back(static_cast<double>(constant(*this, name, d)));
    return result;
  }
  if (o.kind == CallArgumentKind::number || o.kind == CallArgumentKind::integer) return {number(name)};
  if (o.kind == CallArgumentKind::tensors && o.values.empty()) return {};
  fail_kind(*this, name, "a list of numbers");
}

DType Call::result_dtype(std::size_t i) const {
  if (i < declared.size()) return declared[i].dtype;
  fail(ErrorCode::bad_file, fmt::format("{}: the file does not record the type of result {}", target, i));
}

void Call::unsupported(const std::string& reason) const {
  fail(ErrorCode::unsupported, fmt::format("{}: {}", target, reason));
}

}  // namespace tern
