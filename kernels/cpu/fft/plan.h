// A complex Fourier transform of a fixed size on several interleaved lines: mixed radices, and Bluestein's algorithm
// for sizes with a large prime factor.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace tern::cpu {

/// Real and imaginary parts of `lanes` lines: element j of line l is at [j * lanes + l].
template <class W>
struct FftLines {
  W *re = nullptr, *im = nullptr;
};

template <class W>
class FftPlan {
 public:
  explicit FftPlan(std::int64_t n);
  ~FftPlan();
  FftPlan(FftPlan&&) noexcept;
  FftPlan& operator=(FftPlan&&) noexcept;

  std::int64_t size() const { return n_; }
  /// Returns the elements of each line needed by `run`; may exceed size().
  std::int64_t room() const;
  /// Computes sum x[j] exp(-2 pi i j k / n) for each line. `other` has the same size; on return the result is in x,
  /// possibly swapped with `other`.
  void run(FftLines<W>& x, FftLines<W>& other, std::int64_t lanes) const;
  /// True if `run_rows` can be called.
  bool reads_rows() const { return !stages_.empty(); }
  /// Computes the same of `input`, whose rows of lanes begin `row` elements apart. `input` may lie in `other`.
  void run_rows(FftLines<const W> input, std::int64_t row, FftLines<W>& x, FftLines<W>& other,
                std::int64_t lanes) const;

 private:
  struct Stage {
    int radix = 0;
    std::int64_t remaining_size = 0;  ///< size of the remaining transforms after this stage
    std::vector<W> twiddles;          ///< per p < rest: cos and sin for j = 1 .. radix - 1
    std::vector<W> roots;             ///< a large radix has cosines, then sines
  };
  struct Bluestein;

  std::int64_t n_;
  std::vector<Stage> stages_;
  std::unique_ptr<Bluestein> bluestein_;
};

/// True if n has no prime factor above kLargestFftRadix.
bool fft_is_smooth(std::int64_t n);
/// Computes cos and sin of 2 pi k / n, rounded once; 0 <= k.
void fft_root(std::int64_t k, std::int64_t n, double* cosine, double* sine);

}  // namespace tern::cpu
