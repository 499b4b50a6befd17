// Fourier transforms of lines of a tensor: complex, from real numbers, and to real numbers.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "kernels/cpu/fft/plan.h"
#include "kernels/cpu/fft/rows.h"

namespace tern::cpu {

/// The lines of a contiguous tensor along an axis: line l = (o, i) begins at o * size * inner + i, with elements
/// `inner` apart.
struct LineLayout {
  std::int64_t outer = 1, inner = 1;
  std::int64_t count() const { return outer * inner; }
  std::int64_t begin(std::int64_t line, std::int64_t size) const { return line / inner * size * inner + line % inner; }
};

/// Transforms along an axis with elements of type T, computed in W.
template <class T, class W>
class LineTransform {
 public:
  using Complex = std::complex<T>;
  enum class Kind { complex, from_real, to_real };

  /// `size` counts the elements of the signal: the result for to_real, else the input.
  LineTransform(Kind kind, std::int64_t size, bool forward, double scale);

  /// Returns the number of lines, among `lines`, computed side by side.
  static std::int64_t lanes(std::int64_t lines) {
    constexpr std::int64_t kLanes = 64 / static_cast<std::int64_t>(sizeof(W));
    return lines < kLanes ? lines : kLanes;
  }
  /// Returns the scratch elements of W for `run`.
  std::int64_t work_elements(std::int64_t lanes) const { return 4 * room() * lanes; }
  /// Transforms lines begin to end. `from` and `to` are T or Complex according to the kind, and may alias.
  void run(const void* from, void* to, const LineLayout& layout, std::int64_t begin, std::int64_t end, W* work) const;

 private:
  /// Lines of a tensor that are transformed side by side.
  struct Group {
    std::int64_t start = 0;     ///< the first line, in elements of the tensor
    std::int64_t distance = 1;  ///< between elements of a line
    std::int64_t lanes = 1;
    bool is_contiguous() const { return distance == 1; }
  };
  /// Real numbers of a line: rows of `Group::lanes` begin `distance` numbers apart.
  struct Rows {
    const T* data;
    std::int64_t distance;
  };

  bool halved() const { return kind_ != Kind::complex && size_ % 2 == 0; }
  /// Elements of each line in scratch memory: a spectrum has one more than the lines of half its size.
  std::int64_t room() const { return plan_.room() + 1; }
  /// Rows of `count` elements of a group, real or complex; `spare` has room for them.
  Rows rows_of(const void* from, bool is_complex, const Group& g, std::int64_t count, std::int64_t size,
               T* spare) const;
  void store_rows(const T* rows, bool is_complex, const Group& g, std::int64_t count, std::int64_t size,
                  void* to) const;
  void transform(const void* from, const Group& group, FftLines<W>& x, FftLines<W>& other) const;
  void write(FftLines<W> x, FftLines<W> other, const Group& group, void* to) const;

  Kind kind_;
  std::int64_t size_;
  bool forward_;
  W scale_;
  FftPlan<W> plan_;
  std::vector<W> roots_;  ///< exp(-2 pi i k / size) for a halved transform
};

}  // namespace tern::cpu
