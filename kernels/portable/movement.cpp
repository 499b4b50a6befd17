// Ops moving elements: concat, pad, and writes into a part of a tensor.
#include "kernels/portable/movement.h"

#include <algorithm>
#include <cstring>

#include "dtypes/convert.h"
#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"

namespace tern::portable {

void add_start(const KernelCall& c, Launches& list) {
  add_copy(list, {0, c.in[0]}, {0, c.out[0]});
}

void run_over_input(KernelCall& call) {
  const auto* list = static_cast<const Launches*>(call.state);
  const bool there = call.out[0].data == call.in[0].data && list->size() > 0;
  list->run(call, there ? 1 : 0, list->size());
}

namespace {

void concat(const KernelCall& c, Launches& list) {
  const TensorView& out = c.out[0];
  const int axis = axis_of(*c.node, out.rank);
  std::vector<Copy> copies;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const std::int64_t length = c.in[i].size(axis);
    CopyEnd to{0, out, 0};
    to.view = slice(out, axis, at, length, 1, &to.offset);
    copies.push_back({{i, c.in[i], 0}, to});
    at += length;
  }
  add_copies(list, copies);
}

void slice_scatter(const KernelCall& c, Launches& list) {
  const TensorView& out = c.out[0];
  const int axis = axis_of(*c.node, out.rank);
  add_start(c, list);
  CopyEnd to{0, out, 0};
  to.view =
      slice(out, axis, c.node->integer(AttrKey::start), c.in[1].size(axis), c.node->integer(AttrKey::step), &to.offset);
  add_copy(list, {1, c.in[1], 0}, to);
}

void as_strided_scatter(const KernelCall& c, Launches& list) {
  add_start(c, list);
  CopyEnd to{0, c.in[1], c.node->integer(AttrKey::offset)};
  const Dims& strides = c.node->dims(AttrKey::strides);
  for (std::size_t i = 0; i < strides.size(); ++i) to.view.strides[i] = strides[i].value();
  add_copy(list, {1, c.in[1], 0}, to);
}

void pad(const KernelCall& c, Launches& list) {
  const TensorView &x = c.in[0], &out = c.out[0];
  const Dims& before = c.node->dims(AttrKey::before);
  const double value[2] = {c.node->number_at(AttrKey::value, 0), c.node->number_at(AttrKey::value, 1)};
  std::int64_t words[2] = {};
  std::byte element[16] = {};
  convert(value, DType::c128, element, out.dtype, 1);
  std::memcpy(words, element, static_cast<std::size_t>(element_size(out.dtype)));
  const DType t = carrier(out.dtype);
  Launch k("pad");
  std::vector<std::int64_t> skip;
  for (Dim b : before) skip.push_back(b.value());
  k.source.define("RANK", x.rank);
  k.source.define("MODE", c.node->integer(AttrKey::mode));
  k.source.define("FILL", t == DType::c128 ? "tern_make_c128(tern_f64_of(p.low), tern_f64_of(p.high))"
                                           : "(" + c_type(t) + ")p.low");
  k.input("x", 0, t);
  k.output("out", 0, t);
  k.parameter("count", out.numel());
  k.parameter("low", words[0]);
  k.parameter("high", words[1]);
  const auto rank = static_cast<std::size_t>(x.rank);
  const auto array = [&](const std::string& name, const std::int64_t* values) {
    std::vector<std::int64_t> padded(values, values + rank);
    if (rank == 1) padded.push_back(0);  // an array even then
    k.source.parameter(name, padded);
  };
  if (rank == 0) return add_copy(list, {0, x, 0}, {0, out, 0});
  array("x_sizes", x.sizes.data());
  array("x_strides", x.strides.data());
  array("out_sizes", out.sizes.data());
  array("before", skip.data());
  list.add(std::move(k), out.numel());
}

}  // namespace

void define_movement(Definitions& d) {
  d.set(Op::concat, kernel<concat>());
  d.set(Op::pad, kernel<pad>());
  Kernel over = kernel<slice_scatter>();
  over.run = run_over_input;
  over.in_place = 0;
  d.set(Op::slice_scatter, over);
  over = kernel<as_strided_scatter>();
  over.run = run_over_input;
  over.in_place = 0;
  d.set(Op::as_strided_scatter, over);
}

}  // namespace tern::portable
