#include "kernels/cpu/fft/lines.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/linalg/batch.h"

namespace tern::cpu {

// Contiguous lines are transposed to rows of lanes and back; all arithmetic runs over the lanes of a row.
//
// Real lines of even size: elements 2j and 2j + 1 form a complex line of half the size; the spectra of even and odd
// elements follow from its spectrum. Odd sizes are transformed as complex numbers.

template <class T, class W>
LineTransform<T, W>::LineTransform(Kind kind, std::int64_t size, bool forward, double scale)
    : kind_(kind),
      size_(size),
      forward_(forward),
      scale_(static_cast<W>(scale)),
      plan_(kind != Kind::complex && size % 2 == 0 ? size / 2 : size) {
  if (!halved()) return;
  for (std::int64_t k = 0; k <= size / 2; ++k) {
    double c, s;
    fft_root(k, size, &c, &s);
    roots_.push_back(static_cast<W>(c));
    roots_.push_back(static_cast<W>(-s));
  }
}

template <class T, class W>
typename LineTransform<T, W>::Rows LineTransform<T, W>::rows_of(const void* from, bool is_complex, const Group& g,
                                                                std::int64_t count, std::int64_t size, T* spare) const {
  const std::int64_t numbers = is_complex ? 2 : 1;
  const T* data = static_cast<const T*>(from) + g.start * numbers;
  if (g.is_contiguous()) {
    if (g.lanes == 1) return {data, 1};
    transpose(data, g.lanes, count * numbers, size * numbers, spare, g.lanes);
    return {spare, g.lanes};
  }
  if (!is_complex) return {data, g.distance};
  for (std::int64_t j = 0; j < count; ++j) {
    for (std::int64_t l = 0; l < g.lanes; ++l) {
      spare[2 * j * g.lanes + l] = data[2 * (j * g.distance + l)];
      spare[(2 * j + 1) * g.lanes + l] = data[2 * (j * g.distance + l) + 1];
    }
  }
  return {spare, g.lanes};
}

template <class T, class W>
void LineTransform<T, W>::store_rows(const T* rows, bool is_complex, const Group& g, std::int64_t count,
                                     std::int64_t size, void* to) const {
  const std::int64_t numbers = is_complex ? 2 : 1;
  T* data = static_cast<T*>(to) + g.start * numbers;
  if (g.is_contiguous()) return transpose(rows, count * numbers, g.lanes, g.lanes, data, size * numbers);
  for (std::int64_t j = 0; j < count * numbers; ++j) {
    T* row = data + j / numbers * numbers * g.distance + j % numbers;
    for (std::int64_t l = 0; l < g.lanes; ++l) row[l * numbers] = rows[j * g.lanes + l];
  }
}

template <class T, class W>
void LineTransform<T, W>::transform(const void* from, const Group& group, FftLines<W>& x, FftLines<W>& other) const {
  const RowLoops<T, W>& loops = fft_rows<T, W>();
  const std::int64_t lanes = group.lanes;
  T* spare = reinterpret_cast<T*>(std::min(other.re, other.im));
  // Inverse transforms exchange real and imaginary parts.
  const bool inverse = kind_ == Kind::to_real || (kind_ == Kind::complex && !forward_);
  const auto run_plan = [&] {
    if (inverse) std::swap(x.re, x.im);
    plan_.run(x, other, lanes);
    if (inverse) std::swap(x.re, x.im);
  };
  if (kind_ == Kind::to_real) {
    const Rows rows = rows_of(from, true, group, size_ / 2 + 1, size_ / 2 + 1, spare);
    // The transform has the positive exponent: forward transforms read the conjugate.
    loops.read_spectrum(rows.data, size_, lanes, forward_ ? W(-1) : W(1), halved() ? roots_.data() : nullptr, x);
    return run_plan();
  }
  const bool is_complex = kind_ == Kind::complex;
  if (is_complex && !group.is_contiguous()) {
    loops.read_pairs(static_cast<const T*>(from) + 2 * group.start, 2 * group.distance, size_, lanes, x);
    return run_plan();
  }
  const Rows rows = rows_of(from, is_complex, group, size_, size_, spare);
  if (!is_complex && !halved()) {
    loops.read_real(rows.data, rows.distance, size_, lanes, x);
    return run_plan();
  }
  if constexpr (std::is_same_v<T, W>) {
    // The first stage reads rows of real and imaginary parts as they alternate.
    if (plan_.reads_rows()) {
      FftLines<const W> input{rows.data, rows.data + rows.distance};
      if (inverse) std::swap(input.re, input.im);
      plan_.run_rows(input, 2 * rows.distance, x, other, lanes);
      if (inverse) std::swap(x.re, x.im);
      return;
    }
  }
  loops.read_complex(rows.data, rows.distance, plan_.size(), lanes, x);
  run_plan();
}

template <class T, class W>
void LineTransform<T, W>::write(FftLines<W> x, FftLines<W> other, const Group& group, void* to) const {
  const RowLoops<T, W>& loops = fft_rows<T, W>();
  const std::int64_t lanes = group.lanes;
  T* rows = reinterpret_cast<T*>(std::min(other.re, other.im));
  if (kind_ == Kind::from_real) {
    loops.write_spectrum(x, size_, lanes, scale_, forward_ ? W(1) : W(-1), halved() ? roots_.data() : nullptr, rows);
    return store_rows(rows, true, group, size_ / 2 + 1, size_ / 2 + 1, to);
  }
  if (kind_ == Kind::complex && !group.is_contiguous())
    return loops.write_pairs(x, size_, lanes, scale_, static_cast<T*>(to) + 2 * group.start, 2 * group.distance);
  if (kind_ == Kind::to_real && !halved()) {
    loops.write_real(x, size_, lanes, scale_, rows, lanes);
  } else {
    loops.write_complex(x, plan_.size(), lanes, scale_, rows, lanes);
  }
  store_rows(rows, kind_ == Kind::complex, group, size_, size_, to);
}

template <class T, class W>
void LineTransform<T, W>::run(const void* from, void* to, const LineLayout& layout, std::int64_t begin,
                              std::int64_t end, W* work) const {
  const std::int64_t spectrum = size_ / 2 + 1;
  const std::int64_t input_size = kind_ == Kind::to_real ? spectrum : size_;
  const std::int64_t output_size = kind_ == Kind::from_real ? spectrum : size_;
  const std::int64_t most = lanes(end - begin), numbers = room() * most;
  for (std::int64_t line = begin; line < end;) {
    // The lines of a group lie side by side; the groups of a row differ by one line at most.
    const std::int64_t row = layout.inner == 1 ? end - line : std::min(end - line, layout.inner - line % layout.inner);
    const std::int64_t groups = (row + most - 1) / most, count = (row + groups - 1) / groups;
    FftLines<W> x{work, work + numbers}, other{work + 2 * numbers, work + 3 * numbers};
    transform(from, {layout.begin(line, input_size), layout.inner, count}, x, other);
    write(x, other, {layout.begin(line, output_size), layout.inner, count}, to);
    line += count;
  }
}

template class LineTransform<float, float>;
template class LineTransform<float, double>;
template class LineTransform<double, double>;

}  // namespace tern::cpu
