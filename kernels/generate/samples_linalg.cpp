#include "kernels/generate/samples.h"
#include "schema/linalg_kinds.h"

namespace tern::generate {
namespace {

using enum DType;

constexpr DType kReal[] = {f32, f64}, kWide[] = {f64, c128}, kNumbers[] = {f32, f64, c64, c128};

void add_linalg(std::vector<Sample>& s) {
  for (DType t : kWide) {
    const Operand a{t, {3, 3}}, vector{t, {3}}, pivots{i32, {3}};
    s.push_back({Op::lu_factor, {a}, {}});
    s.push_back({Op::cholesky, {a}, {}});
    s.push_back({Op::ldl_factor, {a}, {}});
    s.push_back({Op::ldl_solve, {a, pivots, a}, {}});
    s.push_back({Op::qr, {a}, {integer(AttrKey::mode, QrMode::reduced)}});
    for (HouseholderKind kind : {HouseholderKind::product, HouseholderKind::multiply}) {
      Sample householder{Op::householder, {a, vector}, {integer(AttrKey::kind, kind)}};
      if (kind == HouseholderKind::multiply) householder.inputs.push_back(a);
      s.push_back(householder);
    }
    s.push_back({Op::triangular_solve, {a, a}, {integer(AttrKey::left, 1)}});
    s.push_back({Op::lu_solve, {a, pivots, a}, {integer(AttrKey::left, 1)}});
    s.push_back({Op::eigh, {a}, {}});
    s.push_back({Op::svd, {a}, {}});
    s.push_back({Op::eig, {a}, {}});
    s.push_back({Op::matrix_exp, {a}, {}});
  }
  for (DType t : kNumbers) s.push_back({Op::lstsq, {{t, {3, 3}}, {t, {3, 3}}}, {integer(AttrKey::mode, 0)}});
}

/// Sizes of each radix that has a loop of its own, of one that has none, and of a long sum.
void add_fft(std::vector<Sample>& s) {
  for (std::int64_t n : {2, 4, 8, 3, 11}) {
    for (FftKind kind : {FftKind::complex_to_complex, FftKind::real_to_complex, FftKind::complex_to_real}) {
      for (DType t : kReal) {
        const DType in = kind == FftKind::real_to_complex ? t : t == f32 ? c64 : c128;
        s.push_back({Op::fft,
                     {{in, {kind == FftKind::complex_to_real ? n / 2 + 1 : n}}},
                     {{AttrKey::axes, Dims{0}}, integer(AttrKey::kind, kind), integer(AttrKey::length, n)}});
      }
    }
  }
}

}  // namespace

void add_linalg_samples(std::vector<Sample>& s) {
  add_linalg(s);
  add_fft(s);
}

}  // namespace tern::generate
