#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"

namespace tern::portable {
namespace {

void searchsorted(const KernelCall& c, Launches& list) {
  const TensorView &sorted = c.in[0], &values = c.in[1];
  const DType t = number_type(sorted.dtype);
  Launch k("searchsorted");
  k.type("VALUE_T", t);
  k.source.choice("RIGHT", c.node->integer(AttrKey::right) != 0 ? 1 : 0);
  k.input("sorted", 0, sorted.dtype);
  k.input("values", 1, values.dtype);
  k.load("LOAD_S", sorted.dtype, t);
  k.load("LOAD_V", values.dtype, t);
  k.source.view("sorted", sorted);
  k.source.view("values", values);
  k.optional_input("SORTER", "sorter", 2, DType::i64, c.has_input(2));
  k.source.view("sorter", c.has_input(2) ? c.in[2] : sorted);
  k.output("out", 0, c.out[0].dtype);
  k.store("STORE", DType::i64, c.out[0].dtype);
  k.may_fail();
  k.parameter("count", values.numel());
  k.parameter("length", sorted.size(sorted.rank - 1));
  k.parameter("per_line", sorted.rank > 1 ? values.size(values.rank - 1) : std::int64_t{0});
  list.add(std::move(k), values.numel());
}

constexpr std::string_view kSearchsortedSamples[] = {
    "T=f32|f64|i64|u64: T[4], T[4]",
};

DType input_type_searchsorted(const KernelCall& c, std::size_t k) {
  return k < 2 ? number_type(c.in[0].dtype) : c.in[k].dtype;
}
DType output_type_searchsorted(const KernelCall&, std::size_t) {
  return DType::i64;
}

}  // namespace

void define_search(Definitions& d) {
  d.set(Op::searchsorted, kernel<searchsorted>(),
        {.samples = kSearchsortedSamples, .input = input_type_searchsorted, .output = output_type_searchsorted});
}

}  // namespace tern::portable
