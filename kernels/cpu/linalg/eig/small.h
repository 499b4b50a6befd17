// Eigenvalues and vectors of small real matrices, for which LAPACK's geev spends most time outside the arithmetic.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace tern::cpu {

/// The imaginary part of one of a conjugate pair in another type: never zero, as zero means a real eigenvalue.
template <class T>
T nonzero_imaginary(double exact, double rounded) {
  const T x = static_cast<T>(rounded);
  return x == 0 && exact != 0 ? std::copysign(std::numeric_limits<T>::denorm_min(), static_cast<T>(exact)) : x;
}

/// EISPACK's balanc, orthes, ortran, hqr2 and balbak (Wilkinson and Reinsch, Handbook for Automatic Computation II,
/// 1971), with the vectors of LAPACK's geev.
class SmallEig {
 public:
  /// Numbers of scratch memory for a matrix of n rows.
  static std::int64_t scratch(int n) { return 2 * std::int64_t{n} * n + 4 * std::int64_t{n}; }
  SmallEig(int n, bool vectors, double* scratch);

  /// The matrix in rows: the caller writes finite elements, and run() overwrites them.
  double* matrix() { return h_; }
  /// Returns false without convergence.
  bool run();
  const double* real() const { return real_; }
  const double* imaginary() const { return imaginary_; }
  /// Column k in n elements. A pair of conjugate eigenvalues, the positive imaginary part first, has the real and the
  /// imaginary part of the first vector in its two columns.
  const double* vector(int k) const { return v_ + std::int64_t{k} * n_; }

 private:
  double& h(int r, int c) { return h_[std::int64_t{r} * n_ + c]; }
  double& v(int r, int c) { return v_[std::int64_t{c} * n_ + r]; }
  int scale_to_ordinary_size();
  void balance();
  void reduce_to_hessenberg();
  bool iterate();
  void split_pair(int last, double shift);
  void double_step(int first, int start, int last, double p, double q, double r);
  void solve_triangle();
  void solve_for_real(int k);
  void solve_for_pair(int k);
  void divide_columns(int row, int from, int to, double size);
  void transform_vectors();
  void normalize_vectors();

  int n_;
  bool vectors_;
  double norm_ = 0;
  double *h_, *v_, *real_, *imaginary_, *scales_;
};

}  // namespace tern::cpu
