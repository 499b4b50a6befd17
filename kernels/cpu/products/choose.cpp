// matmul, by the algorithm that costs least. A matrix of float32 or narrower floats whose columns lie in one piece each
// is read as it lies, unless it was packed at export; a constant bfloat16 one is packed once where the processor
// multiplies that type, and other narrow ones where their columns do not.
#include "kernels/cpu/products/choose.h"

#include "kernels/cpu/contractions.h"
#include "kernels/cpu/products/algorithms/tile_planes.h"
#include "kernels/cpu/products/algorithms/tile_rows.h"
#include "kernels/cpu/products/algorithms/tiles_in_place.h"
#include "kernels/cpu/products/epilogue/unfused.h"
#include "kernels/cpu/products/float32/strided_microkernel.h"
#include "kernels/cpu/products/product_costs.h"

namespace tern::cpu {
namespace {

constexpr std::int64_t kTileRows = 16;

// The time for a weight of 8 bits over that for a float weight: half the products of parts, and as many steps.
constexpr double kOfBytes = 0.75;

// Shares of the machine's products that the algorithms reach.
constexpr double kOfPanels = 1, kOfInPlace = 0.9, kChooseOfBlocks = 0.8, kOfLongRows = 0.86, kOfFewRows = 0.5;

double tiles(const ProductProperties& p, const Machine& m) {
  if (m.tile_products == 0) return kOnRequest;
  const auto rows = static_cast<double>((p.m + kTileRows - 1) / kTileRows * kTileRows);
  const double share = p.floats || p.call.precision == Precision::bfloat16 ? 1 : kOfBytes;
  return share * rows / static_cast<double>(p.m) * p.products() / m.tile_products;
}
/// Few rows take as long as reading the weight, and panels have more to read.
double panels(const ProductProperties& p, const Machine& m) {
  return p.products() / m.products / (p.m <= kFewRows ? kOfFewRows : kOfPanels);
}
/// Many rows are packed, and blocks of results are transposed.
double in_place(const ProductProperties& p, const Machine& m) {
  if (p.linear && p.linear->uses_onednn) return kOnRequest;
  const double packed = p.m <= kFewRows ? 0 : static_cast<double>(p.m * (p.k + p.n));
  return p.products() / m.products / kOfInPlace + packed * m.packed_element;
}
/// The weight is packed; results are written once more for the bias, and once for an epilogue. Elements of other types
/// are converted first.
double blocks(const ProductProperties& p, const Machine& m) {
  constexpr double kOfPass = 0.3;  // moves of an element of the result
  if (!p.floats || m.packed_element == 0) return p.products() / m.products / kChooseOfBlocks;
  const std::int64_t half = strided_product::micro_kernels().columns / 2, padded = (p.n + half - 1) / half * half;
  const double passes = kOfPass * (p.call.node->expr.code.empty() ? 1 : 2), m_n = static_cast<double>(p.m * p.n),
               packed = static_cast<double>(p.k * p.n) + passes * m_n;
  return static_cast<double>(padded) / static_cast<double>(p.n) * p.products() / m.products / kOfLongRows +
         packed * m.packed_element;
}
/// A packed copy is not worth its memory where columns lie in one piece.
double onednn(const ProductProperties& p, const Machine& m) {
  return p.linear && !p.linear->uses_onednn ? kOnRequest : p.products() / m.products / kOfPanels;
}

/// No other algorithm multiplies many rows as fast. The runtime asks for tiles where another function reads a constant
/// weight as it lies (runtime/node_algorithms.h).
double tile_rows(const ProductProperties&, const Machine&) {
  return 0;
}

double quantized(const ProductProperties& p, const Machine&) {
  return p.call.in[1].blocks.columns == 0 ? kOnRequest : 0;
}

/// No other algorithm multiplies integers of 8 bits as such. Few rows read the weight in place: of two that cost the
/// same, the first is taken.
double integer_dots(const ProductProperties& p, const Machine&) {
  return p.m <= kFewRows ? 0 : kOnRequest;
}
double integer_rows(const ProductProperties&, const Machine&) {
  return 0;
}

/// A constant weight is packed once, any other in each run.
std::unique_ptr<PreparedAlgorithm> prepare_packed_rows(const ProductProperties& p) {
  auto constant = prepare_tile_rows(p);
  return constant != nullptr ? std::move(constant) : prepare_tile_planes(p);
}

constexpr AlgorithmEntry<ProductProperties> kChooseTable[] = {
    {Algorithm::quantized, quantized, prepare_quantized},
    {Algorithm::tile_rows, tile_rows, prepare_packed_rows},
    {Algorithm::tiles, tiles, prepare_tiles},
    {Algorithm::panels, panels, prepare_panels},
    {Algorithm::in_place, in_place, prepare_in_place},
    {Algorithm::integer_dots, integer_dots, prepare_integer_dots},
    {Algorithm::integer_rows, integer_rows, prepare_integer_rows},
    {Algorithm::onednn, onednn, prepare_onednn},
    {Algorithm::blocks, blocks, prepare_blocks}};

/// The algorithms that store integers of 8 bits as an epilogue makes them.
constexpr AlgorithmEntry<ProductProperties> kChooseStoringBytes[] = {
    {Algorithm::integer_dots, integer_dots, prepare_integer_dots},
    {Algorithm::integer_rows, integer_rows, prepare_integer_rows}};

std::unique_ptr<KernelState> prepare_best_of_all_choose(const KernelCall& c) {
  if (auto rows = prepare_dense_rows(c)) return std::make_unique<AlgorithmState>(c, std::move(rows));
  return prepare_best(kChooseTable, ProductProperties(c));
}

std::unique_ptr<KernelState> prepare_choose(const KernelCall& c) {
  if (!makes_bytes(c)) return prepare_best_of_all_choose(c);
  auto state = prepare_best(kChooseStoringBytes, ProductProperties(c));
  return state != nullptr ? std::move(state) : prepare_unfused(c, prepare_best_of_all_choose);
}

/// Packs a weight of bfloat16 as by default if the archive asks for tiles and the processor has none.
bool takes_rows(const KernelCall& c) {
  const ProductProperties p(c);
  const Algorithm asked = c.algorithm.algorithm;
  const bool in_place = asked == Algorithm::tiles && c.in[1].dtype == DType::bf16;
  if (in_place && can_use_tiles_in_place(p)) return true;
  return (in_place || asked == Algorithm::none || asked == Algorithm::tile_rows) && takes_tile_rows(p);
}

bool rounds_choose(const KernelCall& c, std::size_t k) {
  return k == 0 && takes_rows(c);
}

/// Weights of small elements that the algorithm makes floats of: blocks and oneDNN convert what they do not multiply,
/// and packed rows have two bytes for an element of 8 bits.
Widening widening_choose(const KernelCall& c) {
  const TensorView& w = c.in[1];
  const bool narrow = w.blocks.columns != 0 || element_size(w.dtype) == 1;
  if (!narrow || c.state == nullptr || !is_floating(c.in[0].dtype)) return {};
  const auto floats = [&](std::int64_t size) { return static_cast<std::uint64_t>(w.numel() * size); };
  switch (c.state->algorithm.algorithm) {
    case Algorithm::tile_rows: return {floats(2), true};
    case Algorithm::onednn: return {floats(4), true};
    case Algorithm::blocks: return {floats(4), false};
    default: return {};
  }
}

constexpr AlgorithmChoice kChooseAlgorithms[] = {{Algorithm::tiles},
                                                 {Algorithm::tile_rows},
                                                 {Algorithm::panels},
                                                 {Algorithm::panels, Variant::lines},
                                                 {Algorithm::panels, Variant::columns},
                                                 {Algorithm::panels, Variant::shallow},
                                                 {Algorithm::panels, Variant::deep},
                                                 {Algorithm::in_place},
                                                 {Algorithm::quantized},
                                                 {Algorithm::blocks},
                                                 {Algorithm::integer_dots},
                                                 {Algorithm::integer_rows},
                                                 {Algorithm::onednn}};

}  // namespace

std::vector<AlgorithmCost> product_costs(const KernelCall& call) {
  const ProductProperties product(call);
  std::vector<AlgorithmCost> costs;
  for (const AlgorithmEntry<ProductProperties>& e : kChooseTable)
    costs.push_back({{e.algorithm}, e.cost(product, machine(call.precision))});
  return costs;
}

std::unique_ptr<AlgorithmState> prepare_product(const KernelCall& call) {
  std::unique_ptr<KernelState> best = prepare_best(kChooseTable, ProductProperties(call));
  return std::unique_ptr<AlgorithmState>(static_cast<AlgorithmState*>(best.release()));
}

Kernel matmul_kernel() {
  return {.run = run_algorithm,
          .scratch = scratch_of_algorithm,
          .prepare = prepare_choose,
          .strided = ~0b100u,
          .defers_weights = true,
          .algorithms = kChooseAlgorithms,
          .rounds = rounds_choose,
          .stores_rounded = takes_rows,
          .widening = widening_choose};
}

}  // namespace tern::cpu
