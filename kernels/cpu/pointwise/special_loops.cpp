// Loops of special functions, computed in double for both floating types.
#include "kernels/cpu/pointwise/loops.h"
#include "kernels/cpu/pointwise/scalar_loops.h"
#include "kernels/cpu/pointwise/special.h"

namespace tern::pointwise {
namespace {

template <class T, double (*kF)(double)>
constexpr Loop kLoop1 = loop1<T, T, [](T x) { return static_cast<T>(kF(static_cast<double>(x))); }>;
template <class T, double (*kF)(double, double)>
constexpr Loop kLoop2 =
    loop2<T, T, [](T x, T y) { return static_cast<T>(kF(static_cast<double>(x), static_cast<double>(y))); }>;

template <class T>
void add_special_loops(LoopTable& t, DType d) {
  t.set(Scalar::erfinv, d, kLoop1<T, special::erfinv>);
  t.set(Scalar::erfcx, d, kLoop1<T, special::erfcx>);
  t.set(Scalar::ndtri, d, kLoop1<T, special::ndtri>);
  t.set(Scalar::log_ndtr, d, kLoop1<T, special::log_ndtr>);
  t.set(Scalar::lgamma, d, kLoop1<T, special::lgamma>);
  t.set(Scalar::digamma, d, kLoop1<T, special::digamma>);
  t.set(Scalar::polygamma, d, kLoop2<T, special::polygamma<T>>);
  t.set(Scalar::zeta, d, kLoop2<T, special::zeta>);
  t.set(Scalar::igamma, d, kLoop2<T, special::igamma>);
  t.set(Scalar::igammac, d, kLoop2<T, special::igammac>);
  t.set(Scalar::i0, d, kLoop1<T, special::i0>);
  t.set(Scalar::i0e, d, kLoop1<T, special::i0e>);
  t.set(Scalar::i1, d, kLoop1<T, special::i1>);
  t.set(Scalar::i1e, d, kLoop1<T, special::i1e>);
  t.set(Scalar::bessel_j0, d, kLoop1<T, special::j0>);
  t.set(Scalar::bessel_j1, d, kLoop1<T, special::j1>);
  t.set(Scalar::bessel_y0, d, kLoop1<T, special::y0>);
  t.set(Scalar::bessel_y1, d, kLoop1<T, special::y1>);
  t.set(Scalar::modified_bessel_k0, d, kLoop1<T, special::k0>);
  t.set(Scalar::modified_bessel_k1, d, kLoop1<T, special::k1>);
  t.set(Scalar::scaled_modified_bessel_k0, d, kLoop1<T, special::k0e>);
  t.set(Scalar::scaled_modified_bessel_k1, d, kLoop1<T, special::k1e>);
  t.set(Scalar::spherical_bessel_j0, d, kLoop1<T, special::spherical_j0>);
  t.set(Scalar::airy_ai, d, kLoop1<T, special::airy_ai>);
}

}  // namespace

void add_special_loops(LoopTable& t) {
  add_special_loops<float>(t, DType::f32);
  add_special_loops<double>(t, DType::f64);
}

}  // namespace tern::pointwise
