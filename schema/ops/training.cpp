// Rules of training ops: optimizer steps, and communication between processes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dtypes/state_codes.h"
#include "schema/infer.h"
#include "schema/kinds.h"
#include "schema/ops/attributes.h"
#include "schema/ops/families.h"
#include "schema/ops/names.h"
#include "schema/optim.h"
#include "schema/reductions.h"

namespace tern::ops {
namespace {

// optim(lists...; kind, hyper, mode, maximize, counts) -> new values: one step of an optimizer for all parameters, like
// PyTorch's fused kernels. schema/optim.h defines the lists and the meaning of hyper and mode. `counts` gives the
// number of operands of each list; without `counts` (archives older than the lists) there is one parameter, with one
// optional operand per list. Results are the new values of the parameters, of the gradients (with grad_scale only), of
// the given states, and of step if requested by mode. Tensors of one parameter have its sizes; states and gradients may
// have float32 beside a parameter of 16 bits. With scales, states are uint8 (dtypes/state_codes.h).

/// Checks the counts of the lists, and returns them.
std::array<std::int64_t, kOptimLists> optim_counts(const Inference& c) {
  std::array<std::int64_t, kOptimLists> counts{};
  const Dims& given = c.node.dims(AttrKey::counts);
  if (given.empty()) {
    c.require(c.input_count() <= kOptimLists, "one parameter has at most 14 operands");
    for (std::size_t i = 0; i < kOptimLists; ++i) counts[i] = c.has(i) ? 1 : 0;
  } else {
    std::int64_t sum = 0;
    const std::size_t lists = given.size() == kOptimLists ? kOptimLists : kOptimPlainLists;
    for (std::size_t i = 0; i < lists; ++i) {
      counts[i] = c.list(AttrKey::counts, lists)[i].value();
      sum += counts[i];
    }
    if (sum != static_cast<std::int64_t>(c.input_count()))
      c.fail(fmt::format("the counts add up to {} operands, but there are {}", sum, c.input_count()));
    for (std::size_t i = 0; i < c.input_count(); ++i) c.in(i);
  }
  constexpr std::string_view kNames[] = {"p",       "g",       "m",          "v",          "third",
                                         "step",    "lr",      "grad_scale", "found_inf",  "master",
                                         "product", "m_scale", "v_scale",    "third_scale"};
  const std::int64_t n = counts[0];
  c.require(n > 0, "a parameter is needed");
  for (std::size_t i = 1; i < kOptimLists; ++i) {
    const auto list = static_cast<OptimList>(i);
    const bool shared = list == OptimList::step || list == OptimList::product;
    const bool one = list >= OptimList::lr && list <= OptimList::found_inf;
    const bool all = !one && counts[i] == n;
    if (counts[i] == 0 || all || (counts[i] == 1 && (one || shared))) continue;
    c.fail(fmt::format("the list of {} has {} operands, for {} parameters", kNames[i], counts[i], n));
  }
  return counts;
}

void check_optim_lists(const Inference& c, const std::array<std::int64_t, kOptimLists>& counts) {
  const OptimRecord& record = optim_record(static_cast<OptimKind>(c.integer(AttrKey::kind)));
  const auto check = [&](OptimList list, int rule, const char* needed, const char* never) {
    const bool there = counts[static_cast<std::size_t>(list)] > 0;
    c.require(there || rule <= 0, needed);
    c.require(!there || rule >= 0, never);
  };
  c.require(counts[1] > 0, "gradients are needed");
  // Kinds older than the lists may carry unused states.
  const bool strict = record.kind > OptimKind::adagrad;
  check(OptimList::m, strict ? record.m : std::max<int>(record.m, 0), "this optimizer needs m",
        "this optimizer has no m");
  check(OptimList::v, strict ? record.v : std::max<int>(record.v, 0), "this optimizer needs v",
        "this optimizer has no v");
  check(OptimList::third, record.third, "", "this optimizer has no third state");
  check(OptimList::step, record.step, "this optimizer needs the number of the step", "");
  check(OptimList::product, record.product, "this optimizer needs the product of its momenta",
        "only nadam has a product of momenta");
  c.require(counts[10] == 0 || counts[10] == counts[5], "there are as many products as steps");
  const std::vector<double>& hyper = c.node.numbers(AttrKey::hyper);
  if (hyper.size() != record.hyper_count())
    c.fail(fmt::format("hyper has {} numbers, but this optimizer needs {}", hyper.size(), record.hyper_count()));
  if (record.kind == OptimKind::sgd) c.require(hyper[1] == 0 || counts[2] > 0, "momentum needs a buffer");
  if (record.kind == OptimKind::rmsprop) c.require(hyper[2] == 0 || counts[2] > 0, "momentum needs a buffer");
  const std::int64_t mode = c.integer(AttrKey::mode);
  // Kinds older than the lists ignore foreign bits.
  const std::int64_t ignored = record.kind <= OptimKind::adagrad ? kOptimNesterov | kOptimFirst : 0;
  c.require((mode & ~(record.modes | ignored | kOptimAdvance)) == 0, "this optimizer does not have this mode");
  c.require((mode & kOptimAdvance) == 0 || counts[5] > 0, "there is no step to advance");
}

/// Requires 8-bit codes for all states, or for none.
void check_optim_codes(const Inference& c, const std::array<std::int64_t, kOptimLists>& counts, bool coded) {
  if (!coded) return;
  const OptimRecord& record = optim_record(static_cast<OptimKind>(c.integer(AttrKey::kind)));
  const auto count = [&](OptimList list) { return counts[static_cast<std::size_t>(list)]; };
  for (OptimList list : kOptimCoded) {
    c.require(count(scales_of(list)) == count(list), "either all states have scales or none");
    c.require(count(list) == 0 || record.code(list) != '-', "this optimizer has no states of 8 bits");
  }
  c.require(c.in(0).dtype != DType::f64, "parameters of float64 have no states of 8 bits");
}

/// Requires the parameter's sizes for codes, and one scale per full block of codes.
void check_optim_state_codes(const Inference& c, OptimList list, std::int64_t count, std::size_t start) {
  for (std::int64_t i = 0; i < count; ++i) {
    const TensorType& t = c.in(start + static_cast<std::size_t>(i));
    const TensorType& param = c.in(static_cast<std::size_t>(i));
    c.require(!t.quantized() && t.dtype == (is_scales(list) ? DType::f32 : DType::u8),
              "codes of states must be uint8, and their scales float32");
    if (!is_scales(list)) {
      c.require(t.rank() == param.rank(), "all tensors of a parameter need the same rank");
      for (std::size_t a = 0; a < param.shape.size(); ++a)
        c.require_equal(param.shape[a], t.shape[a], "sizes of the parameter and its codes");
      continue;
    }
    c.require(t.rank() == 1, "scales must have one dimension");
    c.require_equal(c.pool.product(param.shape), c.pool.mul(t.shape[0], kStateBlock),
                    "256 times the scales and the elements");
  }
}

/// Checks the operands of one list: one dtype, and the sizes of each parameter.
void check_optim_list(const Inference& c, OptimList list, std::int64_t count, std::size_t start) {
  const TensorType& p = c.in(0);
  const TensorType& first = c.in(start);
  const bool large = is_large(list);
  c.require(is_floating(first.dtype) && element_size(first.dtype) > 1,
            large ? "a parameter and its states must be of a floating dtype of 16 bits or more"
                  : "step, lr, grad_scale, found_inf and product must be floating-point");
  const bool wider = element_size(p.dtype) == 2 && first.dtype == DType::f32;
  c.require(!large || first.dtype == p.dtype || wider,
            "states must have the parameter's dtype, or float32 for a parameter of 16 bits");
  c.require(list != OptimList::master || element_size(first.dtype) > 2,
            "master weights of parameters of 16 bits must be float32");
  for (std::int64_t i = 0; i < count; ++i) {
    const TensorType& t = c.in(start + static_cast<std::size_t>(i));
    c.require(!t.quantized(), "a quantized value cannot be trained");
    c.require(t.dtype == first.dtype, "all tensors of a list need the same dtype");
    if (!large) {
      c.require_equal(c.pool.product(t.shape), 1, "the number of elements of step, lr, grad_scale or found_inf, and 1");
      continue;
    }
    const TensorType& param = c.in(static_cast<std::size_t>(i));
    c.require(t.rank() == param.rank(), "all tensors of a parameter need the same rank");
    for (std::size_t a = 0; a < param.shape.size(); ++a)
      c.require_equal(param.shape[a], t.shape[a], "sizes of the parameter and its state");
  }
}

void optim(Inference& c) {
  const std::array<std::int64_t, kOptimLists> counts = optim_counts(c);
  check_optim_lists(c, counts);
  const OptimLayout layout(c.node);
  check_optim_codes(c, counts, layout.coded());
  for (std::size_t i = 0; i < kOptimLists; ++i) {
    const auto list = static_cast<OptimList>(i);
    const bool state = std::ranges::find(kOptimCoded, list) != std::end(kOptimCoded);
    if (counts[i] == 0) continue;
    const bool codes = is_scales(list) || (state && layout.coded());
    (codes ? check_optim_state_codes : check_optim_list)(c, list, counts[i], layout.operand(list, 0));
  }
  for (OptimList list : kOptimResults) {
    for (std::size_t i = 0; layout.is_result(list) && i < layout.count(list); ++i) {
      const TensorType& t = c.in(layout.operand(list, i));
      c.out(t.dtype, t.shape);
    }
  }
}

void require_reduction(Inference& c, DType t) {
  const std::string& name = c.node.text(AttrKey::text);
  const int number = reduce_op_from_name(name);
  if (number < 0 || number == static_cast<int>(ReduceOp::premul_sum))
    c.fail(fmt::format("unknown reduction '{}'", name));
  const auto op = static_cast<ReduceOp>(number);
  const bool defined = is_complex(t) ? op == ReduceOp::sum || op == ReduceOp::avg : is_reducible(op, t);
  if (!defined) c.fail(fmt::format("the reduction '{}' is not defined for {}", name, name_of(t)));
}

// collective(x; kind, text, name, groups, k, sizes, counts, mode): among `groups` ranks (0: all ranks of the group) of
// the group `name`: all_reduce combines all x by `text` (a ReduceOp of tern/collective.h); all_gather concatenates all
// x along axis 0; reduce_scatter combines all x and returns this rank's part of axis 0; broadcast returns the x of rank
// k; all_to_all sends `sizes` of axis 0 to each rank and receives `counts` from each, or equal parts. With mode 1 the
// node only starts the collective, and a wait ends it.
void collective(Inference& c) {
  const TensorType& x = c.in(0);
  const auto kind = static_cast<CollectiveKind>(c.integer(AttrKey::kind));
  const std::int64_t groups = c.integer(AttrKey::groups);
  c.require(kind <= CollectiveKind::all_to_all, "only groups have this kind, not programs");
  c.require(!x.packed(), "elements that share bytes cannot be sent");
  if (kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter) require_reduction(c, x.dtype);
  Dims shape = x.shape;
  if (kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter) {
    c.require(groups > 0, "the number of processes is needed");
    c.require(x.rank() > 0, "a tensor without dimensions has no axis 0");
    shape[0] = kind == CollectiveKind::all_gather ? c.pool.mul(shape[0], groups) : c.pool.floordiv(shape[0], groups);
  }
  if (kind == CollectiveKind::all_to_all) {
    c.require(x.rank() > 0, "a tensor without dimensions has no axis 0");
    const Dims &sizes = c.node.dims(AttrKey::sizes), &counts = c.node.dims(AttrKey::counts);
    c.require(sizes.size() == counts.size(), "sizes and counts must be lists of the same length");
    if (!sizes.empty()) {
      Dim given = 0, taken = 0;
      for (const Dim d : sizes) given = c.pool.add(given, d);
      for (const Dim d : counts) taken = c.pool.add(taken, d);
      c.require(groups == static_cast<std::int64_t>(sizes.size()),
                "sizes and counts must have one number for each rank");
      c.require_equal(given, shape[0], "the sum of sizes and axis 0");
      if (groups == 1) c.require_equal(given, taken, "the sizes that a single rank sends and receives");
      shape[0] = taken;
    }
  }
  c.out(x.dtype, std::move(shape));
}

// exchange(x...; counts, sizes, mapped, name): messages between this rank and others, all in flight together. Operand i
// is sent to rank sizes[i] if counts[i] is 0; if 1, a tensor like operand i is received from that rank. mapped: tags.
void exchange(Inference& c) {
  const std::size_t n = c.input_count();
  for (const AttrKey key : {AttrKey::counts, AttrKey::sizes, AttrKey::mapped})
    c.require(c.node.dims(key).size() == n, "counts, sizes and mapped must have a number for each operand");
  for (std::size_t i = 0; i < n; ++i) {
    c.require(!c.in(i).packed(), "elements that share bytes cannot be sent");
    c.out(c.in(i).dtype, c.in(i).shape);
  }
}

// wait(y, kept...): y after its collective has finished. `kept` are the collective's operands, possibly read until
// then.
void wait(Inference& c) {
  c.out(c.in(0).dtype, c.in(0).shape);
}

constexpr AttrRecord kOptim[] = {
    required(AttrKey::kind, kOptimNames, "the optimizer"),
    required(AttrKey::hyper, AttrType::numbers, "lr, two of the kind's own, weight_decay, eps; nadam, rprop: another"),
    defaulted(AttrKey::mode, AttrType::integer, 0, "bits: 1 nesterov, 2 first step, 4 counts step, 8 decoupled decay")
        .bounds(0, kOptimModes),
    flag(AttrKey::maximize, "ascends"),
    optional_attribute(AttrKey::counts, AttrType::integers, "one parameter", "operands of each of the 11 or 14 lists")
        .bounds(0, 1 << 24),
};
constexpr std::int64_t kMaxRows = std::int64_t{1} << 48;
constexpr AttrRecord kCollective[] = {
    required(AttrKey::kind, kCollectiveNames, "the operation of the ranks"),
    optional_attribute(AttrKey::text, AttrType::text, "no reduction", "a reduction, by its name in tern/collective.h"),
    optional_attribute(AttrKey::name, AttrType::text, "the default group", "of the group"),
    defaulted(AttrKey::groups, AttrType::integer, 0, "the number of ranks; 0: all of the group").bounds(0, 1 << 20),
    defaulted(AttrKey::k, AttrType::integer, 0, "broadcast: the rank whose x all get").bounds(0, 1 << 20),
    optional_attribute(AttrKey::sizes, AttrType::dims, "equal parts", "all_to_all: of axis 0, for each rank")
        .bounds(0, kMaxRows),
    optional_attribute(AttrKey::counts, AttrType::dims, "equal parts", "all_to_all: of axis 0, from each rank")
        .bounds(0, kMaxRows),
    defaulted(AttrKey::mode, AttrType::integer, 0, "1: only starts the collective; a wait ends it").bounds(0, 1),
};
constexpr AttrRecord kExchange[] = {
    required(AttrKey::counts, AttrType::integers, "for each operand 0: sends it; 1: receives").bounds(0, 1),
    required(AttrKey::sizes, AttrType::integers, "for each operand the other rank").bounds(0, 1 << 20),
    required(AttrKey::mapped, AttrType::integers, "for each operand the tag").bounds(0, 1 << 30),
    optional_attribute(AttrKey::name, AttrType::text, "the default group", "of the group"),
};

constexpr OpRecord kTrainingOps[] = {
    TERN_OP(100, optim,
            "p+, g+, m*, v*, third*, step*, lr?, grad_scale?, found_inf?, master*, product*, m_scale*, v_scale*, "
            "third_scale* -> p+, g*, m*, v*, third*, step*, master*, product*, m_scale*, v_scale*, third_scale*",
            "one step of an optimizer for a list of parameters, as PyTorch's fused kernels do it")
        .attrs(kOptim)
        .rule(optim),
    TERN_OP(101, collective, "x -> y", "all_reduce and the like among the ranks of a group")
        .attrs(kCollective)
        .traits_of(Trait::effect)
        .rule(collective),
    TERN_OP(102, wait, "y, kept* -> z", "a collective's result, as soon as it is available")
        .traits_of(Trait::effect)
        .rule(wait),
    TERN_OP(103, exchange, "x+ -> y+", "messages to and from other ranks of a group, all in flight together")
        .attrs(kExchange)
        .traits_of(Trait::effect)
        .rule(exchange),
};

}  // namespace

std::span<const OpRecord> training_ops() {
  return kTrainingOps;
}

}  // namespace tern::ops
