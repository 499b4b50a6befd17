#include "runtime/plan/views.h"

namespace tern {
namespace {

using Index = std::size_t;

/// Strides of the same elements under other sizes (like PyTorch's computeStride): splits each contiguous group of axes
/// of `x` anew.
bool reshape_strides(const TensorView& x, TensorView* out) {
  if (x.numel() == 0) {
    make_contiguous(*out);
    return true;
  }
  int at = out->rank - 1;
  std::int64_t chunk_stride = x.rank == 0 ? 1 : x.stride(x.rank - 1), chunk = 1;
  for (int i = x.rank - 1; i >= 0; --i) {
    chunk *= x.size(i);
    const bool ends = i == 0 || (x.size(i - 1) != 1 && x.stride(i - 1) != chunk * chunk_stride);
    if (!ends) continue;
    std::int64_t filled = 1;
    while (at >= 0 && (filled < chunk || out->size(at) == 1)) {
      out->strides[static_cast<Index>(at)] = filled * chunk_stride;
      filled *= out->size(at);
      --at;
    }
    if (filled != chunk) return false;
    if (i > 0) {
      chunk_stride = x.stride(i - 1);
      chunk = 1;
    }
  }
  for (; at >= 0; --at) out->strides[static_cast<Index>(at)] = 1;
  return true;
}

bool bitcast(const TensorView& x, TensorView* out) {
  const std::int64_t from = element_size(x.dtype), to = element_size(out->dtype);
  if (from == to) {
    out->strides = x.strides;
    return true;
  }
  if (!x.contiguous()) return false;
  make_contiguous(*out);
  return true;
}

}  // namespace

bool apply_view(const Node& node, const TensorView& x, TensorView* out, std::int64_t* offset) {
  const std::int64_t element = element_size(x.dtype);
  auto normal = [&](Dim axis) { return static_cast<Index>(axis.value() < 0 ? axis.value() + x.rank : axis.value()); };
  switch (node.op) {
    case Op::reshape: return reshape_strides(x, out);
    case Op::permute: {
      const Dims& axes = node.dims(AttrKey::axes);
      for (Index i = 0; i < axes.size(); ++i) out->strides[i] = x.strides[normal(axes[i])];
      return true;
    }
    case Op::slice: {
      const Index axis = normal(node.dim(AttrKey::axis));
      if (out->numel() == 0) {  // start and step are arbitrary
        make_contiguous(*out);
        return true;
      }
      out->strides = x.strides;
      if (out->sizes[axis] > 1) out->strides[axis] *= node.integer(AttrKey::step);  // otherwise the stride is arbitrary
      *offset += node.integer(AttrKey::start) * x.strides[axis] * element;
      return true;
    }
    case Op::expand: {
      const int skip = out->rank - x.rank;
      for (int i = 0; i < out->rank; ++i) {
        out->strides[static_cast<Index>(i)] = i < skip || x.size(i - skip) == 1 ? 0 : x.stride(i - skip);
      }
      return true;
    }
    case Op::as_strided: {
      if (!x.contiguous()) return false;
      const Dims& strides = node.dims(AttrKey::strides);
      make_contiguous(*out);
      if (out->numel() == 0) return true;
      for (Index i = 0; i < strides.size(); ++i) {
        if (out->sizes[i] > 1) out->strides[i] = strides[i].value();
      }
      *offset += node.integer(AttrKey::offset) * element;
      return true;
    }
    case Op::bitcast: return bitcast(x, out);
    default: return false;
  }
}

}  // namespace tern
