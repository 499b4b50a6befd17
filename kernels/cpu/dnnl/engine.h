// The engine of every oneDNN primitive, and wrappers for the differences between oneDNN 2 and 3.
#pragma once

#include <tern/dtype.h>

#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <vector>

namespace tern::dnnl_cpu {

const dnnl::engine& engine();
/// Lock for the creation of primitives: oneDNN 2.6 now and then generates wrong code when two threads create
/// convolutions at once.
std::recursive_mutex& creation();
/// Returns the calling thread's stream.
dnnl::stream& stream();

/// Only f32 and bf16 occur.
dnnl::memory::data_type data_type(DType t);
/// True if this processor multiplies bf16 natively (avx512_bf16 or amx).
bool has_bf16();

dnnl::memory::desc plain(const dnnl::memory::dims& sizes, dnnl::memory::data_type type);  ///< row-major
dnnl::memory::desc any_layout(const dnnl::memory::dims& sizes,
                              dnnl::memory::data_type type);  ///< the primitive's choice

struct ConvolutionSpec {
  dnnl::memory::desc x, weight, bias, y;                                 ///< a bias without dimensions is absent
  dnnl::memory::dims strides, dilations, padding_before, padding_after;  ///< oneDNN counts dilations from 0
};
// The functions throw dnnl::error if oneDNN has no implementation.
dnnl::matmul::primitive_desc matmul(const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                                    const dnnl::memory::desc& bias, const dnnl::memory::desc& c);
dnnl::convolution_forward::primitive_desc convolution(const ConvolutionSpec& s);
dnnl::deconvolution_forward::primitive_desc deconvolution(const ConvolutionSpec& s);

inline dnnl::memory::data_type type_of(const dnnl::memory::desc& d) {
#if DNNL_VERSION_MAJOR >= 3
  return d.get_data_type();
#else
  return d.data_type();
#endif
}

inline bool is_none(const dnnl::memory::desc& d) {
#if DNNL_VERSION_MAJOR >= 3
  return d.get_ndims() == 0;
#else
  return d.data.ndims == 0;
#endif
}

}  // namespace tern::dnnl_cpu
