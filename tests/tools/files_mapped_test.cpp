// Mapped array files.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tools/support.h"
#include "tools/files/mapped.h"
#include "tools/files/npz.h"
#include "tools/files/safetensors.h"

namespace tern {
namespace {

using test::data_file;
using test::error_of;
using test::TempFolder;

HostTensor numbers(DType dtype, std::vector<std::int64_t> sizes) {
  HostTensor t = allocate_tensor(dtype, std::move(sizes), "t");
  for (std::size_t i = 0; i < t.data.size(); ++i) t.data[i] = static_cast<std::byte>(i * 7 + 1);
  return t;
}

void expect_equal(const MappedTensors& mapped, const NamedTensors& written) {
  ASSERT_EQ(mapped.tensors().size(), written.tensors.size());
  for (const auto& [name, tensor] : written.tensors) {
    const MappedTensor* m = mapped.find(name);
    ASSERT_NE(m, nullptr) << name;
    EXPECT_EQ(m->dtype, tensor.dtype);
    EXPECT_EQ(m->sizes, tensor.sizes);
    ASSERT_EQ(m->bytes.size(), tensor.data.size());
    EXPECT_TRUE(std::ranges::equal(m->bytes, tensor.data));
  }
}

TEST(MappedTensors, BothFormats) {
  const TempFolder folder;
  NamedTensors t;
  t.tensors = {{"images", numbers(DType::f32, {5, 3, 2})},
               {"target", numbers(DType::i64, {5})},
               {"none", numbers(DType::f64, {0, 4})}};
  write_npz(folder / "a.npz", t);
  write_safetensors(folder / "a.safetensors", t);
  expect_equal(MappedTensors::open(folder / "a.npz"), t);
  expect_equal(MappedTensors::open(folder / "a.safetensors"), t);
  std::filesystem::rename(folder / "a.npz", folder / "data");
  expect_equal(MappedTensors::open(folder / "data"), t);
}

TEST(MappedTensors, RefusesWhatCannotBeMapped) {
  const TempFolder folder;
  EXPECT_NE(error_of([&] { MappedTensors::open(folder / "absent.npz"); }, ErrorCode::io), "no error");
  test::write_bytes(folder / "broken.npz", "PK\3\4 and no more");
  EXPECT_NE(error_of([&] { MappedTensors::open(folder / "broken.npz"); }, ErrorCode::bad_file), "no error");
  test::write_bytes(folder / "broken.safetensors", "no");
  EXPECT_NE(error_of([&] { MappedTensors::open(folder / "broken.safetensors"); }, ErrorCode::bad_file), "no error");
}

/// Files written by NumPy (tests/data/files/make.py).
TEST(MappedTensors, OfNumPy) {
  const MappedTensors stored = MappedTensors::open(data_file("stored.npz"));
  const NamedTensors read = read_npz(data_file("stored.npz"));
  for (const auto& [name, tensor] : read.tensors) {
    const MappedTensor* m = stored.find(name);
    ASSERT_NE(m, nullptr) << name;
    ASSERT_EQ(m->bytes.size(), tensor.data.size());
    EXPECT_TRUE(std::ranges::equal(m->bytes, tensor.data));
  }
  const std::string deflated = error_of([] { MappedTensors::open(data_file("deflated.npz")); }, ErrorCode::unsupported);
  EXPECT_NE(deflated.find("save the arrays with numpy.savez instead of numpy.savez_compressed"), std::string::npos)
      << deflated;
}

}  // namespace
}  // namespace tern
