#include "kernels/cpu/dnnl/engine.h"

#include <tern/error.h>

#include <algorithm>
#include <string>

namespace tern::dnnl_cpu {

using dnnl::memory;

const dnnl::engine& engine() {
  static const dnnl::engine e = [] {
    // Otherwise the first primitive searches every folder of the loader for a profiler library.
    dnnl::set_jit_profiling_flags(DNNL_JIT_PROFILE_NONE);
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return e;
}

std::recursive_mutex& creation() {
  static std::recursive_mutex m;
  return m;
}

dnnl::stream& stream() {
  thread_local dnnl::stream s(engine());
  return s;
}

memory::data_type data_type(DType t) {
  if (t == DType::f32) return memory::data_type::f32;
  if (t == DType::bf16) return memory::data_type::bf16;
  fail(ErrorCode::internal, "oneDNN is not used for " + std::string(name_of(t)));
}

bool has_bf16() {
  const auto isa = dnnl::get_effective_cpu_isa();
  return isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx
#if DNNL_VERSION_MAJOR >= 3
         || isa == dnnl::cpu_isa::avx512_core_fp16 || isa == dnnl::cpu_isa::avx512_core_amx_fp16
#endif
      ;
}

memory::desc plain(const memory::dims& sizes, memory::data_type type) {
  memory::dims strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<memory::dim>(sizes[i], 1);
  return {sizes, type, strides};
}

memory::desc any_layout(const memory::dims& sizes, memory::data_type type) {
  return {sizes, type, memory::format_tag::any};
}

namespace {

/// Leaves scratch memory to the caller, so a primitive may run on another thread than its creator.
dnnl::primitive_attr attributes() {
  dnnl::primitive_attr a;
  a.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return a;
}

}  // namespace

#if DNNL_VERSION_MAJOR >= 3

dnnl::matmul::primitive_desc matmul(const memory::desc& a, const memory::desc& b, const memory::desc& bias,
                                    const memory::desc& c) {
  if (is_none(bias)) return {engine(), a, b, c, attributes()};
  return {engine(), a, b, bias, c, attributes()};
}

dnnl::convolution_forward::primitive_desc convolution(const ConvolutionSpec& s) {
  return {engine(),
          dnnl::prop_kind::forward_inference,
          dnnl::algorithm::convolution_direct,
          s.x,
          s.weight,
          s.bias,
          s.y,
          s.strides,
          s.dilations,
          s.padding_before,
          s.padding_after,
          attributes()};
}

dnnl::deconvolution_forward::primitive_desc deconvolution(const ConvolutionSpec& s) {
  return {engine(),
          dnnl::prop_kind::forward_inference,
          dnnl::algorithm::deconvolution_direct,
          s.x,
          s.weight,
          s.bias,
          s.y,
          s.strides,
          s.dilations,
          s.padding_before,
          s.padding_after,
          attributes()};
}

#else

dnnl::matmul::primitive_desc matmul(const memory::desc& a, const memory::desc& b, const memory::desc& bias,
                                    const memory::desc& c) {
  return {is_none(bias) ? dnnl::matmul::desc(a, b, c) : dnnl::matmul::desc(a, b, bias, c), attributes(), engine()};
}

dnnl::convolution_forward::primitive_desc convolution(const ConvolutionSpec& s) {
  return {
      dnnl::convolution_forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, s.x,
                                      s.weight, s.bias, s.y, s.strides, s.dilations, s.padding_before, s.padding_after),
      attributes(), engine()};
}

dnnl::deconvolution_forward::primitive_desc deconvolution(const ConvolutionSpec& s) {
  return {dnnl::deconvolution_forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct,
                                            s.x, s.weight, s.bias, s.y, s.strides, s.dilations, s.padding_before,
                                            s.padding_after),
          attributes(), engine()};
}

#endif

}  // namespace tern::dnnl_cpu
