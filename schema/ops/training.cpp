// Rules of the ops of training: optimizer steps, and communication between processes.
#include <fmt/format.h>

#include "schema/infer.h"
#include "schema/kinds.h"
#include "schema/ops/attributes.h"
#include "schema/ops/families.h"
#include "schema/ops/names.h"
#include "schema/reductions.h"

namespace tern::ops {
namespace {

// optim(p, g, m?, v?, vmax?, step?, lr?, grad_scale?, found_inf?; kind, hyper, mode, maximize) -> p, g (with grad_scale
// only), then those of m, v, vmax that are given: one step of an optimizer, as PyTorch's fused kernels do it. p: the
// parameter, g: its gradient, m: momentum or first moment, v: second moment or sum of squares, vmax: the largest second
// moment (amsgrad); all of one shape and floating dtype. step, lr, grad_scale, found_inf: one number each; a given lr
// takes the place of hyper[0], g is divided by grad_scale, and nothing changes where found_inf is not 0. maximize:
// ascend. hyper = lr, a, b, weight_decay, eps:
//   sgd:     a momentum, b dampening; mode bit 0: nesterov, bit 1: the first step, which m begins with g
//   adam, adamw: a and b the betas; step counts from 1
//   adagrad: a lr_decay; step counts from 1
void optim(Inference& c) {
  const TensorType& p = c.in(0);
  c.require(is_floating(p.dtype) && element_size(p.dtype) > 1,
            "a parameter must be of a floating dtype of 16 bits or more");
  c.require(!p.quantized(), "an MX tensor cannot be trained");
  const auto kind = static_cast<OptimKind>(c.integer(AttrKey::kind));
  for (std::size_t i = 1; i < 5 && i < c.input_count(); ++i) {
    if (!c.has(i)) continue;
    const TensorType& t = c.in(i);
    c.require(t.dtype == p.dtype && t.rank() == p.rank() && !t.quantized(),
              "all tensors of a step need one dtype and rank");
    for (std::size_t a = 0; a < p.shape.size(); ++a)
      c.same(p.shape[a], t.shape[a], "sizes of the parameter and its state");
  }
  for (std::size_t i = 5; i < c.input_count(); ++i) {
    if (!c.has(i)) continue;
    c.same(c.pool.product(c.in(i).shape), 1, "the number of elements of step, lr, grad_scale or found_inf, and 1");
    c.require(is_floating(c.in(i).dtype) && element_size(c.in(i).dtype) > 1,
              "step, lr, grad_scale and found_inf are floating");
  }
  c.in(1);
  const bool adam = kind == OptimKind::adam || kind == OptimKind::adamw;
  if (adam) c.in(2);
  if (kind != OptimKind::sgd) {
    c.in(3);
    c.in(5);
  }
  c.require(kind != OptimKind::sgd || c.node.numbers(AttrKey::hyper)[1] == 0 || c.has(2), "momentum needs a buffer");
  c.require(adam || !c.has(4), "only adam has a largest second moment");
  c.out(p.dtype, p.shape);
  if (c.has(7)) c.out(p.dtype, p.shape);
  for (std::size_t i = 2; i < 5; ++i) {
    if (c.has(i)) c.out(p.dtype, p.shape);
  }
}

void require_reduction(Inference& c, DType t) {
  const std::string& name = c.node.text(AttrKey::text);
  const int number = reduce_op_from_name(name);
  if (number < 0) c.fail(fmt::format("there is no reduction '{}'", name));
  const auto op = static_cast<ReduceOp>(number);
  const bool defined = is_complex(t) ? op == ReduceOp::sum || op == ReduceOp::avg : is_reducible(op, t);
  if (!defined) c.fail(fmt::format("the reduction '{}' is not defined for {}", name, name_of(t)));
}

// collective(x; kind, text, name, groups, k): among `groups` ranks (0: as many as the group has) of the group `name`:
// all_reduce joins x of all by `text` (a ReduceOp of tern/collective.h); all_gather puts all x one after the other
// along axis 0; reduce_scatter joins them and keeps this rank's part of axis 0; broadcast gives all the x of rank k.
void collective(Inference& c) {
  const TensorType& x = c.in(0);
  const auto kind = static_cast<CollectiveKind>(c.integer(AttrKey::kind));
  const std::int64_t groups = c.integer(AttrKey::groups);
  c.require(!x.packed(), "elements that share bytes are not sent");
  if (kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter) require_reduction(c, x.dtype);
  Dims shape = x.shape;
  if (kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter) {
    c.require(groups > 0, "the number of processes is needed");
    c.require(x.rank() > 0, "a tensor of no dimensions has no axis 0");
    shape[0] = kind == CollectiveKind::all_gather ? c.pool.mul(shape[0], groups) : c.pool.floordiv(shape[0], groups);
  }
  c.out(x.dtype, std::move(shape));
}

constexpr AttrRecord kOptim[] = {
    need(AttrKey::kind, kOptimNames, "the optimizer"),
    need(AttrKey::hyper, AttrType::numbers, "lr, two of the kind's own, weight_decay, eps").exactly(5),
    with(AttrKey::mode, AttrType::integer, 0, "sgd: 1 nesterov, 2 first step, 3 both").within(0, 3),
    flag(AttrKey::maximize, "ascends"),
};
constexpr AttrRecord kCollective[] = {
    need(AttrKey::kind, kCollectiveNames, "what the ranks do"),
    may(AttrKey::text, AttrType::text, "no reduction", "a reduction, by its name in tern/collective.h"),
    may(AttrKey::name, AttrType::text, "the default group", "of the group"),
    with(AttrKey::groups, AttrType::integer, 0, "how many ranks; 0: all of the group").within(0, 1 << 20),
    with(AttrKey::k, AttrType::integer, 0, "broadcast: the rank whose x all get").within(0, 1 << 20),
};

constexpr OpRecord kOps[] = {
    TERN_OP(100, optim, "p, g, m?, v?, vmax?, step?, lr?, grad_scale?, found_inf? -> p, g?, m?, v?, vmax?",
            "one step of an optimizer, as PyTorch's fused kernels do it")
        .attrs(kOptim)
        .rule(optim),
    TERN_OP(101, collective, "x -> y", "all_reduce and the like among the ranks of a group")
        .attrs(kCollective)
        .traits_of(Trait::effect)
        .rule(collective),
};

}  // namespace

std::span<const OpRecord> training_ops() {
  return kOps;
}

}  // namespace tern::ops
