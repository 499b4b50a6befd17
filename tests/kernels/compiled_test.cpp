// Kernels compiled with Tern: every op finds its kernels for all element types, kinds and attributes accepted by its
// shape rule.
#include "kernels/portable/compiled.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include <limits>

#include "kernels/generate/sample_node.h"
#include "schema/kinds.h"
#include "schema/linalg_kinds.h"

namespace tern::test {
namespace {

constexpr DType kCompiledTypes[] = {
    DType::boolean,     DType::u8,          DType::i8,      DType::i16,     DType::i32,       DType::i64,
    DType::u16,         DType::u32,         DType::u64,     DType::f16,     DType::bf16,      DType::f32,
    DType::f64,         DType::c32,         DType::c64,     DType::c128,    DType::f8_e4m3fn, DType::f8_e5m2,
    DType::f8_e4m3fnuz, DType::f8_e5m2fnuz, DType::f8_e8m0, DType::f6_e2m3, DType::f6_e3m2};

/// Prepares the node with each set of wanted outputs. False if the shape rule refuses the node.
bool prepare(const generate::Sample& s) {
  generate::SampleNode node(s);
  std::vector<TensorType> results;
  try {
    results = node.results();
  } catch (const Error&) {
    return false;
  }
  const Kernel kernel = portable::compiled_kernel(s.op);
  for (std::size_t unwanted = 0; unwanted <= results.size(); ++unwanted) {
    std::vector<TensorView> out;
    for (std::size_t i = 0; i < results.size(); ++i)
      out.push_back(i == unwanted && results.size() > 1 ? TensorView{} : generate::view_of(results[i]));
    const KernelCall call = node.call(out);
    EXPECT_NO_THROW(kernel.prepare(call))
        << op_name(s.op) << " of " << name_of(s.inputs.empty() ? results[0].dtype : s.inputs[0].dtype);
  }
  return true;
}

/// Replaces the floating type of `sample` by `t`, and the integer type by `integers`.
generate::Sample replace_type(generate::Sample sample, DType from, DType t, DType integers) {
  for (generate::SampleOperand& o : sample.inputs) {
    if (o.dtype == from) {
      o.dtype = t;
    } else if (o.dtype == DType::i64) {
      o.dtype = integers;
    }
  }
  for (Attr& a : sample.attrs) {
    if (a.key == AttrKey::dtype) a.data = Dims{static_cast<std::int64_t>(t)};
  }
  return sample;
}

generate::Sample replace_attribute(generate::Sample sample, AttrKey key, AttrData data) {
  std::erase_if(sample.attrs, [&](const Attr& a) { return a.key == key; });
  sample.attrs.push_back({key, std::move(data)});
  return sample;
}

// The samples have a node of each kind; this test takes all element types, in any combination accepted by the rules.
TEST(Compiled, EveryElementTypeHasItsTexts) {
  std::map<Op, int> taken;
  for (const generate::Sample& s : generate::samples()) {
    const DType from = s.inputs.empty() ? DType::invalid : s.inputs[0].dtype;
    for (DType t : kCompiledTypes) {
      for (DType integers : {DType::i32, DType::i64})
        taken[s.op] += prepare(replace_type(s, from, t, integers)) ? 1 : 0;
    }
  }
  EXPECT_GE(taken.size(), 24u);
  for (const auto& [op, n] : taken) EXPECT_GE(n, 4) << op_name(op);
}

// Attributes that the source takes as parameters: no value needs its own compilation.
TEST(Compiled, EveryKindHasItsTexts) {
  const AttrKey flags[] = {AttrKey::upper,     AttrKey::unit,   AttrKey::left,     AttrKey::full,
                           AttrKey::hermitian, AttrKey::check,  AttrKey::maximize, AttrKey::align_corners,
                           AttrKey::density,   AttrKey::forward};
  int taken = 0;
  for (const generate::Sample& s : generate::samples()) {
    for (AttrKey flag : flags) {
      for (std::int64_t v : {0, 1}) taken += prepare(replace_attribute(s, flag, Dims{v})) ? 1 : 0;
    }
    for (std::int64_t v = 0; v < 8; ++v) {
      taken += prepare(replace_attribute(s, AttrKey::kind, Dims{v})) ? 1 : 0;
      taken += prepare(replace_attribute(s, AttrKey::mode, Dims{v})) ? 1 : 0;
      taken += prepare(replace_attribute(s, AttrKey::transpose, Dims{v})) ? 1 : 0;
      taken += prepare(replace_attribute(s, AttrKey::norm, Dims{v})) ? 1 : 0;
    }
    for (double p : {0.0, 0.5, 1.0, 2.0, 2.5, 7.0, std::numeric_limits<double>::infinity()})
      taken += prepare(replace_attribute(s, AttrKey::p, std::vector<double>{p})) ? 1 : 0;
  }
  EXPECT_GE(taken, 800);
}

TEST(Compiled, EveryLengthOfTransformHasItsTexts) {
  for (std::int64_t n = 1; n < 70; ++n) {
    for (FftKind kind : {FftKind::complex_to_complex, FftKind::real_to_complex, FftKind::complex_to_real}) {
      for (DType t : {DType::f32, DType::f64}) {
        const DType in = kind == FftKind::real_to_complex ? t : t == DType::f32 ? DType::c64 : DType::c128;
        generate::Sample s{Op::fft,
                           {{in, {3, kind == FftKind::complex_to_real ? n / 2 + 1 : n}}},
                           {generate::integer(AttrKey::kind, kind), generate::integer(AttrKey::length, n)}};
        EXPECT_TRUE(prepare(replace_attribute(s, AttrKey::axes, Dims{1})));
        EXPECT_TRUE(prepare(replace_attribute(s, AttrKey::axes, Dims{0, 1})));
      }
    }
  }
}

TEST(Compiled, WhatIsNotThereIsSaid) {
  try {
    portable::compiled_launcher().kernel("some key", "tern_sums", [] { return std::string(); });
    FAIL() << "was found";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(e.what()).find("no kernel 'sums'"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace tern::test
