// embedding_bag: rows of a matrix joined bag by bag.
#include <algorithm>

#include "kernels/cpu/indexing/indexing.h"
#include "kernels/cpu/indexing/positions.h"
#include "kernels/cpu/walk.h"
#include "schema/kinds.h"

namespace tern {
namespace {

template <class L>
class Bags {
 public:
  explicit Bags(KernelCall& c)
      : c_(c),
        kind_(static_cast<BagKind>(c.node->integer(AttrKey::kind))),
        rows_(c.in[0].size(0)),
        width_(c.in[0].size(1)),
        padding_(c.node->integer(AttrKey::padding_index)),
        indices_(c.in[1]),
        reader_(c.in[0].dtype) {}

  void run() {
    const Positions offsets(c_.in[2]);
    const bool full = c_.node->integer(AttrKey::full) != 0;
    const std::int64_t count = c_.in[1].numel(), entries = c_.in[2].numel(), bags = full ? entries - 1 : entries;
    if (entries > 0 && offsets[0] != 0) fail(ErrorCode::runtime, "the first bag must start at 0");
    for (std::int64_t b = 0; b < bags; ++b) {
      const std::int64_t first = offsets[b], last = b + 1 < entries ? offsets[b + 1] : count;
      if (first < 0 || last < first || last > count) {
        fail(ErrorCode::runtime,
             "bag " + std::to_string(b) + " does not lie within " + std::to_string(count) + " indices");
      }
      one(b, first, last);
    }
  }

 private:
  void one(std::int64_t bag, std::int64_t first, std::int64_t last) {
    std::int64_t size = 0;
    for (std::int64_t i = first; i < last; ++i) {
      if (c_.wants(1)) c_.out[1].as<std::int64_t>()[i] = bag;
      size += indices_.at(i, rows_) != padding_;
    }
    if (c_.wants(2)) c_.out[2].as<std::int64_t>()[bag] = size;
    for (std::int64_t j = 0; j < width_; j += kRun) columns(bag, first, last, size, j, std::min(kRun, width_ - j));
  }

  void columns(std::int64_t bag, std::int64_t first, std::int64_t last, std::int64_t size, std::int64_t j,
               std::int64_t n) {
    const std::int64_t bytes = element_size(c_.in[0].dtype);
    double acc[kRun] = {};
    std::int64_t best[kRun];
    std::fill_n(best, n, -1);
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t row = indices_[i];
      if (row == padding_) continue;
      const L* v = reader_.read(c_.in[0].data + (row * width_ + j) * bytes, 1, n);
      double by = 1;
      if (c_.has(3)) convert(c_.in[3].data + i * bytes, c_.in[3].dtype, &by, DType::f64, 1);
      for (std::int64_t k = 0; k < n; ++k) {
        const double x = static_cast<double>(v[k]);
        if (kind_ != BagKind::max) {
          acc[k] += x * by;
        } else if (best[k] < 0 || x > acc[k]) {
          acc[k] = x;
          best[k] = row;
        }
      }
    }
    if (kind_ == BagKind::mean && size > 0) {
      for (std::int64_t k = 0; k < n; ++k) acc[k] /= static_cast<double>(size);
    }
    const std::int64_t place = bag * width_ + j;
    if (c_.wants(0)) convert(acc, DType::f64, c_.out[0].data + place * bytes, c_.out[0].dtype, n);
    if (kind_ == BagKind::max && c_.wants(3)) std::copy_n(best, n, c_.out[3].as<std::int64_t>() + place);
  }

  KernelCall& c_;
  BagKind kind_;
  std::int64_t rows_, width_, padding_;
  Positions indices_;
  RunReader<L> reader_;
};

}  // namespace

void cpu_embedding_bag(KernelCall& c) {
  if (c.in[0].dtype == DType::f64) {
    Bags<double>(c).run();
  } else {
    Bags<float>(c).run();
  }
}

}  // namespace tern
