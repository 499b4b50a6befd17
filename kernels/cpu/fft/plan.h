// A complex Fourier transform of one size on several interleaved lines: mixed radices, and Bluestein's algorithm for
// sizes with a large prime factor.
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
  /// Elements of each line that `run` needs room for; may be more than size().
  std::int64_t room() const;
  /// sum x[j] exp(-2 pi i j k / n) for each line. `other` is room for as many lines; on return `x` and `other` are
  /// swapped or not such that the result is in x.
  void run(FftLines<W>& x, FftLines<W>& other, std::int64_t lanes) const;

 private:
  struct Stage {
    int radix = 0;
    std::int64_t rest = 0;    ///< size of the transforms that are left after this stage
    std::vector<W> twiddles;  ///< for each p < rest: cos and sin for j = 1 .. radix - 1
  };
  struct Bluestein;
  void run_stages(FftLines<W>& x, FftLines<W>& other, std::int64_t lanes) const;

  std::int64_t n_;
  std::vector<Stage> stages_;
  std::unique_ptr<Bluestein> bluestein_;
};

/// Whether n has no prime factor above 13.
bool fft_is_smooth(std::int64_t n);
/// cos and sin of 2 pi k / n, rounded once; 0 <= k.
void fft_root(std::int64_t k, std::int64_t n, double* cosine, double* sine);

}  // namespace tern::cpu
