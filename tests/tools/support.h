// Shared by tests of the command's files: a temporary folder, file bytes, error messages.
#pragma once

#include <gtest/gtest.h>
#include <tern/error.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "dtypes/convert.h"
#include "tools/files/host_tensor.h"

namespace tern::test {

/// Deleted with its contents.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = ::testing::TempDir() + "/tern-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

inline std::string data_file(const std::string& name) {
  return std::string(TERN_SOURCE_DIR "/tests/data/files/") + name;
}

inline std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// The message of the Error thrown by f, or "no error". Any other exception fails the test.
template <typename F>
std::string error_of(F f, std::optional<ErrorCode> code = {}) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code.value_or(e.code())) << e.what();
    return e.what();
  }
  return "no error";
}

template <typename T>
HostTensor tensor_of(DType dtype, std::vector<std::int64_t> sizes, const std::vector<T>& elements) {
  HostTensor tensor{dtype, std::move(sizes), std::vector<std::byte>(elements.size() * sizeof(T))};
  if (!elements.empty()) std::memcpy(tensor.data.data(), elements.data(), tensor.data.size());
  return tensor;
}

inline std::vector<double> as_doubles(const HostTensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.numel()));
  convert(tensor.data.data(), tensor.dtype, values.data(), DType::f64, tensor.numel());
  return values;
}

/// The bytes as numbers, readable in failures.
inline std::vector<int> as_bytes(const HostTensor& tensor) {
  std::vector<int> values;
  for (const std::byte b : tensor.data) values.push_back(std::to_integer<int>(b));
  return values;
}

/// The six elements of tests/data/files/make.py for the type.
inline HostTensor counting(DType dtype, std::vector<std::int64_t> sizes = {2, 3}) {
  HostTensor tensor{dtype, std::move(sizes), {}};
  const std::int64_t n = tensor.numel();
  std::vector<double> values;
  const DType from = is_complex(dtype) ? DType::c128 : DType::f64;
  for (std::int64_t i = 0; i < n; ++i) {
    const bool counts_from_zero = is_integral(dtype) && !is_signed_integer(dtype);
    if (dtype == DType::boolean) {
      values.push_back(i % 3 == 0 ? 1 : 0);
    } else {
      values.push_back(static_cast<double>(counts_from_zero ? i : i - 3));
    }
    if (is_complex(dtype)) values.push_back(0.5 * static_cast<double>(i));
  }
  tensor.data.resize(static_cast<std::size_t>(*checked_bytes(dtype, tensor.sizes)));
  convert(values.data(), from, tensor.data.data(), dtype, n);
  return tensor;
}

inline void expect_same(const HostTensor& actual, const HostTensor& expected, const std::string& what) {
  EXPECT_EQ(name_of(actual.dtype), name_of(expected.dtype)) << what;
  EXPECT_EQ(actual.sizes, expected.sizes) << what;
  EXPECT_EQ(as_bytes(actual), as_bytes(expected)) << what;
}

}  // namespace tern::test
