#include "tests/gpu/libraries/cudnn/attention.h"

#include <algorithm>
#include <map>

#include "tests/gpu/libraries/driver.h"

namespace tern::stand_in {
namespace {

using namespace gpu::cudnn;
using ll = long long;

DType type_of(int type) {
  switch (type) {
    case kHalf: return DType::f16;
    case kBfloat16: return DType::bf16;
    case kFloat: return DType::f32;
    case kInt32: return DType::i32;
    case kBoolean: return DType::boolean;
    default: misuse("cuDNN: the type %d of a tensor", type);
  }
}

bool flag(const Object& tensor, int name) {
  return tensor.has_value(name) && tensor.element<char>(name) != 0;
}

/// The operands of each kind of operation.
struct Names {
  int kind, descriptor, x, b, t, y;
};
constexpr Names kNames[] = {
    {kMatmulOperation, kMatmulDescriptor, kMatmulA, kMatmulB, -1, kMatmulC},
    {kPointwiseOperation, kPointwiseDescriptor, kPointwiseX, kPointwiseB, kPointwiseT, kPointwiseY},
    {kReductionOperation, kReductionDescriptor, kReductionX, -1, -1, kReductionY},
};

class Reader {
 public:
  AttentionGraph read(const Object& graph) {
    for (const ObjectPointer& operation : graph.values.at(kGraphOperations).objects) read_step(*operation);
    return std::move(graph_);
  }

 private:
  int tensor(const Object& o) {
    GraphTensor t;
    t.number = o.element<std::int64_t>(kTensorNumber);
    t.dtype = type_of(o.element<int>(kTensorType));
    t.alignment = o.element<std::int64_t>(kTensorAlignment);
    t.is_virtual = flag(o, kTensorVirtual);
    t.is_value = flag(o, kTensorByValue);
    const auto sizes = o.elements<std::int64_t>(kTensorSizes), strides = o.elements<std::int64_t>(kTensorStrides);
    if (sizes.size() != 4 || strides.size() != 4) misuse("cuDNN: attention has four axes, not %zu", sizes.size());
    std::ranges::copy(sizes, t.sizes);
    std::ranges::copy(strides, t.strides);
    for (int i = 0; i < 4; ++i)
      if (sizes[static_cast<std::size_t>(i)] < 1 || strides[static_cast<std::size_t>(i)] < 1)
        misuse("cuDNN: size %lld, stride %lld", ll{t.sizes[i]}, ll{t.strides[i]});
    // "A unique integer identifier": equal numbers mean the same tensor.
    const auto [at, is_new] = tensor_indices_.try_emplace(t.number, static_cast<int>(graph_.tensors.size()));
    if (is_new) {
      graph_.tensors.push_back(t);
      objects_.push_back(&o);
    } else if (objects_[static_cast<std::size_t>(at->second)] != &o) {
      const GraphTensor& same = graph_.tensors[static_cast<std::size_t>(at->second)];
      if (same.dtype != t.dtype || !std::ranges::equal(same.sizes, t.sizes) ||
          !std::ranges::equal(same.strides, t.strides) || same.is_virtual != t.is_virtual)
        misuse("cuDNN: two tensors with the number %lld", ll{t.number});
    }
    return at->second;
  }

  int operand(const Object& operation, int name) {
    if (name < 0 || !operation.has_value(name)) return -1;
    const int at = tensor(operation.object(name));
    if (graph_.tensors[static_cast<std::size_t>(at)].is_virtual && !is_computed_[at])
      misuse("cuDNN: tensor %lld is read before an operation makes it",
             ll{graph_.tensors[static_cast<std::size_t>(at)].number});
    return at;
  }

  void read_step(const Object& operation) {
    const auto* names = std::ranges::find(kNames, operation.kind, &Names::kind);
    if (names == std::end(kNames)) misuse("cuDNN: an operation of kind %d in attention", operation.kind);
    const Object& d = operation.object(names->descriptor);
    GraphStep s{operation.kind, 0, -1, 0, -1, -1, 0};
    if (operation.kind == kPointwiseOperation) s.mode = d.element<int>(kPointwiseMode);
    if (operation.kind == kReductionOperation) s.mode = d.element<int>(kReductionMode);
    const int compute = operation.kind == kPointwiseOperation   ? kPointwisePrecision
                        : operation.kind == kReductionOperation ? kReductionType
                                                                : kMatmulType;
    if (d.element<int>(compute) != kFloat) misuse("cuDNN: attention computes in float32");
    if (d.has_value(kPointwiseAxis)) s.axis = d.element<std::int64_t>(kPointwiseAxis);
    s.x = operand(operation, names->x);
    s.b = operand(operation, names->b);
    s.t = operand(operation, names->t);
    s.y = tensor(operation.object(names->y));
    if (is_computed_[s.y]) misuse("cuDNN: two operations make one tensor");
    is_computed_[s.y] = true;
    check(s);
    graph_.steps.push_back(s);
  }

  const GraphTensor& tensor_at(int i) const { return graph_.tensors.at(static_cast<std::size_t>(i)); }

  void check(const GraphStep& s) const {
    const GraphTensor &x = tensor_at(s.x), &y = tensor_at(s.y);
    if (y.is_value) misuse("cuDNN: a result on the host");
    if (s.kind == kMatmulOperation) {
      const GraphTensor& b = tensor_at(s.b);
      // "Matmul": [.., m, k] and [.., k, n]; a batch axis may be a multiple of B's.
      for (int i = 0; i < 2; ++i)
        if (x.sizes[i] != y.sizes[i] || y.sizes[i] % b.sizes[i] != 0) misuse("cuDNN: the batches of a product");
      if (x.sizes[3] != b.sizes[2] || y.sizes[2] != x.sizes[2] || y.sizes[3] != b.sizes[3])
        misuse("cuDNN: the sizes of a product");
      return;
    }
    for (int i = 0; i < 4; ++i) {
      if (s.kind == kReductionOperation) {
        if (y.sizes[i] != x.sizes[i] && y.sizes[i] != 1) misuse("cuDNN: the sizes of a reduction");
        continue;
      }
      for (const int k : {s.x, s.b, s.t})
        if (k >= 0 && tensor_at(k).sizes[i] != y.sizes[i] && tensor_at(k).sizes[i] != 1)
          misuse("cuDNN: the sizes of a pointwise operation of mode %d", s.mode);
    }
    if ((s.mode == kSelect) != (s.t >= 0) || (s.t >= 0 && tensor_at(s.t).dtype != DType::boolean))
      misuse("cuDNN: a selection without booleans");
    if ((s.kind == kPointwiseOperation && s.mode == kGenIndex) != (s.axis >= 0))
      misuse("cuDNN: an index without an axis");
  }

  AttentionGraph graph_;
  std::map<std::int64_t, int> tensor_indices_;
  std::vector<const Object*> objects_;
  std::map<int, bool> is_computed_;
};

/// The modes between the two products of attention, except the modes of the scores.
constexpr int kSoftmax[] = {kReduceMax, kSub, kExp, kReduceAdd, kLog, kAdd, kDiv};

/// Rules of the engines in NVIDIA's cudnn-frontend: types of 16 bits, rows of multiples of 16 bytes, and this order of
/// operations.
bool is_taken(const AttentionGraph& g) {
  const std::size_t n = g.steps.size();
  if (n < std::size(kSoftmax) + 2 || g.steps[0].kind != kMatmulOperation || g.steps[n - 1].kind != kMatmulOperation)
    return false;
  for (std::size_t i = 0; i < std::size(kSoftmax); ++i) {
    const GraphStep& s = g.steps[n - 1 - std::size(kSoftmax) + i];
    const bool is_reduction = i == 0 || i == 3;
    if (s.mode != kSoftmax[i] || (s.kind == kReductionOperation) != is_reduction) return false;
  }
  const auto tensor = [&](int i) -> const GraphTensor& { return g.tensors[static_cast<std::size_t>(i)]; };
  const GraphTensor &q = tensor(g.steps[0].x), &k = tensor(g.steps[0].b), &v = tensor(g.steps[n - 1].b),
                    &out = tensor(g.steps[n - 1].y);
  if (q.dtype != DType::f16 && q.dtype != DType::bf16) return false;
  for (const GraphTensor* t : {&q, &k, &v, &out}) {
    if (t->dtype != q.dtype || t->is_virtual) return false;
    const int width = t == &k ? 2 : 3;
    if (t->strides[width] != 1 || t->sizes[width] % 8 != 0 || t->alignment != 16) return false;
    for (int i = 0; i < 4; ++i)
      if (i != width && t->strides[i] % 8 != 0) misuse("cuDNN: rows of attention that begin anywhere");
  }
  return tensor(g.steps[n - 1].x).dtype == q.dtype;  // the weights
}

}  // namespace

bool is_attention(const Object& graph) {
  return graph.object(kGraphOperations, 0).kind == kMatmulOperation;
}

std::optional<AttentionGraph> read_attention(const Object& graph) {
  AttentionGraph g = Reader().read(graph);
  if (!is_taken(g)) return std::nullopt;
  return g;
}

}  // namespace tern::stand_in
