// Tensors of the caller's: typed spans, strides, owners.
#include <gtest/gtest.h>

#include <complex>
#include <functional>
#include <limits>

#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::invalid_argument_of;
using testing::values_of;
using Floats = std::vector<float>;
using Sizes = std::vector<std::int64_t>;

TEST(TensorSpan, TakesTheTypeOfTheElementsAlone) {
  const Tensor f32(DType::f32, {2}), i64(DType::i64, {2}), half(DType::bf16, {2}), c64(DType::c64, {2}),
      flags(DType::boolean, {2}), f8(DType::f8_e4m3fn, {2});
  EXPECT_EQ(f32.span<const float>().size(), 2u);
  EXPECT_EQ(i64.span<const std::int64_t>().size(), 2u);
  EXPECT_EQ(i64.span<const long long>().size(), 2u);
  EXPECT_EQ(half.span<const std::uint16_t>().size(), 2u);
  EXPECT_EQ(c64.span<const std::complex<float>>().size(), 2u);
  EXPECT_EQ(flags.span<const bool>().size(), 2u);
  EXPECT_EQ(f8.span<const std::uint8_t>().size(), 2u);
  EXPECT_EQ(i64.span<const std::byte>().size(), 16u);
  EXPECT_EQ(invalid_argument_of([&] { f32.span<double>(); }),
            "Tensor::span: the elements are float32, but the type asked for is one for float64");
  EXPECT_NE(invalid_argument_of([&] { f32.span<std::int32_t>(); }).find("one for int32"), std::string::npos);
  EXPECT_NE(invalid_argument_of([&] { i64.span<std::uint64_t>(); }).find("one for uint64"), std::string::npos);
  EXPECT_NE(invalid_argument_of([&] { i64.span<std::int32_t>(); }), "no error");
  EXPECT_NE(invalid_argument_of([&] { half.span<float>(); }), "no error");
  EXPECT_NE(invalid_argument_of([&] { f32.span<std::uint32_t>(); }), "no error");
  EXPECT_NE(invalid_argument_of([&] { flags.span<std::int8_t>(); }), "no error");
  EXPECT_NE(invalid_argument_of([] { Tensor().span<float>(); }), "no error");
}

TEST(TensorStrides, AreKeptWhereElementsHaveGaps) {
  Floats memory = {0, 1, 2, 3, 4, 5};
  const Tensor columns = Tensor::borrow(memory.data(), DType::f32, {3, 2}, {1, 3});
  EXPECT_FALSE(columns.is_contiguous());
  EXPECT_EQ(columns.strides(), (Sizes{1, 3}));
  EXPECT_EQ(columns.byte_size(), 24u);
  EXPECT_NE(invalid_argument_of([&] { columns.span<float>(); }).find("strided"), std::string::npos);
  EXPECT_EQ(values_of(columns.contiguous()), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(values_of(columns.clone()), (Floats{0, 3, 1, 4, 2, 5}));
  const Tensor last_first = Tensor::borrow(memory.data() + 5, DType::f32, {6}, {-1});
  EXPECT_EQ(values_of(last_first.contiguous()), (Floats{5, 4, 3, 2, 1, 0}));
  const Tensor same = Tensor::borrow(memory.data(), DType::f32, {4, 3}, {0, 1});
  EXPECT_EQ(values_of(same.contiguous()), (Floats{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
  EXPECT_TRUE(Tensor::borrow(memory.data(), DType::f32, {2, 1, 3}, {3, 77, 1}).is_contiguous());
  EXPECT_EQ(Tensor::borrow(memory.data(), DType::f32, {2, 3}).strides(), (Sizes{3, 1}));
  EXPECT_NE(invalid_argument_of([&] { Tensor::borrow(memory.data(), DType::f32, {2, 3}, {1}); }), "no error");
  EXPECT_NE(invalid_argument_of([&] { Tensor::borrow(memory.data(), DType::f4_e2m1, {2, 2}, {1, 2}); }), "no error");
}

TEST(TensorStrides, StayWithinAllAddresses) {
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min(), kHigh = ~kLow;
  Floats memory = {0, 1};
  const auto refuses = [&](Sizes sizes, Sizes strides) {
    const std::string said = invalid_argument_of([&] { Tensor::borrow(memory.data(), DType::f32, sizes, strides); });
    return said.find("beyond all addresses") != std::string::npos;
  };
  EXPECT_TRUE(refuses({2}, {kLow}));
  EXPECT_TRUE(refuses({2}, {kHigh}));
  EXPECT_TRUE(refuses({3}, {kHigh / 4}));
  EXPECT_TRUE(refuses({2, 2}, {kHigh / 5, kHigh / 5}));
  EXPECT_TRUE(refuses({2, 2}, {kHigh / 5, -(kHigh / 5)}));
  EXPECT_FALSE(refuses({2, 2}, {kHigh / 16, -(kHigh / 16)}));
  EXPECT_FALSE(refuses({1, 2}, {kLow, 2}));
  EXPECT_FALSE(refuses({0, 2}, {kLow, kHigh}));
}

TEST(TensorOwner, LivesAsLongAsTheLastCopy) {
  auto memory = std::make_shared<Floats>(Floats{1, 2});
  const std::weak_ptr<Floats> watched = memory;
  float* const data = memory->data();
  {
    const Tensor a = Tensor::borrow(data, DType::f32, {2}, {}, std::move(memory));
    const Tensor b = a;
    EXPECT_FALSE(watched.expired());
    EXPECT_EQ(values_of(b), (Floats{1, 2}));
  }
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace tern
