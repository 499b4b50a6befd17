#include "tests/gpu/amd/ir/types.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "tests/gpu/amd/error.h"

namespace tern::gpu::amd {
namespace {

struct Scalar {
  std::string_view name;
  std::uint64_t size;
};
constexpr Scalar kScalars[] = {{"half", 2}, {"bfloat", 2}, {"float", 4}, {"double", 8}};

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

std::uint64_t take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) throw Error("a number is missing in the type '" + std::string(text.substr(0, 40)) + "'");
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

void expect(std::string_view& text, std::string_view what) {
  skip_spaces(text);
  if (!take_prefix(text, what)) {
    throw Error("'" + std::string(what) + "' is missing in the type '" + std::string(text.substr(0, 40)) + "'");
  }
}

}  // namespace

void skip_spaces(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string take_name(std::string_view& text) {
  text.remove_prefix(1);
  std::size_t length = 0;
  if (text.starts_with('"')) {
    length = text.find('"', 1);
    const std::string name(text.substr(0, length + 1));
    text.remove_prefix(name.size());
    return name;
  }
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-' || c == '$';
  };
  while (length < text.size() && letter(text[length])) ++length;
  const std::string name(text.substr(0, length));
  text.remove_prefix(length);
  return name;
}

void Types::define(std::string_view line) {
  std::string name = take_name(line);
  expect(line, "= type");
  skip_spaces(line);
  definitions_[std::move(name)] = std::string(line);
}

Type Types::structure(std::string_view& text, bool packed) const {
  Type type;
  skip_spaces(text);
  while (!take_prefix(text, "}")) {
    const Type member = parse_type(text);
    const std::uint64_t alignment = packed ? 1 : member.alignment;
    type.size = round_up(type.size, alignment) + member.size;
    type.alignment = std::max(type.alignment, alignment);
    skip_spaces(text);
    take_prefix(text, ",");
    skip_spaces(text);
  }
  type.size = round_up(type.size, type.alignment);
  return type;
}

Type Types::parse_type(std::string_view& text) const {
  skip_spaces(text);
  const std::string_view start = text;
  Type type;
  const auto finish = [&] {
    type.text = start.substr(0, start.size() - text.size());
    return type;
  };
  for (const Scalar& scalar : kScalars) {
    if (take_prefix(text, scalar.name)) {
      type.size = type.alignment = scalar.size;
      return finish();
    }
  }
  if (take_prefix(text, "ptr")) {
    // "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32", the data layout of amdgcn
    std::string_view rest = text;
    skip_spaces(rest);
    type.size = type.alignment = 8;
    if (take_prefix(rest, "addrspace(")) {
      const std::uint64_t space = take_number(rest);
      expect(rest, ")");
      text = rest;
      if (space == 2 || space == 3 || space == 5 || space == 6) type.size = type.alignment = 4;
    }
    return finish();
  }
  if (take_prefix(text, "<{")) {
    type = structure(text, true);
    expect(text, ">");
    return finish();
  }
  if (take_prefix(text, "<")) {
    const std::uint64_t count = take_number(text);
    expect(text, "x");
    const Type element = parse_type(text);
    expect(text, ">");
    // "v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-...": rounded up to a power of two
    type.alignment = std::bit_ceil(count * element.size);
    type.size = round_up(count * element.size, type.alignment);
    return finish();
  }
  if (take_prefix(text, "[")) {
    const std::uint64_t count = take_number(text);
    expect(text, "x");
    const Type element = parse_type(text);
    expect(text, "]");
    type.alignment = element.alignment;
    type.size = count * element.size;
    return finish();
  }
  if (take_prefix(text, "{")) {
    type = structure(text, false);
    return finish();
  }
  if (text.starts_with('%')) {
    const std::string name = take_name(text);
    const auto found = definitions_.find(name);
    if (found == definitions_.end()) throw Error("the type %" + name + " is not defined");
    std::string_view definition = found->second;
    type = parse_type(definition);
    return finish();
  }
  if (text.size() > 1 && text[0] == 'i' && text[1] >= '0' && text[1] <= '9') {
    text.remove_prefix(1);
    const std::uint64_t bits = take_number(text);
    type.size = std::bit_ceil((bits + 7) / 8);
    type.alignment = std::min<std::uint64_t>(type.size, 8);  // "i64:64" is the largest in the layout
    return finish();
  }
  throw Error("the type at '" + std::string(start.substr(0, 40)) + "' has no known size");
}

}  // namespace tern::gpu::amd
