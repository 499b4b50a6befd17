#include "runtime/plan/concrete.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "runtime/tensor_view.h"
#include "schema/epilogue.h"
#include "schema/infer.h"
#include "schema/unfactored.h"

namespace tern {

std::int64_t Concrete::value(Dim d) const {
  const std::int64_t v = value_or_undefined(d);
  if (v == kUndefined) {
    fail(ErrorCode::runtime,
         fmt::format("the size '{}' has no value: it overflows, divides by zero or depends on an unknown size",
                     program_.pool.text(d)));
  }
  return v;
}

bool Concrete::has_known_sizes(const TensorType& type) const {
  for (Dim d : type.shape) {
    if (value_or_undefined(d) == kUndefined) return false;
  }
  return true;
}

bool Concrete::agrees(const TensorType& type, const TensorView& view) const {
  bool same = view.dtype == type.dtype && view.rank == type.rank();
  for (int a = 0; same && a < view.rank; ++a)
    same = value_or_undefined(type.shape[static_cast<std::size_t>(a)]) == view.size(a);
  return same;
}

std::string text_of(const TensorView& view) {
  return text_of(view.dtype, view.shape());
}

TensorType Concrete::type(const TensorType& symbolic) const {
  TensorType t = symbolic;
  for (Dim& d : t.shape) d = value(d);
  return t;
}

std::uint64_t view_bytes(const TensorType& type, const TensorView& view) {
  TensorType t = type;
  for (std::size_t i = 0; i < t.shape.size(); ++i) t.shape[i] = view.sizes[i];
  std::uint64_t bytes = 0;
  if (!byte_size(t, &bytes)) fail(ErrorCode::runtime, "a tensor does not fit in memory");
  // Keeps products of the sizes of two or three tensors within 64 bits, even for empty tensors.
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
  std::int64_t most = 1;
  for (const std::int64_t size : view.shape()) most *= std::max<std::int64_t>(size, 1);
  if (most > kMaxElements)
    fail(ErrorCode::runtime,
         fmt::format("a tensor has the shape {}; at most {} elements are allowed", text_of(view), kMaxElements));
  return bytes;
}

TensorView view_to_copy(const TensorType& type, const TensorView& view) {
  if (!type.quantized()) return view;
  TensorView bytes;
  bytes.data = view.data;
  bytes.dtype = DType::u8;
  bytes.rank = 1;
  bytes.sizes[0] = static_cast<std::int64_t>(view_bytes(type, view));
  bytes.strides[0] = 1;
  return bytes;
}

TensorView Concrete::view(const TensorType& type) const {
  TensorView v;
  v.dtype = type.dtype;
  v.blocks = type.blocks;
  v.rank = type.rank();
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    v.sizes[i] = value(type.shape[i]);
    if (v.sizes[i] < 0) {
      fail(ErrorCode::runtime,
           fmt::format("the size '{}' is {}, which is negative", program_.pool.text(type.shape[i]), v.sizes[i]));
    }
  }
  view_bytes(type, v);
  make_contiguous(v);
  return v;
}

std::unique_ptr<Node> Concrete::resolve(const Node& node) const {
  bool symbolic = false;
  for (const Attr& a : node.attrs) {
    const auto* dims = std::get_if<Dims>(&a.data);
    if (dims == nullptr || a.key == AttrKey::symbols) continue;
    for (Dim d : *dims) symbolic = symbolic || !d.is_const();
  }
  if (!symbolic) return nullptr;
  auto copy = std::make_unique<Node>(node);
  for (Attr& a : copy->attrs) {
    auto* dims = std::get_if<Dims>(&a.data);
    if (dims == nullptr || a.key == AttrKey::symbols) continue;
    for (Dim& d : *dims) d = value(d);
  }
  return copy;
}

void Concrete::check(const Function& function, std::size_t node, const Node& resolved) const {
  const Node& declared = function.nodes[node];
  std::vector<TensorType> inputs;
  inputs.reserve(declared.inputs.size());
  std::vector<const TensorType*> pointers;
  for (ValueId v : declared.inputs) {
    if (v == kNoValue) {
      pointers.push_back(nullptr);
      continue;
    }
    inputs.push_back(type(function.values[static_cast<std::size_t>(v)].type));
    pointers.push_back(&inputs.back());
  }
  ExprPool pool;  // holds only the sizes computed by this node itself
  const Node* subject = &resolved;
  Node with_symbols;
  if (!declared.dims(AttrKey::symbols).empty()) {
    with_symbols = resolved;
    Dims fresh;
    for (std::size_t i = 0; i < declared.dims(AttrKey::symbols).size(); ++i)
      fresh.push_back(pool.new_symbol("u", 0, kNoBound));
    with_symbols.set(AttrKey::symbols, fresh);
    subject = &with_symbols;
  }
  const bool fused = declared.op != Op::pointwise && !declared.expr.code.empty();
  const auto types = fused ? infer_with_expression : is_unfactored(declared, pointers) ? infer_unfactored : infer;
  const std::vector<TensorType> found = types(program_, pool, *subject, pointers);
  for (std::size_t i = 0; i < found.size() && i < declared.outputs.size(); ++i) {
    if (declared.outputs[i] == kNoValue) continue;
    const TensorType& want = function.values[static_cast<std::size_t>(declared.outputs[i])].type;
    bool same = want.dtype == found[i].dtype && want.shape.size() == found[i].shape.size();
    for (std::size_t a = 0; same && a < want.shape.size(); ++a) {
      // Sizes computed by the node itself are compared after its run.
      same = !found[i].shape[a].is_const() || found[i].shape[a].is(value_or_undefined(want.shape[a]));
    }
    if (!same) {
      fail(ErrorCode::runtime, fmt::format("for these input sizes the result is {}, but the program declares {}",
                                           text_of(found[i], pool), text_of(want, program_.pool)));
    }
  }
}

}  // namespace tern
