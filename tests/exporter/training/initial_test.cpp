// Initial adapter weights: torch.nn.init.kaiming_uniform_(matrix, a=math.sqrt(5)) after torch.manual_seed(5), torch
// 2.12.1.
#include "exporter/training/initial.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tern {
namespace {

template <class T>
std::vector<T> numbers(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(InitialParameters, AreTheBitsOfPyTorchInFloat32) {
  PyTorchGenerator generator(5);
  EXPECT_EQ(numbers<float>(generator.kaiming_uniform({DType::f32, {2, 3}})),
            (std::vector<float>{0x1.867e84p-2F, -0x1.ba1768p-2F, 0x1.e1cc3p-2F, 0x1.7a4936p-2F, 0x1.f0bc64p-2F,
                                -0x1.c548a8p-2F}));
  const std::vector<float> next = numbers<float>(generator.kaiming_uniform({DType::f32, {3, 5}}));
  EXPECT_EQ(std::vector<float>(next.end() - 3, next.end()),
            (std::vector<float>{-0x1.96137cp-2F, 0x1.80c70ep-2F, 0x1.36f914p-3F}));
  const std::vector<float> large = numbers<float>(PyTorchGenerator(5).kaiming_uniform({DType::f32, {40, 50}}));
  EXPECT_EQ(std::vector<float>(large.end() - 2, large.end()), (std::vector<float>{-0x1.f5432p-6F, 0x1.567cb8p-11F}));
}

TEST(InitialParameters, AreTheBitsOfPyTorchInFloat64) {
  PyTorchGenerator generator(5);
  EXPECT_EQ(numbers<double>(generator.kaiming_uniform({DType::f64, {2, 3}})),
            (std::vector<double>{0x1.4fd743e6c66b0p-3, -0x1.1c10c13df752cp-2, -0x1.491e5a11a6fbdp-3,
                                 -0x1.b52de98897244p-3, -0x1.148bd4ed2d17bp-2, 0x1.9f88b334d0383p-2}));
  const std::vector<double> next = numbers<double>(generator.kaiming_uniform({DType::f64, {3, 5}}));
  EXPECT_EQ(std::vector<double>(next.end() - 3, next.end()),
            (std::vector<double>{0x1.d7ee32f84d169p-3, 0x1.cb1b411c28b57p-8, 0x1.1bec729ba06cbp-3}));
}

}  // namespace
}  // namespace tern
