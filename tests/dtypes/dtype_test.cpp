#include <gtest/gtest.h>
#include <tern/dtype.h>
#include <tern/error.h>

#include <set>
#include <string>

#include "dtypes/storage.h"

namespace tern::test {
namespace {

struct Row {
  const char* name;  // as torch.<name>
  int size;          // as tensor.element_size()
  char kind;         // b(ool), u(nsigned), s(igned), f(loating), c(omplex)
};
// Indexed by numeric value, part of the archive format. PyTorch has no 6-bit types.
constexpr Row kRows[] = {
    {"invalid", 0, '-'},
    {"bool", 1, 'b'},
    {"uint8", 1, 'u'},
    {"int8", 1, 's'},
    {"int16", 2, 's'},
    {"int32", 4, 's'},
    {"int64", 8, 's'},
    {"uint16", 2, 'u'},
    {"uint32", 4, 'u'},
    {"uint64", 8, 'u'},
    {"float16", 2, 'f'},
    {"bfloat16", 2, 'f'},
    {"float32", 4, 'f'},
    {"float64", 8, 'f'},
    {"complex32", 4, 'c'},
    {"complex64", 8, 'c'},
    {"complex128", 16, 'c'},
    {"float8_e4m3fn", 1, 'f'},
    {"float8_e5m2", 1, 'f'},
    {"float8_e4m3fnuz", 1, 'f'},
    {"float8_e5m2fnuz", 1, 'f'},
    {"float8_e8m0fnu", 1, 'f'},
    {"float6_e2m3fn", 1, 'f'},
    {"float6_e3m2fn", 1, 'f'},
    {"float4_e2m1fn_x2", 1, 'f'},
    {"int4", 1, 'e'},  // elements of quantized values: no integers to count with
    {"int2", 1, 'e'},
};
static_assert(std::size(kRows) == kDTypeCount);

TEST(DType, TableIsPyTorchs) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto t = static_cast<DType>(i);
    const Row& r = kRows[i];
    EXPECT_EQ(name_of(t), r.name);
    EXPECT_EQ(dtype_from_name(r.name), i < kTensorDTypeCount ? t : DType::invalid);
    EXPECT_EQ(element_size(t), r.size) << r.name;
    EXPECT_EQ(is_floating(t), r.kind == 'f') << r.name;
    EXPECT_EQ(is_complex(t), r.kind == 'c') << r.name;
    EXPECT_EQ(is_integral(t), r.kind == 'u' || r.kind == 's') << r.name;
    EXPECT_EQ(is_signed_integer(t), r.kind == 's') << r.name;
  }
}

TEST(DType, AnyByteIsSafe) {
  for (int i = kDTypeCount; i < 256; ++i) {
    const auto t = static_cast<DType>(i);
    EXPECT_EQ(name_of(t), "invalid");
    EXPECT_EQ(element_size(t), 0);
    EXPECT_FALSE(is_floating(t) || is_complex(t) || is_integral(t) || is_signed_integer(t));
  }
  EXPECT_EQ(dtype_from_name("float7"), DType::invalid);
  EXPECT_EQ(dtype_from_name(""), DType::invalid);
}

TEST(DType, VisitGivesATypeOfTheRightSize) {
  for (int i = 1; i < kTensorDTypeCount; ++i) {
    const auto t = static_cast<DType>(i);
    if (t == DType::f4_e2m1) continue;
    const auto [size, back] = visit_dtype(t, []<class T>(std::type_identity<T>) {
      return std::pair<int, DType>(static_cast<int>(sizeof(T)), dtype_of_v<T>);
    });
    EXPECT_EQ(size, element_size(t)) << name_of(t);
    EXPECT_EQ(back, t);
  }
}

TEST(DType, VisitRefusesWhatHasNoElement) {
  for (const DType t : {DType::invalid, DType::f4_e2m1, static_cast<DType>(200)}) {
    try {
      visit_dtype(t, [](auto) {});
      ADD_FAILURE() << name_of(t);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unsupported);
    }
  }
}

}  // namespace
}  // namespace tern::test
