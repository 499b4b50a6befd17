#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"

namespace tern::portable {
namespace {

void searchsorted(const KernelCall& c, Launches& list) {
  const TensorView &sorted = c.in[0], &values = c.in[1];
  const DType t = number_type(sorted.dtype);
  Launch k("searchsorted");
  k.type("VALUE_T", t);
  k.source.define("RIGHT", c.node->integer(AttrKey::right) != 0 ? 1 : 0);
  k.source.define("SORTER", c.has(2) ? 1 : 0);
  k.input("sorted", 0, sorted.dtype);
  k.input("values", 1, values.dtype);
  k.load("LOAD_S", sorted.dtype, t);
  k.load("LOAD_V", values.dtype, t);
  k.source.view("sorted", sorted);
  k.source.view("values", values);
  if (c.has(2)) {
    k.input("sorter", 2, DType::i64);
    k.source.view("sorter", c.in[2]);
  }
  k.output("out", 0, c.out[0].dtype);
  k.store("STORE", DType::i64, c.out[0].dtype);
  k.may_fail();
  k.parameter("count", values.numel());
  k.parameter("length", sorted.size(sorted.rank - 1));
  k.parameter("per_line", sorted.rank > 1 ? values.size(values.rank - 1) : std::int64_t{0});
  list.add(std::move(k), values.numel());
}

}  // namespace

void define_search(Definitions& d) {
  d.set(Op::searchsorted, kernel<searchsorted>());
}

}  // namespace tern::portable
