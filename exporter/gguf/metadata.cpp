#include "exporter/gguf/metadata.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "dtypes/printable.h"

namespace tern::gguf {
namespace {

template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// Empty for types other than integers, and for numbers above int64.
std::optional<std::int64_t> integer_at(ValueType t, const std::byte* address) {
  switch (t) {
    case ValueType::u8: return load<std::uint8_t>(address);
    case ValueType::i8: return load<std::int8_t>(address);
    case ValueType::u16: return load<std::uint16_t>(address);
    case ValueType::i16: return load<std::int16_t>(address);
    case ValueType::u32: return load<std::uint32_t>(address);
    case ValueType::i32: return load<std::int32_t>(address);
    case ValueType::i64: return load<std::int64_t>(address);
    case ValueType::boolean: return load<std::uint8_t>(address);
    case ValueType::u64: {
      const auto n = load<std::uint64_t>(address);
      if (n > static_cast<std::uint64_t>(INT64_MAX)) return {};
      return static_cast<std::int64_t>(n);
    }
    default: return {};
  }
}

std::optional<double> number_at(ValueType t, const std::byte* address) {
  if (t == ValueType::f32) return static_cast<double>(load<float>(address));
  if (t == ValueType::f64) return load<double>(address);
  const auto n = integer_at(t, address);
  if (!n) return {};
  return static_cast<double>(*n);
}

std::size_t size_of(const MetadataValue& v) {
  return v.count == 0 ? 0 : v.bytes.size() / v.count;
}

std::string_view view(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Metadata::Metadata(const File& file) : file_(file) {
  const std::optional<std::string_view> name = text("general.architecture");
  if (!name || name->empty())
    fail(ErrorCode::bad_file, fmt::format("{}: the GGUF metadata have no general.architecture", file.label()));
  architecture_ = *name;
}

std::string Metadata::full(std::string_view key) const {
  return key.starts_with('.') ? architecture_ + std::string(key) : std::string(key);
}

const MetadataValue* Metadata::find(std::string_view key) const {
  return file_.find(full(key));
}

void Metadata::refuse(std::string_view key, const std::string& problem) const {
  const MetadataValue* v = find(key);
  const std::string name = printable(full(key));
  if (v == nullptr)
    fail(ErrorCode::bad_file, fmt::format("{}: the GGUF metadata have no {}, {}", file_.label(), name, problem));
  fail(ErrorCode::bad_file, fmt::format("{}: at byte {}: {} {}", file_.label(), v->offset, name, problem));
}

std::optional<std::int64_t> Metadata::integer(std::string_view key, std::int64_t lower, std::int64_t upper) const {
  const MetadataValue* v = find(key);
  if (v == nullptr) return {};
  const auto n = v->type == ValueType::array ? std::nullopt : integer_at(v->type, v->bytes.data());
  if (!n) refuse(key, "is not an integer");
  if (*n < lower || *n > upper) refuse(key, fmt::format("is {}, which is not from {} to {}", *n, lower, upper));
  return n;
}

std::int64_t Metadata::required_integer(std::string_view key, std::int64_t lower, std::int64_t upper) const {
  const auto n = integer(key, lower, upper);
  if (!n) refuse(key, "which the decoder needs");
  return *n;
}

std::optional<double> Metadata::number(std::string_view key) const {
  const MetadataValue* v = find(key);
  if (v == nullptr) return {};
  const auto n = v->type == ValueType::array ? std::nullopt : number_at(v->type, v->bytes.data());
  if (!n || !std::isfinite(*n)) refuse(key, "is not a finite number");
  return n;
}

std::optional<bool> Metadata::boolean(std::string_view key) const {
  const MetadataValue* v = find(key);
  if (v == nullptr) return {};
  if (v->type != ValueType::boolean) refuse(key, "is not a boolean");
  return v->bytes[0] != std::byte{0};
}

std::optional<std::string_view> Metadata::text(std::string_view key) const {
  const MetadataValue* v = find(key);
  if (v == nullptr) return {};
  if (v->type != ValueType::text) refuse(key, "is not a text");
  return view(v->bytes);
}

std::vector<std::string_view> Metadata::texts(std::string_view key) const {
  const MetadataValue* v = find(key);
  if (v == nullptr) return {};
  if (v->type != ValueType::array || v->element != ValueType::text) refuse(key, "is not an array of texts");
  std::vector<std::string_view> list;
  list.reserve(v->count);
  std::span<const std::byte> remaining = v->bytes;  // the reader has checked the lengths
  for (std::uint64_t i = 0; i < v->count; ++i) {
    const auto size = load<std::uint64_t>(remaining.data());
    list.push_back(view(remaining.subspan(sizeof size, size)));
    remaining = remaining.subspan(sizeof size + size);
  }
  return list;
}

std::vector<std::int64_t> Metadata::integers(std::string_view key) const {
  const MetadataValue* v = find(key);
  if (v == nullptr) return {};
  std::vector<std::int64_t> list;
  for (std::uint64_t i = 0; v->type == ValueType::array && i < v->count; ++i) {
    const auto n = integer_at(v->element, v->bytes.data() + i * size_of(*v));
    if (!n) refuse(key, "is not an array of integers");
    list.push_back(*n);
  }
  if (v->type != ValueType::array) refuse(key, "is not an array of integers");
  return list;
}

std::vector<double> Metadata::numbers(std::string_view key) const {
  const MetadataValue* v = find(key);
  if (v == nullptr) return {};
  std::vector<double> list;
  for (std::uint64_t i = 0; v->type == ValueType::array && i < v->count; ++i) {
    const auto n = number_at(v->element, v->bytes.data() + i * size_of(*v));
    if (!n) refuse(key, "is not an array of numbers");
    list.push_back(*n);
  }
  if (v->type != ValueType::array) refuse(key, "is not an array of numbers");
  return list;
}

std::vector<std::int64_t> Metadata::each_layer(std::string_view key, std::int64_t layers, std::int64_t lower,
                                               std::int64_t upper) const {
  const MetadataValue* v = find(key);
  if (v == nullptr) refuse(key, "which the decoder needs");
  if (v->type != ValueType::array)
    return std::vector<std::int64_t>(static_cast<std::size_t>(layers), *integer(key, lower, upper));
  const std::vector<std::int64_t> list = integers(key);
  if (std::ssize(list) != layers) refuse(key, fmt::format("has {} numbers for {} layers", list.size(), layers));
  for (const std::int64_t n : list) {
    if (n < lower || n > upper) refuse(key, fmt::format("has {}, which is not from {} to {}", n, lower, upper));
  }
  return list;
}

}  // namespace tern::gguf
