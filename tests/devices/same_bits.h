// Compares a device's results in reproducible mode with the CPU's bits.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "dtypes/cast.h"
#include "dtypes/storage.h"
#include "tests/devices/test_devices.h"

namespace tern::testing {

using Sizes = std::vector<std::int64_t>;

/// Values between -4 and 4 without a period related to lanes or parts.
inline Tensor numbers(DType t, const Sizes& sizes, std::uint64_t seed) {
  Tensor x(t, sizes);
  std::uint64_t state = seed * 2654435761u + 1;
  visit_dtype(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (T& v : x.span<T>()) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      v = cast_to<T>(std::complex<double>(static_cast<double>(state >> 40) / (1 << 21) - 4,
                                          static_cast<double>(state >> 32 & 0xff) / 64 - 2));
    }
  });
  return x;
}

/// All elements as doubles; real parts of complex elements.
inline std::vector<double> doubles(const Tensor& x) {
  std::vector<double> all;
  visit_dtype(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (const T v : x.span<const T>()) all.push_back(cast_to<std::complex<double>>(v).real());
  });
  return all;
}

/// The bytes of each result, with equal bits for all NaN.
inline std::vector<std::string> bits(const Model& model, const PrepareOptions& options,
                                     const std::vector<Tensor>& inputs) {
  Session s(model.prepare(options));
  std::vector<std::string> all;
  for (const Tensor& y : s.run(inputs)) {
    std::string bytes;
    visit_dtype(y.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const T v : y.span<const T>()) {
        const auto number = cast_to<std::complex<double>>(v);
        if (number != number) {
          bytes += "NaN";
        } else {
          bytes.append(reinterpret_cast<const char*>(&v), sizeof v);
        }
      }
    });
    all.push_back(std::move(bytes));
  }
  return all;
}

/// The host's C++ has a single form: an item per row.
inline bool has_other_forms(const std::string& device) {
  return device != "cpu" && open_plugin_device(device).target().dialect != portable::Dialect::cpp;
}

inline bool has_double(const std::string& device) {
  return device == "cpu" || open_plugin_device(device).target().has_double;
}

/// The reference device for bits: devices without float64 compare with the host without float64 (docs/reproducible.md).
/// Empty if absent.
inline std::string reference_of(const std::string& device) {
  if (has_double(device)) return "cpu";
  const std::vector<std::string> devices = all_devices();
  return std::ranges::find(devices, "narrow") == devices.end() ? "" : "narrow";
}

/// Emulated devices take a quarter of a second of processor time to compile a kernel source.
inline bool all_cases() {
  return std::getenv("TERN_TEST_FULL") != nullptr;
}
/// The first `few` of the cases, or all with TERN_TEST_FULL.
template <class T>
std::span<const T> some_of(std::span<const T> cases, std::size_t few) {
  return all_cases() ? cases : cases.first(few);
}

inline void expect_same_bits(const std::string& device, TestProgram& p, const std::vector<std::string>& names,
                             const std::vector<Tensor>& inputs) {
  PrepareOptions there = options_on(device), here = options_on(reference_of(device));
  there.reproducible = here.reproducible = true;
  const auto expected = bits(p.model(), here, inputs), found = bits(p.model(), there, inputs);
  ASSERT_EQ(expected.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_TRUE(expected[i] == found[i]) << names[i] << " on " << device;
}

}  // namespace tern::testing
