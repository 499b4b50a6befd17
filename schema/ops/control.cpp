// Rules of control flow and host ops. Functions called by a node take its operands in order as their inputs of kind
// user; inputs of kind state belong to the program. Symbols belong to the whole program: a body sees the symbol values
// at its call.
#include <fmt/format.h>

#include <algorithm>

#include "schema/custom_arguments.h"
#include "schema/infer.h"
#include "schema/infer/control_types.h"
#include "schema/ops/attributes.h"
#include "schema/ops/families.h"
#include "schema/work.h"

namespace tern::ops {
namespace {

const Function& body(const Inference& c, std::size_t i, std::size_t count) {
  c.require(c.node.functions.size() == count, "the node has a wrong number of functions");
  const std::uint32_t number = c.node.functions[i];
  c.require(number < c.program.functions.size(), "the node names a function that the program does not have");
  const Function& f = c.program.functions[number];
  charge_work(f.nodes.size() + f.inputs.size() + f.outputs.size());
  return f;
}

std::vector<const TensorType*> user_inputs(const Inference& c, const Function& f) {
  std::vector<const TensorType*> types;
  for (const FunctionInput& input : f.inputs) {
    if (input.kind == FunctionInput::Kind::state) continue;
    const auto v = static_cast<std::size_t>(input.value);
    c.require(input.kind == FunctionInput::Kind::user && input.value >= 0 && v < f.values.size(),
              "a body has an input without a value");
    types.push_back(&f.values[v].type);
  }
  return types;
}

const TensorType& output(const Inference& c, const Function& f, std::size_t i) {
  const ValueId v = f.outputs[i].value;
  c.require(v >= 0 && static_cast<std::size_t>(v) < f.values.size(), "a body has an output without a value");
  return f.values[static_cast<std::size_t>(v)].type;
}

void same_type(const Inference& c, const TensorType& a, const TensorType& b, const char* subject) {
  if (a.dtype != b.dtype || a.rank() != b.rank() || a.blocks != b.blocks) {
    c.fail(fmt::format("{} differ: {} and {}", subject, text_of(a, c.pool), text_of(b, c.pool)));
  }
  for (std::size_t i = 0; i < a.shape.size(); ++i) c.require_equal(a.shape[i], b.shape[i], subject);
}

/// Operands `first`, first + 1, ... have the types of the body's inputs; operands in [mapped, mapped + count) lack the
/// first axis there.
void check_operands(Inference& c, const Function& f, std::size_t first, std::size_t mapped = 0, std::size_t count = 0) {
  const auto types = user_inputs(c, f);
  if (types.size() != c.input_count() - first) {
    c.fail(fmt::format("the body takes {} operands, but {} are given", types.size(), c.input_count() - first));
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    TensorType t = c.in(first + i);
    if (i >= mapped && i < mapped + count) {
      c.require(t.rank() > 0, "a loop cannot run over a tensor without dimensions");
      c.require(!t.packed(), "a loop cannot run over packed elements");
      t.shape.erase(t.shape.begin());
    }
    same_type(c, t, *types[i], "types of an operand and of the body's input");
  }
}

void check_truth(Inference& c, const TensorType& t) {
  c.require(t.dtype == DType::boolean && t.rank() == 0, "the condition must be a boolean without dimensions");
}

// cond(predicate, operands...; functions {if true, if false}; symbols): the results of the branch chosen by the
// predicate. Sizes differing between branches become `symbols`, in order of outputs and axes, bound by the running
// node.
void cond(Inference& c) {
  check_truth(c, c.in(0));
  const Function &t = body(c, 0, 2), &f = body(c, 1, 2);
  check_operands(c, t, 1);
  check_operands(c, f, 1);
  for (const Function* b : {&t, &f}) {
    for (std::size_t i = 0; i < b->outputs.size(); ++i) output(c, *b, i);
  }
  Dependence local_t(c.pool, bound_symbols(c.program, c.node.functions[0]));
  Dependence local_f(c.pool, bound_symbols(c.program, c.node.functions[1]));
  const std::size_t symbol_count = differing_sizes(c.program, c.pool, c.node.functions[0], c.node.functions[1]).size();
  const Dims& symbols = c.list(AttrKey::symbols, symbol_count);
  std::size_t next = 0;
  for (std::size_t i = 0; i < t.outputs.size(); ++i) {
    const TensorType &a = output(c, t, i), &b = output(c, f, i);
    TensorType type = a;
    for (std::size_t k = 0; k < type.shape.size(); ++k) {
      const bool same_size =
          c.pool.proved_equal(a.shape[k], b.shape[k]) && !local_t(a.shape[k]) && !local_f(b.shape[k]);
      if (!same_size) type.shape[k] = symbols[next++];
    }
    c.outputs.push_back(std::move(type));
  }
}

// while_loop(carried..., additional...; functions {condition, body}, carried = count): while the condition of (carried,
// additional) is true, the body's results replace the carried values; the final carried values are the result. Sizes
// never change.
void while_loop(Inference& c) {
  const Function &condition = body(c, 0, 2), &loop = body(c, 1, 2);
  const auto carried = static_cast<std::size_t>(c.integer(AttrKey::carried));
  c.require(carried <= c.input_count(), "more values are carried than given");
  check_operands(c, condition, 0);
  check_operands(c, loop, 0);
  c.require(condition.outputs.size() == 1, "the condition must have one result");
  check_truth(c, output(c, condition, 0));
  c.require(loop.outputs.size() == carried, "the body must have one result for each carried value");
  for (std::size_t i = 0; i < carried; ++i) {
    same_type(c, c.in(i), output(c, loop, i), "types of a carried value before and after the body");
    c.outputs.push_back(c.in(i));
  }
}

/// Adds the types of outputs [first, ...) of the body, stacked along a new first axis.
void stack(Inference& c, const Function& f, std::size_t first, Dim count) {
  Dependence local(c.pool, bound_symbols(c.program, c.node.functions[0]));
  for (std::size_t i = first; i < f.outputs.size(); ++i) {
    TensorType t = output(c, f, i);
    c.require(!t.packed(), "packed elements cannot be stacked");
    for (Dim d : t.shape) c.require(!local(d), "results of different rounds may differ in size");
    t.shape.insert(t.shape.begin(), count);
    c.outputs.push_back(std::move(t));
  }
}

Dim rounds(Inference& c, std::size_t first, std::size_t count) {
  c.require(count > 0 && first + count <= c.input_count(), "a loop needs an operand to run over");
  const TensorType& x = c.in(first);
  c.require(x.rank() > 0, "a loop cannot run over a tensor without dimensions");
  for (std::size_t i = 1; i < count; ++i) {
    c.require(c.in(first + i).rank() > 0, "a loop cannot run over a tensor without dimensions");
    c.require_equal(x.shape[0], c.in(first + i).shape[0], "the numbers of rounds");
  }
  return x.shape[0];
}

// scan_loop(init..., xs..., additional...; functions {body}, carried = number of init, mapped = number of xs): for each
// slice of the xs along axis 0, the body takes (carried, slices, additional) and gives the new carried values, then one
// y per further output. Results: the last carried values, and the ys of all iterations stacked along a new axis 0.
void scan_loop(Inference& c) {
  const Function& f = body(c, 0, 1);
  const auto carried = static_cast<std::size_t>(c.integer(AttrKey::carried));
  const auto mapped = static_cast<std::size_t>(c.integer(AttrKey::mapped));
  const Dim count = rounds(c, carried, mapped);
  check_operands(c, f, 0, carried, mapped);
  c.require(f.outputs.size() >= carried, "the body must return the new carried values");
  for (std::size_t i = 0; i < carried; ++i) {
    same_type(c, c.in(i), output(c, f, i), "types of a carried value before and after the body");
    c.outputs.push_back(c.in(i));
  }
  stack(c, f, carried, count);
}

// map_loop(xs..., additional...; functions {body}, mapped = number of xs): the body's results for each slice of the xs
// along axis 0, stacked.
void map_loop(Inference& c) {
  const Function& f = body(c, 0, 1);
  const auto mapped = static_cast<std::size_t>(c.integer(AttrKey::mapped));
  const Dim count = rounds(c, 0, mapped);
  check_operands(c, f, 0, 0, mapped);
  stack(c, f, 0, count);
}

// call(operands...; functions {body}): the body's results.
void call(Inference& c) {
  const Function& f = body(c, 0, 1);
  check_operands(c, f, 0);
  Dependence local(c.pool, bound_symbols(c.program, c.node.functions[0]));
  for (std::size_t i = 0; i < f.outputs.size(); ++i) {
    const TensorType& t = output(c, f, i);
    for (Dim d : t.shape) c.require(!local(d), "a size of the result is known only inside the body");
    c.outputs.push_back(t);
  }
}

// item(x; symbols = {symbol}): binds the symbol to the value of x, a zero-dimensional integer or boolean inside the
// symbol's range.
void item(Inference& c) {
  const TensorType& x = c.in(0);
  c.require(x.rank() == 0, "a number must be a tensor without dimensions");
  c.require(is_integral(x.dtype) || x.dtype == DType::boolean, "only an integer or a boolean can be a size");
  const Dim symbol = c.node.dims(AttrKey::symbols)[0];
  c.require(symbol.is_const() || c.pool.symbol_of(symbol) >= 0, "attribute 'symbols' must name a symbol");
}

// assert_dim(; dim, text, sizes, name): fails with `text` if the expression is 0. With `sizes`, `text` is a relation
// between inputs, and `name` has a line per size: its name in messages.
void assert_dim(Inference& c) {
  const std::string& names = c.node.text(AttrKey::name);
  const auto lines = static_cast<std::size_t>(std::ranges::count(names, '\n')) + (names.empty() ? 0 : 1);
  c.require(lines == c.node.dims(AttrKey::sizes).size(), "the numbers of names and sizes differ");
}

// assert_true(x; text): fails with `text` if x, a zero-dimensional boolean, is false.
void assert_true(Inference& c) {
  check_truth(c, c.in(0));
}

// custom(tensors...; name, text, value, hyper, dtype, counts, sizes): an operator of another library, provided by a
// plugin under `name`. text, value and hyper hold the other arguments, see schema/custom_arguments.h. `dtype` has one
// entry per result; `counts` are the results' ranks, and `sizes` all their sizes in order.
void custom(Inference& c) {
  c.require(!c.node.text(AttrKey::name).empty(), "a custom operator needs a name");
  custom_arguments(c.node);
  const Dims &dtypes = c.node.dims(AttrKey::dtype), &sizes = c.node.dims(AttrKey::sizes);
  c.list(AttrKey::counts, dtypes.size());
  const auto ranks = c.integers(AttrKey::counts, dtypes.size());
  std::size_t first_size = 0;
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    const auto rank = static_cast<std::size_t>(ranks[i]);
    c.require(first_size + rank <= sizes.size(), "attribute 'sizes' is too short");
    c.out(static_cast<DType>(dtypes[i].value()), Dims(sizes.begin() + static_cast<std::ptrdiff_t>(first_size),
                                                      sizes.begin() + static_cast<std::ptrdiff_t>(first_size + rank)));
    first_size += rank;
  }
  c.require(first_size == sizes.size(), "attribute 'sizes' is too long");
}

constexpr std::int64_t kMaxOperands = 1 << 20;
constexpr Attribute kCarried =
    required(AttrKey::carried, AttrType::integer, "operands that each round replaces").bounds(0, kMaxOperands);
constexpr Attribute kMapped =
    required(AttrKey::mapped, AttrType::integer, "operands of which each round takes a slice").bounds(0, kMaxOperands);
constexpr Attribute kMessage = optional_attribute(AttrKey::text, AttrType::text, "no message", "of the error");
constexpr AttrRecord kCond[] = {
    optional_attribute(AttrKey::symbols, AttrType::symbols, "the branches agree",
                       "sizes of results in which the branches differ"),
};
constexpr AttrRecord kWhileLoop[] = {kCarried};
constexpr AttrRecord kScanLoop[] = {kCarried, kMapped};
constexpr AttrRecord kMapLoop[] = {kMapped};
constexpr AttrRecord kItem[] = {required(AttrKey::symbols, AttrType::symbols, "that takes the value").exactly(1)};
constexpr AttrRecord kAssertDim[] = {
    required(AttrKey::dim, AttrType::dim, "the condition: not 0"),
    kMessage,
    optional_attribute(AttrKey::sizes, AttrType::dims, "no relation between inputs", "sizes of the relation"),
    optional_attribute(AttrKey::name, AttrType::text, "no relation between inputs",
                       "the names of these sizes, one on each line"),
};
constexpr AttrRecord kAssertTrue[] = {kMessage};
constexpr AttrRecord kCustom[] = {
    required(AttrKey::name, AttrType::text, "of the operator"),
    optional_attribute(AttrKey::text, AttrType::text, "no arguments",
                       "the arguments that are not tensors, and what they are"),
    optional_attribute(AttrKey::value, AttrType::dims, "no integers", "integers among the arguments"),
    optional_attribute(AttrKey::hyper, AttrType::numbers, "no numbers", "numbers among the arguments"),
    optional_attribute(AttrKey::dtype, AttrType::integers, "no results", "of the results")
        .bounds(1, kTensorDTypeCount - 1),
    optional_attribute(AttrKey::counts, AttrType::integers, "no results", "ranks of the results").bounds(0, kMaxRank),
    optional_attribute(AttrKey::sizes, AttrType::dims, "no sizes", "of all results, in order"),
};

constexpr OpRecord kControlOps[] = {
    TERN_OP(120, cond, "predicate, operands* -> results*", "the first body if the predicate is true, else the second")
        .attrs(kCond)
        .body_count(2)
        .traits_of(Trait::control, Trait::host, Trait::data_sized, Trait::may_be_unread)
        .rule(cond),
    TERN_OP(121, while_loop, "operands+ -> carried*", "the second body as long as the first gives true")
        .attrs(kWhileLoop)
        .body_count(2)
        .traits_of(Trait::control, Trait::host)
        .rule(while_loop),
    TERN_OP(122, scan_loop, "operands+ -> results*",
            "the body for each slice, with values carried from one to the next")
        .attrs(kScanLoop)
        .body_count(1)
        .traits_of(Trait::control, Trait::host)
        .rule(scan_loop),
    TERN_OP(123, map_loop, "operands+ -> results*", "the body for each slice, results stacked")
        .attrs(kMapLoop)
        .body_count(1)
        .traits_of(Trait::control, Trait::host, Trait::may_be_unread)
        .rule(map_loop),
    TERN_OP(124, call, "operands* -> results*", "the body")
        .body_count(1)
        .traits_of(Trait::control, Trait::host, Trait::may_be_unread)
        .rule(call),
    TERN_OP(125, item, "x ->", "a symbol takes the value of x")
        .attrs(kItem)
        .traits_of(Trait::host, Trait::effect, Trait::data_sized)
        .rule(item),
    TERN_OP(126, assert_dim, "->", "fails if an expression over sizes is 0")
        .attrs(kAssertDim)
        .traits_of(Trait::host, Trait::effect)
        .rule(assert_dim),
    TERN_OP(127, assert_true, "x ->", "fails if x is false")
        .attrs(kAssertTrue)
        .traits_of(Trait::host, Trait::effect)
        .rule(assert_true),
    TERN_OP(128, custom, "tensors* -> results*", "an operator of another library")
        .attrs(kCustom)
        .traits_of(Trait::effect, Trait::may_be_unread)
        .rule(custom),
};

}  // namespace

std::span<const OpRecord> control_ops() {
  return kControlOps;
}

}  // namespace tern::ops
