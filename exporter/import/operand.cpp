// Arguments of nodes as operands of lowerings.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "exporter/import/arguments.h"

namespace tern::importing {
namespace {

using ArgumentKind = pt2::Argument::Kind;

/// A schema default may stand for a list: 1 for int[2] is [1, 1].
void widen(CallArgument& o, const pt2::SchemaType& type) {
  if (!type.is_list) return;
  const auto count = static_cast<std::size_t>(std::max(type.list_size, 1));
  if (o.kind == CallArgument::Kind::integer) {
    o.kind = CallArgument::Kind::integers;
    o.integers.assign(count, o.integer);
  } else if (o.kind == CallArgument::Kind::number) {
    o.kind = CallArgument::Kind::numbers;
    o.numbers.assign(count, o.number);
  } else if (o.kind == CallArgument::Kind::boolean) {
    o.kind = CallArgument::Kind::booleans;
    o.integers.assign(count, o.integer);
  } else if (o.kind == CallArgument::Kind::tensor && type.base == pt2::SchemaType::Base::tensor) {
    o.kind = CallArgument::Kind::tensors;
    o.values = {o.value};
  }
}

/// Follows PyTorch's is_contiguous; true for unknown layouts.
bool row_major(const RecordedLayout& l) {
  std::int64_t step = 1;
  if (!l.is_known || std::find(l.sizes.begin(), l.sizes.end(), 0) != l.sizes.end()) return true;
  for (std::size_t i = l.sizes.size(); i-- > 0;) {
    if (l.sizes[i] == 1) continue;
    if (l.strides[i] != step || __builtin_mul_overflow(step, l.sizes[i], &step)) return false;
  }
  return true;
}

/// True if axis 1 is the innermost; false for unknown layouts.
bool channels_last(RecordedLayout l) {
  if (!l.is_known || l.sizes.size() < 3) return false;
  std::rotate(l.sizes.begin() + 1, l.sizes.begin() + 2, l.sizes.end());
  std::rotate(l.strides.begin() + 1, l.strides.begin() + 2, l.strides.end());
  return row_major(l);
}

}  // namespace

CallArgument Arguments::operand(const pt2::Argument& a) {
  CallArgument o;
  using OK = CallArgument::Kind;
  const auto scalar = [&o](const Binding& b) {
    if (b.kind == BindingKind::integer || b.kind == BindingKind::boolean) {
      o.kind = b.kind == BindingKind::integer ? OK::integer : OK::boolean;
      o.integer = b.dim;
    } else if (b.kind == BindingKind::real && b.value == kNoValue) {
      o.kind = OK::number;
      o.number = b.number;
    } else if (b.kind == BindingKind::real) {
      o.kind = OK::tensor;
      o.value = b.value;
    } else {
      fail(ErrorCode::bad_file, "a scalar argument names a value that is not a scalar");
    }
  };
  switch (a.kind) {
    case ArgumentKind::none: break;
    case ArgumentKind::tensor: {
      const Binding b = scope_.binding_of(a);
      if (b.kind == BindingKind::none) break;
      if (b.kind == BindingKind::tensor || b.kind == BindingKind::quantized) {
        o.kind = OK::tensor;
        o.value = scope_.value_of(b);
        const RecordedLayout layout = scope_.layout_of(a.name);
        o.contiguous = row_major(layout);
        o.channels_last = channels_last(layout);
      } else {
        scalar(b);
      }
      break;
    }
    case ArgumentKind::tensors:
    case ArgumentKind::optional_tensors:
      o.kind = OK::tensors;
      for (const std::string& name : a.names) {
        pt2::Argument element;
        element.kind = ArgumentKind::tensor;
        element.name = name;
        o.values.push_back(name.empty() ? kNoValue : scope_.tensor_of(element));
      }
      break;
    case ArgumentKind::integer:
    case ArgumentKind::boolean:
    case ArgumentKind::real:
    case ArgumentKind::sym_int:
    case ArgumentKind::sym_bool:
    case ArgumentKind::sym_float: scalar(scope_.binding_of(a)); break;
    case ArgumentKind::ints:
    case ArgumentKind::bools:
      o.kind = a.kind == ArgumentKind::ints ? OK::integers : OK::booleans;
      o.integers.assign(a.ints.begin(), a.ints.end());
      break;
    case ArgumentKind::reals:
      o.kind = OK::numbers;
      o.numbers = a.reals;
      break;
    case ArgumentKind::sym_ints:
      o.kind = OK::integers;
      for (const auto& s : a.sym_ints) {
        pt2::Argument element;
        element.kind = ArgumentKind::sym_int;
        element.name = s.name;
        element.integer = s.value;
        const Binding b = scope_.binding_of(element);
        if (!b.is_dim()) fail(ErrorCode::bad_file, fmt::format("'{}' is not an integer", s.name));
        o.integers.push_back(b.dim);
      }
      break;
    case ArgumentKind::sym_bools:
      o.kind = OK::booleans;
      for (const auto& s : a.sym_bools) {
        pt2::Argument element;
        element.kind = ArgumentKind::sym_bool;
        element.name = s.name;
        element.boolean = s.value;
        o.integers.push_back(scope_.binding_of(element).dim);
      }
      break;
    case ArgumentKind::sym_floats:
      o.kind = OK::numbers;
      for (const auto& s : a.sym_floats) {
        pt2::Argument element;
        element.kind = ArgumentKind::sym_float;
        element.name = s.name;
        element.real = s.value;
        const Binding b = scope_.binding_of(element);
        if (b.kind != BindingKind::real || b.value != kNoValue) {
          fail(ErrorCode::unsupported, "a list has floating-point numbers that are known only at run time");
        }
        o.numbers.push_back(b.number);
      }
      break;
    case ArgumentKind::complex:
      o.kind = OK::complex;
      o.number = a.real;
      o.imaginary = a.imag;
      break;
    case ArgumentKind::string:
    case ArgumentKind::op:
      o.kind = OK::text;
      o.text = a.text;
      break;
    case ArgumentKind::strings:
      o.kind = OK::text;
      for (const std::string& s : a.names) o.text += (o.text.empty() ? "" : ",") + s;
      break;
    case ArgumentKind::scalar_type:
      o.kind = OK::dtype;
      o.dtype = a.dtype();
      if (o.dtype == DType::invalid) fail(ErrorCode::unsupported, fmt::format("unknown scalar type {}", a.integer));
      break;
    case ArgumentKind::device:
      o.kind = OK::device;
      o.text = a.text;
      break;
    case ArgumentKind::layout:
      if (a.integer != static_cast<std::int64_t>(pt2::Layout::strided) &&
          a.integer != static_cast<std::int64_t>(pt2::Layout::sparse_coo)) {
        fail(ErrorCode::unsupported, "layouts other than dense and sparse_coo are not supported");
      }
      o.kind = OK::layout;
      o.integer = a.integer;
      break;
    case ArgumentKind::memory_format:
      o.kind = OK::memory_format;
      o.integer = a.integer;
      break;
    case ArgumentKind::nested_tensors:
      o.kind = OK::tensors;
      for (const pt2::Argument& item : a.items) {
        const CallArgument list = operand(item);
        o.values.insert(o.values.end(), list.values.begin(), list.values.end());
      }
      break;
    default: fail(ErrorCode::unsupported, fmt::format("arguments of kind {} are not supported", pt2::tag_of(a.kind)));
  }
  return o;
}

CallArgument Arguments::operand(const pt2::Argument& a, const pt2::SchemaType& type) {
  CallArgument o = operand(a);
  widen(o, type);
  return o;
}

}  // namespace tern::importing
