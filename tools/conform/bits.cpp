#include "tools/conform/bits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tern/error.h>
#include <xxhash.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <vector>

#include "dtypes/convert.h"

namespace tern {
namespace {

/// Type of a complex element's components; other types are their own component type.
DType component_type(DType t) {
  switch (t) {
    case DType::c32: return DType::f16;
    case DType::c64: return DType::f32;
    case DType::c128: return DType::f64;
    default: return t;
  }
}

/// Sets all bits of each NaN: payloads may differ.
void canonicalize_nans(DType t, std::vector<std::byte>& data) {
  if (!is_floating(t) || t == DType::f4_e2m1) return;  // float4 has no NaN
  const auto size = static_cast<std::size_t>(element_size(t));
  std::vector<double> values(data.size() / size);
  convert(data.data(), t, values.data(), DType::f64, static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) std::memset(data.data() + i * size, 0xff, size);
  }
}

std::string case_key(const ConformResult& r) {
  return r.op + " " + r.name;
}

}  // namespace

std::uint64_t hash_bits(std::uint64_t hash, const HostTensor& tensor) {
  const std::string type = std::string(name_of(tensor.dtype)) + fmt::format("{}", fmt::join(tensor.sizes, ","));
  hash = XXH3_64bits_withSeed(type.data(), type.size(), hash);
  std::vector<std::byte> data = tensor.data;
  canonicalize_nans(component_type(tensor.dtype), data);
  return XXH3_64bits_withSeed(data.data(), data.size(), hash);
}

BitsFile read_bits(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail(ErrorCode::io, fmt::format("'{}' cannot be read", path));
  BitsFile bits;
  for (std::string line; std::getline(file, line);) {
    constexpr std::size_t kDigits = 16;
    std::uint64_t hash = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + std::min(kDigits, line.size()), hash, 16);
    if (error != std::errc() || end != line.data() + kDigits || line.size() < kDigits + 2)
      fail(ErrorCode::bad_file, fmt::format("'{}': line {} is not 'HASH OP NAME'", path, bits.size() + 1));
    bits[line.substr(kDigits + 1)] = hash;
  }
  return bits;
}

void write_bits(const std::string& path, std::span<const ConformResult> results) {
  std::ofstream file(path);
  for (const ConformResult& r : results) {
    if (r.is_passed()) file << fmt::format("{:016x} {}\n", r.bits, case_key(r));
  }
  if (!file.flush()) fail(ErrorCode::io, fmt::format("'{}' cannot be written", path));
}

void compare_bits(const BitsFile& expected, std::span<ConformResult> results) {
  for (ConformResult& r : results) {
    if (!r.is_passed()) continue;
    const auto found = expected.find(case_key(r));
    if (found != expected.end() && found->second == r.bits) continue;
    r.stage = "bits";
    r.message = found == expected.end() ? std::string("the file has no hash of it")
                                        : fmt::format("hash {:016x}, in the file {:016x}", r.bits, found->second);
  }
}

}  // namespace tern
