#include "bench/definition_nodes.h"

#include "schema/kinds.h"
#include "schema/linalg_kinds.h"
#include "schema/window_kinds.h"

namespace tern::bench {
namespace {

using enum DType;
using Key = AttrKey;
using List = std::vector<std::int64_t>;

Operand x(List sizes, Fill fill = Fill::normal) {
  return {fill, std::move(sizes), 0, invalid};
}
Operand of(DType dtype, List sizes, Fill fill = Fill::normal) {
  return {fill, std::move(sizes), 0, dtype};
}
Operand places(List sizes, std::int64_t below, DType dtype = i64) {
  return {Fill::places, std::move(sizes), below, dtype};
}
Operand offsets(List sizes, std::int64_t below) {
  return {Fill::offsets, std::move(sizes), below, i64};
}
Operand mask(List sizes) {
  return {Fill::places, std::move(sizes), 2, boolean};
}
const Operand kNone;

template <class T>
Attr n(Key key, T value) {
  return {key, Dims{Dim(static_cast<std::int64_t>(value))}};
}
Attr list(Key key, const List& values) {
  return {key, Dims(values.begin(), values.end())};
}
Attr numbers(Key key, std::vector<double> values) {
  return {key, std::move(values)};
}
Attr text(Key key, const char* value) {
  return {key, std::string(value)};
}
/// Attribute of a symbol bound by the node, without a value; the benchmark sets the value.
Attr bound() {
  return {Key::symbols, Dims{}};
}
/// The row's type.
Attr typed() {
  return {Key::dtype, Dims{}};
}

const std::vector<DType> kFloat = {f32}, kReal = {f32, f64}, kNarrow = {f32, bf16}, kMatrix = {f32, f64, c64},
                         kAll = {f32, f64, bf16};

std::vector<Row> reductions() {
  const auto eps = numbers(Key::epsilon, {1e-5});
  std::vector<Row> r;
  for (ReduceKind kind :
       {ReduceKind::sum, ReduceKind::mean, ReduceKind::max, ReduceKind::argmax, ReduceKind::var, ReduceKind::prod}) {
    const std::string k = std::to_string(static_cast<int>(kind));
    const Attr dtype = kind == ReduceKind::argmax ? n(Key::dtype, i64) : typed();
    r.push_back({Op::reduce,
                 "kind " + k + ", rows",
                 {x({1024, 768})},
                 {n(Key::kind, kind), list(Key::axes, {1}), dtype},
                 kAll});
    r.push_back({Op::reduce,
                 "kind " + k + ", columns",
                 {x({1024, 768})},
                 {n(Key::kind, kind), list(Key::axes, {0}), dtype},
                 kFloat});
  }
  for (SelectKind kind : {SelectKind::max, SelectKind::median, SelectKind::mode})
    r.push_back({Op::select_reduce,
                 "kind " + std::to_string(static_cast<int>(kind)),
                 {x({128, 1000})},
                 {n(Key::kind, kind), n(Key::axis, 1)},
                 kReal});
  for (ScanKind kind : {ScanKind::cumsum, ScanKind::cumprod, ScanKind::cummax, ScanKind::logcumsumexp}) {
    const std::string k = "kind " + std::to_string(static_cast<int>(kind));
    r.push_back({Op::scan, k + ", rows", {x({256, 1000})}, {n(Key::kind, kind), n(Key::axis, 1)}, kAll});
    r.push_back({Op::scan, k + ", one line", {x({32000})}, {n(Key::kind, kind), n(Key::axis, 0)}, kFloat});
    r.push_back({Op::scan, k + ", columns", {x({256, 1000})}, {n(Key::kind, kind), n(Key::axis, 0)}, kFloat});
  }
  r.push_back(
      {Op::scan, "cumsum of a mask", {places({8, 512}, 2)}, {n(Key::kind, ScanKind::cumsum), n(Key::axis, 1)}, {i64}});
  r.push_back({Op::sort, "logits", {x({1, 50257})}, {n(Key::axis, 1), n(Key::descending, 1)}, kReal});
  r.push_back({Op::sort, "many short", {x({4096, 64})}, {n(Key::axis, 1)}, kFloat});
  r.push_back({Op::topk, "50 of 50257", {x({1, 50257})}, {n(Key::axis, 1), n(Key::k, 50)}, kFloat});
  r.push_back({Op::topk, "2 of 8 experts", {x({512, 8})}, {n(Key::axis, 1), n(Key::k, 2)}, kNarrow});
  r.push_back({Op::topk, "300 of 20000 boxes", {x({2, 20000})}, {n(Key::axis, 1), n(Key::k, 300)}, kFloat});
  r.push_back({Op::softmax, "scores", {x({12, 128, 128})}, {n(Key::axis, 2)}, kAll});
  r.push_back({Op::softmax, "logits, log", {x({1, 50257})}, {n(Key::axis, 1), n(Key::log, 1)}, kFloat});
  r.push_back({Op::softmax, "classes first", {x({1, 21, 65536})}, {n(Key::axis, 1)}, kFloat});
  r.push_back({Op::layer_norm, "128 x 768", {x({128, 768}), x({768}), x({768})}, {n(Key::k, 1), eps}, kAll});
  r.push_back({Op::rms_norm, "128 x 2048", {x({128, 2048}), x({2048})}, {n(Key::k, 1), eps}, kAll});
  r.push_back({Op::group_norm, "UNet", {x({1, 320, 64, 64}), x({320}), x({320})}, {n(Key::groups, 32), eps}, kAll});
  r.push_back(
      {Op::batch_norm, "ResNet", {x({1, 64, 56, 56}), x({64}), x({64}, Fill::unit), x({64}), x({64})}, {eps}, kAll});
  r.push_back({Op::histogram,
               "100 bins",
               {x({262144}), kNone, kNone},
               {n(Key::bins, 100), numbers(Key::range, {-3, 3})},
               kReal});
  r.push_back({Op::histogram, "edges", {x({262144}, Fill::unit), x({65}, Fill::sorted), kNone}, {}, kFloat});
  r.push_back({Op::searchsorted, "bins of 64", {x({64}, Fill::sorted), x({262144}, Fill::unit)}, {}, kReal});
  r.push_back(
      {Op::searchsorted, "cumulative sums", {x({512, 128}, Fill::sorted), x({512, 128}, Fill::unit)}, {}, kFloat});
  r.push_back({Op::searchsorted, "small", {x({16}, Fill::sorted), x({8}, Fill::unit)}, {}, kFloat});
  for (ScatterKind kind : {ScatterKind::sum, ScatterKind::max})
    r.push_back({Op::segment_reduce,
                 "kind " + std::to_string(static_cast<int>(kind)),
                 {x({20000, 64}), offsets({2000}, 20000)},
                 {n(Key::kind, kind), n(Key::axis, 0)},
                 kAll});
  return r;
}

std::vector<Row> indexing() {
  std::vector<Row> r;
  r.push_back({Op::gather, "one of each row", {x({4096, 512}), places({4096, 1}, 512)}, {n(Key::axis, 1)}, kNarrow});
  r.push_back({Op::gather, "rows", {x({1000, 256}), places({1000, 256}, 1000)}, {n(Key::axis, 0)}, kFloat});
  r.push_back({Op::index_select, "embedding", {x({50257, 768}), places({128}, 50257)}, {n(Key::axis, 0)}, kNarrow});
  r.push_back({Op::index_select, "columns", {x({1024, 768}), places({384}, 768)}, {n(Key::axis, 1)}, kFloat});
  r.push_back({Op::index, "one list", {x({50257, 768}), places({128}, 50257)}, {}, kNarrow});
  r.push_back({Op::index, "two lists", {x({512, 512}), places({65536}, 512), places({65536}, 512)}, {}, kFloat});
  r.push_back({Op::index_put, "cache", {x({2048, 1024}), x({128, 1024}), places({128}, 2048)}, {}, kNarrow});
  r.push_back({Op::index_put,
               "accumulate",
               {x({2048, 256}), x({8192, 256}), places({8192}, 2048)},
               {n(Key::accumulate, 1)},
               kFloat});
  r.push_back({Op::scatter,
               "sum of edges",
               {x({2000, 64}), places({20000, 64}, 2000), x({20000, 64})},
               {n(Key::axis, 0), n(Key::kind, ScatterKind::sum)},
               kNarrow});
  r.push_back({Op::scatter,
               "one-hot",
               {x({4096, 1000}), places({4096, 1}, 1000), x({4096, 1})},
               {n(Key::axis, 1), n(Key::kind, ScatterKind::set)},
               kFloat});
  r.push_back({Op::nonzero, "mask", {mask({65536})}, {bound()}, {boolean}});
  r.push_back({Op::masked_select, "half", {x({262144}), mask({262144})}, {bound()}, kNarrow});
  r.push_back({Op::unique, "ids", {places({20000}, 1000)}, {bound()}, {i64}});
  r.push_back({Op::unique, "consecutive", {places({20000}, 2)}, {bound(), n(Key::consecutive, 1)}, {i64}});
  r.push_back({Op::unique, "rows", {places({2000, 3}, 20)}, {bound(), n(Key::axis, 0)}, {i64}});
  r.push_back({Op::bincount, "classes", {places({65536}, 1000)}, {bound()}, {i64}});
  r.push_back({Op::bincount, "weighted", {places({65536}, 1000), x({65536})}, {bound()}, kReal});
  for (BagKind kind : {BagKind::sum, BagKind::mean, BagKind::max})
    r.push_back({Op::embedding_bag,
                 "kind " + std::to_string(static_cast<int>(kind)),
                 {x({100000, 64}), places({8192}, 100000), offsets({512}, 8192), kNone},
                 {n(Key::kind, kind)},
                 kAll});
  r.push_back({Op::embedding_bag,
               "small",
               {x({100, 16}), places({8}, 100), offsets({4}, 8), kNone},
               {n(Key::kind, BagKind::sum)},
               kFloat});
  r.push_back({Op::repeat_interleave, "beams", {x({64, 4096}), places({64}, 5)}, {n(Key::axis, 0), bound()}, kFloat});
  return r;
}

std::vector<Row> movement() {
  std::vector<Row> r;
  r.push_back({Op::concat, "cache", {x({1, 12, 127, 64}), x({1, 12, 1, 64})}, {n(Key::axis, 2)}, kNarrow});
  r.push_back({Op::concat, "channels", {x({1, 64, 56, 56}), x({1, 64, 56, 56})}, {n(Key::axis, 1)}, kFloat});
  r.push_back({Op::pad,
               "constant",
               {x({1, 64, 56, 56})},
               {list(Key::before, {0, 0, 1, 1}), list(Key::after, {0, 0, 1, 1}), n(Key::mode, 0)},
               kNarrow});
  r.push_back({Op::pad,
               "reflect",
               {x({1, 64, 56, 56})},
               {list(Key::before, {0, 0, 1, 1}), list(Key::after, {0, 0, 1, 1}), n(Key::mode, 1)},
               kFloat});
  r.push_back({Op::slice_scatter,
               "rows",
               {x({1024, 768}), x({128, 768})},
               {n(Key::axis, 0), n(Key::start, 64), n(Key::step, 1)},
               kNarrow});
  r.push_back({Op::as_strided_scatter,
               "diagonal",
               {x({1024, 1024}), x({1024})},
               {list(Key::strides, {1025}), n(Key::offset, 0)},
               kFloat});
  r.push_back({Op::full, "zeros", {}, {list(Key::sizes, {1024, 768}), n(Key::value, 0), typed()}, kNarrow});
  r.push_back({Op::iota, "positions", {}, {list(Key::sizes, {4096}), list(Key::value, {0, 1}), typed()}, {i64, f32}});
  for (const char* kind : {"uniform", "normal", "exponential", "bits", "dropout"})
    r.push_back({Op::random,
                 kind,
                 {},
                 {text(Key::kind, kind), list(Key::sizes, {262144}),
                  std::string_view(kind) == "bits" ? n(Key::dtype, i64) : typed()},
                 {f32}});
  r.push_back({Op::random, "normal", {}, {text(Key::kind, "normal"), list(Key::sizes, {262144}), typed()}, {f64}});
  r.push_back({Op::random, "randperm", {}, {text(Key::kind, "randperm"), list(Key::sizes, {65536}), typed()}, {i64}});
  r.push_back({Op::random,
               "poisson",
               {x({65536}, Fill::unit)},
               {text(Key::kind, "poisson"), list(Key::sizes, {65536}), typed()},
               kFloat});
  r.push_back({Op::random,
               "gamma",
               {x({65536}, Fill::unit)},
               {text(Key::kind, "gamma"), list(Key::sizes, {65536}), typed()},
               kFloat});
  return r;
}

std::vector<Row> windows() {
  const auto two = [](Key key, std::int64_t v) { return list(key, {v, v}); };
  std::vector<Row> r;
  for (int kind : {0, 1}) {
    r.push_back(
        {Op::pool,
         kind == 0 ? "max" : "mean",
         {x({1, 64, 112, 112})},
         {n(Key::kind, kind), two(Key::kernel, 3), two(Key::strides, 2), two(Key::before, 1), two(Key::dilations, 1)},
         kAll});
    r.push_back({Op::adaptive_pool,
                 kind == 0 ? "kind 0" : "kind 1",
                 {x({1, 512, 14, 14})},
                 {n(Key::kind, kind), two(Key::sizes, 7)},
                 kAll});
  }
  for (int mode : {0, 2, 3})
    r.push_back({Op::resize,
                 "mode " + std::to_string(mode),
                 {x({1, 64, 56, 56})},
                 {n(Key::mode, mode), two(Key::sizes, 112)},
                 kAll});
  r.push_back(
      {Op::fold,
       "2x2",
       {x({1, 64 * 4, 784})},
       {two(Key::sizes, 56), two(Key::kernel, 2), two(Key::dilations, 1), two(Key::before, 0), two(Key::strides, 2)},
       kAll});
  for (GridMode mode : {GridMode::linear, GridMode::nearest, GridMode::cubic})
    r.push_back({Op::grid_sample,
                 "mode " + std::to_string(static_cast<int>(mode)),
                 {x({1, 64, 64, 64}), x({1, 64, 64, 2})},
                 {n(Key::mode, mode), n(Key::kind, 0)},
                 kAll});
  r.push_back({Op::grid_sample,
               "deformable attention",
               {x({48, 32, 32, 32}), x({48, 300, 4, 2})},
               {n(Key::mode, GridMode::linear), n(Key::kind, 0)},
               kFloat});
  r.push_back({Op::roi_align,
               "512 boxes",
               {x({1, 256, 50, 50}), x({512, 5}, Fill::unit)},
               {n(Key::kind, 0), two(Key::sizes, 7), numbers(Key::scale, {20.0}), n(Key::k, 2)},
               kReal});
  r.push_back({Op::roi_align,
               "pool",
               {x({1, 64, 50, 50}), x({128, 5}, Fill::unit)},
               {n(Key::kind, 1), two(Key::sizes, 7), numbers(Key::scale, {20.0})},
               kFloat});
  r.push_back({Op::nms,
               "1000 boxes",
               {x({1000, 4}, Fill::unit), x({1000}, Fill::unit)},
               {numbers(Key::value, {0.5}), bound()},
               kReal});
  r.push_back({Op::fractional_pool,
               "2x2",
               {x({8, 32, 56, 56}), x({8, 32, 2}, Fill::unit)},
               {two(Key::kernel, 2), two(Key::sizes, 28)},
               kReal});
  return r;
}

std::vector<Row> contractions() {
  std::vector<Row> r;
  r.push_back({Op::matmul, "128 x 768 x 768", {x({128, 768}), x({768, 768})}, {}, kMatrix});
  r.push_back({Op::matmul, "4 x 4, batched", {x({1000, 4, 4}), x({1000, 4, 4})}, {}, kMatrix});
  r.push_back({Op::matmul, "integers", {places({128, 256}, 9), places({256, 128}, 9)}, {}, {i64}});
  r.push_back({Op::grouped_matmul, "8 experts", {x({256, 256}), x({8, 256, 256}), offsets({8}, 256)}, {}, kNarrow});
  r.push_back({Op::convolution,
               "3x3",
               {x({1, 64, 28, 28}), x({64, 64, 3, 3})},
               {list(Key::strides, {1, 1}), list(Key::dilations, {1, 1}), list(Key::before, {1, 1}),
                list(Key::after, {1, 1}), n(Key::groups, 1), list(Key::output_pads, {0, 0})},
               kReal});
  r.push_back({Op::attention,
               "128 tokens",
               {x({1, 12, 128, 64}), x({1, 12, 128, 64}), x({1, 12, 128, 64})},
               {n(Key::causal, 1)},
               kAll});
  for (RnnKind kind : {RnnKind::lstm, RnnKind::gru, RnnKind::tanh}) {
    const std::int64_t h = 128, gates = h * (kind == RnnKind::lstm ? 4 : kind == RnnKind::gru ? 3 : 1);
    r.push_back({Op::rnn,
                 "kind " + std::to_string(static_cast<int>(kind)),
                 {x({32, 4, h}), x({1, 4, h}), kind == RnnKind::lstm ? x({1, 4, h}) : kNone, x({gates, h}),
                  x({gates, h}), x({gates}), x({gates}), kNone},
                 {n(Key::kind, kind), n(Key::layers, 1)},
                 kReal});
  }
  for (double p : {2.0, 1.0, 3.0})
    r.push_back({Op::cdist,
                 "p " + std::to_string(static_cast<int>(p)),
                 {x({256, 64}), x({256, 64})},
                 {numbers(Key::p, {p})},
                 kReal});
  return r;
}

std::vector<Row> linalg() {
  std::vector<Row> r;
  struct Shape {
    const char* name;
    std::int64_t batch, n;
  };
  for (const Shape& s : {Shape{"1000 of 4", 1000, 4}, Shape{"1000 of 8", 1000, 8}, Shape{"200 of 16", 200, 16},
                         Shape{"50 of 32", 50, 32}, Shape{"one of 64", 1, 64}, Shape{"one of 200", 1, 200}}) {
    const std::int64_t b = s.batch, k = s.n;
    const Operand a = x({b, k, k}), d = x({b, k, k}, Fill::definite), pivots{Fill::pivots, {b, k}, 0, i32};
    const auto add = [&](Op op, std::vector<Operand> in, std::vector<Attr> attrs) {
      r.push_back({op, s.name, std::move(in), std::move(attrs), kReal});
    };
    add(Op::cholesky, {d}, {});
    add(Op::qr, {a}, {n(Key::mode, QrKind::reduced)});
    add(Op::householder, {a, x({b, k}, Fill::unit)}, {n(Key::kind, HouseholderKind::product)});
    add(Op::eigh, {d}, {});
    add(Op::eig, {a}, {});
    add(Op::svd, {a}, {});
    add(Op::lu_factor, {d}, {});
    add(Op::lu_solve, {d, pivots, a}, {n(Key::left, 1)});
    add(Op::triangular_solve, {d, a}, {n(Key::left, 1)});
    add(Op::ldl_factor, {d}, {});
    add(Op::ldl_solve, {d, pivots, a}, {});
    add(Op::lstsq, {d, a}, {n(Key::mode, 0)});
    add(Op::matrix_exp, {x({b, k, k}, Fill::unit)}, {});
  }
  const auto fft = [&](const char* name, List sizes, std::int64_t axis, FftKind kind, DType type) {
    r.push_back({Op::fft,
                 name,
                 {of(type, std::move(sizes))},
                 {list(Key::axes, {axis}), n(Key::kind, kind), n(Key::forward, 1)},
                 {type}});
  };
  fft("400, real", {3000, 400}, 1, FftKind::real_to_complex, f32);
  fft("512, real", {3000, 512}, 1, FftKind::real_to_complex, f32);
  fft("1024", {256, 1024}, 1, FftKind::complex_to_complex, c64);
  fft("1024", {256, 1024}, 1, FftKind::complex_to_complex, c128);
  fft("1009", {16, 1009}, 1, FftKind::complex_to_complex, c64);
  return r;
}

std::vector<Row> training() {
  std::vector<Row> r;
  for (OptimKind kind : {OptimKind::sgd, OptimKind::adam, OptimKind::adagrad}) {
    const Operand p = x({262144}), one = of(f64, {}, Fill::unit);
    const bool adam = kind == OptimKind::adam;
    r.push_back(
        {Op::optim,
         "kind " + std::to_string(static_cast<int>(kind)),
         {p, p, kind == OptimKind::adagrad ? kNone : p, kind == OptimKind::sgd ? kNone : x({262144}, Fill::unit), kNone,
          kind == OptimKind::sgd ? kNone : one, kNone, kNone, kNone},
         {n(Key::kind, kind), numbers(Key::hyper, {0.1, adam ? 0.9 : 0.0, adam ? 0.99 : 0.0, 0.0, 1e-8})},
         kAll});
  }
  r.push_back({Op::mx_pack,
               "weight",
               {{Fill::places, {2048, 2048}, 100, f8_e4m3fn}, {Fill::places, {2048 * 64}, 130, u8}},
               {n(Key::block, 32), n(Key::layout, 0)},
               {f8_e4m3fn}});
  return r;
}

}  // namespace

const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> r;
    for (auto make : {reductions, indexing, movement, windows, contractions, linalg, training}) {
      for (Row& row : make()) r.push_back(std::move(row));
    }
    return r;
  }();
  return all;
}

}  // namespace tern::bench
