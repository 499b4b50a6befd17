// attention: neighbouring queries pass through the keys together, in the order of a device's work-items.
#include <array>
#include <cmath>
#include <limits>

#include "dtypes/convert.h"
#include "dtypes/storage.h"
#include "kernels/attention_parts.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/pointwise/loops.h"
#include "kernels/cpu/reproducible/attention_loops.h"
#include "kernels/cpu/reproducible/contractions.h"
#include "kernels/cpu/scratch.h"
#include "schema/absent.h"
#include "threads/parallel.h"

namespace tern::reproducible {
namespace {

/// An operand of the loops, in place or converted.
struct AttentionOperand {
  TensorView view;
  bool converted = false;
};

AttentionOperand operand(const TensorView& v, DType type, int rank) {
  AttentionOperand o{unsqueeze_to_rank(v, rank), v.dtype != type && v.dtype != DType::boolean};
  if (o.converted) {
    o.view = planes_without_repeats(o.view);
    o.view.dtype = type;
    make_contiguous(o.view);
  }
  return o;
}

struct AttentionProblem {
  DType type;
  std::array<AttentionOperand, 4> in;  ///< q, k, v, mask
  std::int64_t queries, keys, width, out_width, planes;
  AttentionParts parts;
  bool causal, masked;
};

AttentionProblem describe_attention(const KernelCall& c) {
  const TensorView &out = c.out[0], &k = c.in[1];
  const int r = out.rank;
  AttentionProblem p{};
  p.type = c.in[0].dtype == DType::f64 ? DType::f64 : DType::f32;
  p.masked = c.has_input(3);
  for (std::size_t i = 0; i < (p.masked ? 4 : 3); ++i) p.in[i] = operand(c.in[i], p.type, r);
  p.queries = out.size(r - 2);
  p.out_width = out.size(r - 1);
  p.planes = out.numel() / (p.queries * p.out_width);
  p.keys = k.size(k.rank - 2);
  p.width = c.in[0].size(c.in[0].rank - 1);
  p.parts = attention_parts(p.planes * p.queries, p.keys, p.out_width);
  p.causal = c.node->integer(AttrKey::causal) != 0;
  return p;
}

struct AttentionBuffers {
  std::array<std::byte*, 4> in;
  std::byte *sums, *tops, *totals;  ///< partial values of key ranges
};
AttentionBuffers buffers(const AttentionProblem& p, ScratchArena& parts) {
  const std::int64_t size = element_size(p.type);
  AttentionBuffers b{};
  for (std::size_t i = 0; i < 4; ++i) {
    if (p.in[i].converted) b.in[i] = parts.allocate<std::byte>(p.in[i].view.numel() * size);
  }
  const std::int64_t rows = p.planes * p.queries * p.parts.count;
  if (p.parts.count > 1) {
    b.sums = parts.allocate<std::byte>(rows * p.out_width * size);
    b.tops = parts.allocate<std::byte>(rows * size);
    b.totals = parts.allocate<std::byte>(rows * size);
  }
  return b;
}

std::size_t scratch(const KernelCall& c) {
  if (c.out[0].numel() == 0) return 0;
  ScratchArena parts;
  buffers(describe_attention(c), parts);
  return parts.used();
}

/// Returns the offset in elements of the result's plane `p` in `v`: axes of one element are broadcast, and so are heads
/// of keys and values.
std::int64_t plane_offset(const TensorView& v, const TensorView& out, std::int64_t p) {
  std::int64_t offset = 0;
  for (int i = out.rank - 3; i >= 0; --i) {
    const std::int64_t size = out.size(i), own = v.size(i), at = p % size;
    p /= size;
    if (own > 1) offset += at / (size / own) * v.stride(i);
  }
  return offset;
}

template <class T>
StridedMatrix<T> matrix(const TensorView& v, std::int64_t offset) {
  const int r = v.rank;
  const auto step = [&](int axis) { return v.size(axis) == 1 ? 0 : v.stride(axis); };
  return {v.data_as<const T>() + offset, step(r - 2), step(r - 1)};
}

template <class T>
class ReproducibleAttention {
 public:
  ReproducibleAttention(const KernelCall& c, const AttentionProblem& p, const AttentionBuffers& at, T scale)
      : c_(c),
        p_(p),
        scale_(scale),
        sums_(reinterpret_cast<T*>(at.sums)),
        tops_(reinterpret_cast<T*>(at.tops)),
        totals_(reinterpret_cast<T*>(at.totals)) {
    for (std::size_t i = 0; i < 4; ++i) {
      if (!p.in[i].converted && i < c.in.size()) in_[i] = expanded_or_absent(c.in[i], c.out[0].rank);
      if (!p.in[i].converted) continue;
      to_dense(planes_without_repeats(unsqueeze_to_rank(c.in[i], c.out[0].rank)), p.type, at.in[i]);
      in_[i] = p.in[i].view;
      in_[i].data = at.in[i];
    }
  }

  void run() const {
    const std::int64_t blocks = (p_.queries + lanes() - 1) / lanes();
    parallel_for(p_.planes * blocks * p_.parts.count, grain_for(lanes() * p_.parts.run * p_.width),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i)
                     block(i / p_.parts.count / blocks, i / p_.parts.count % blocks * lanes(), i % p_.parts.count);
                 });
    if (p_.parts.count > 1) join();
  }

 private:
  static TensorView expanded_or_absent(const TensorView& v, int rank) {
    return v.dtype == DType::invalid ? v : unsqueeze_to_rank(v, rank);
  }
  static std::ptrdiff_t lanes() {
    return std::is_same_v<T, float> ? attention_loops().lanes_f32 : attention_loops().lanes_f64;
  }

  /// Runs queries [first, first + lanes) of a plane against the keys of a range.
  void block(std::int64_t plane, std::int64_t first, std::int64_t part) const {
    const TensorView& out = c_.out[0];
    const std::int64_t rows = std::min<std::int64_t>(lanes(), p_.queries - first);
    T* buffer = thread_buffer<T>(static_cast<std::size_t>(lanes() * (p_.width + p_.out_width + 3)), 3);
    Queries<T> q;
    q.queries = buffer;
    q.sums = buffer + lanes() * p_.width;
    q.top = q.sums + lanes() * p_.out_width;
    q.total = q.top + lanes();
    std::fill_n(q.sums, lanes() * p_.out_width, T(0));
    std::fill_n(q.top, lanes(), -std::numeric_limits<T>::infinity());
    std::fill_n(q.total, lanes(), T(0));
    const StridedMatrix<T> from = matrix<T>(in_[0], plane_offset(in_[0], out, plane));
    for (std::int64_t d = 0; d < p_.width; ++d) {
      for (std::int64_t l = 0; l < lanes(); ++l)
        buffer[d * lanes() + l] = l < rows ? from.row_at(first + l)[d * from.column] : T(0);
    }
    q.keys = matrix<T>(in_[1], plane_offset(in_[1], out, plane));
    q.values = matrix<T>(in_[2], plane_offset(in_[2], out, plane));
    q.width = p_.width;
    q.out_width = p_.out_width;
    q.begin = part * p_.parts.run;
    q.end = std::min(q.begin + p_.parts.run, p_.keys);
    if (p_.causal) q.end = std::min(q.end, first + rows);
    std::ptrdiff_t key_ends[kMostLanes];
    for (std::int64_t l = 0; l < lanes(); ++l)
      key_ends[l] = p_.causal && l < rows ? std::min(q.end, first + l + 1) : q.end;
    q.key_ends = key_ends;
    q.scale = scale_;
    q.exp = pointwise::reproducible_loop_table().get(Scalar::exp, p_.type);
    if (c_.in[2].dtype != p_.type) q.rounded = c_.in[2].dtype;
    mask(plane, first, rows, q);
    if (q.begin < q.end) run_loops(q);
    store(plane, first, rows, part, q);
  }
  static void run_loops(const Queries<float>& q) { attention_loops().f32(q); }
  static void run_loops(const Queries<double>& q) { attention_loops().f64(q); }

  void mask(std::int64_t plane, std::int64_t first, std::int64_t rows, Queries<T>& q) const {
    if (!p_.masked) return;
    const std::int64_t offset = plane_offset(in_[3], c_.out[0], plane);
    q.rows = rows;
    if (in_[3].dtype == DType::boolean) {
      q.visible = matrix<bool>(in_[3], offset);
      q.visible.data = q.visible.row_at(first);
    } else {
      q.mask = matrix<T>(in_[3], offset);
      q.mask.data = q.mask.row_at(first);
    }
  }

  void store(std::int64_t plane, std::int64_t first, std::int64_t rows, std::int64_t part, const Queries<T>& q) const {
    const TensorView& out = c_.out[0];
    T* line = thread_buffer<T>(static_cast<std::size_t>(p_.out_width), 4);
    for (std::int64_t l = 0; l < rows; ++l) {
      const std::int64_t row = plane * p_.queries + first + l, at = part * p_.planes * p_.queries + row;
      T* to = p_.parts.count > 1 ? sums_ + at * p_.out_width : line;
      const T factor = p_.parts.count > 1 ? T(1) : q.total[l] == T(0) ? T(0) : T(1) / q.total[l];
      for (std::int64_t c = 0; c < p_.out_width; ++c) to[c] = q.sums[c * lanes() + l] * factor;
      if (p_.parts.count > 1) {
        tops_[at] = q.top[l];
        totals_[at] = q.total[l];
      } else {
        convert(line, p_.type, out.data + row * p_.out_width * element_size(out.dtype), out.dtype, p_.out_width);
      }
    }
  }

  /// Joins the key ranges like kernels/portable/text/attention_join.inc.
  void join() const {
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    const TensorView& out = c_.out[0];
    const std::int64_t rows = p_.planes * p_.queries, parts = p_.parts.count;
    const pointwise::Loop exp = pointwise::reproducible_loop_table().get(Scalar::exp, p_.type);
    parallel_for(rows, grain_for(parts * p_.out_width), [&](std::int64_t begin, std::int64_t end) {
      T* buffer = thread_buffer<T>(static_cast<std::size_t>(p_.out_width + parts), 4);
      T *sums = buffer, *shrink = buffer + p_.out_width;
      for (std::int64_t row = begin; row < end; ++row) {
        T top = kNone, total = 0;
        for (std::int64_t part = 0; part < parts; ++part) top = std::max(top, tops_[part * rows + row]);
        for (std::int64_t part = 0; part < parts; ++part)
          shrink[part] = top == kNone ? T(0) : tops_[part * rows + row] - top;
        exp(shrink, shrink, nullptr, nullptr, parts);
        std::fill_n(sums, p_.out_width, T(0));
        for (std::int64_t part = 0; part < parts; ++part) {
          const std::int64_t at = part * rows + row;
          total += totals_[at] * shrink[part];
          const T* from = sums_ + at * p_.out_width;
          for (std::int64_t c = 0; c < p_.out_width; ++c) sums[c] += from[c] * shrink[part];
        }
        for (std::int64_t c = 0; c < p_.out_width; ++c) sums[c] = total == T(0) ? T(0) : sums[c] / total;
        convert(sums, p_.type, out.data + row * p_.out_width * element_size(out.dtype), out.dtype, p_.out_width);
      }
    });
  }

  const KernelCall& c_;
  const AttentionProblem& p_;
  T scale_;
  std::array<TensorView, 4> in_;
  T *sums_, *tops_, *totals_;
};

void run(KernelCall& c) {
  if (c.out[0].numel() == 0) return;
  Scratch own(c, scratch(c));
  ScratchArena parts(own.data());
  const AttentionProblem p = describe_attention(c);
  const AttentionBuffers at = buffers(p, parts);
  const double scale = attention_scale(*c.node, p.width);
  if (p.type == DType::f64) {
    ReproducibleAttention<double>(c, p, at, scale).run();
  } else {
    ReproducibleAttention<float>(c, p, at, static_cast<float>(scale)).run();
  }
}

}  // namespace

Kernel attention_kernel() {
  return {.run = run, .scratch = scratch, .strided = kAllStrided};
}

}  // namespace tern::reproducible
