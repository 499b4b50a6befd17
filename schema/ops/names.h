// Names of enumeration values, in numeric order.
#pragma once

#include <string_view>

#include "schema/kinds.h"
#include "schema/linalg_kinds.h"
#include "schema/window_kinds.h"

namespace tern::ops {

#define TERN_KIND_NAME(number, name) #name,
inline constexpr std::string_view kReduceNames[] = {TERN_REDUCE_KINDS(TERN_KIND_NAME)};
inline constexpr std::string_view kSelectNames[] = {TERN_SELECT_KINDS(TERN_KIND_NAME)};
inline constexpr std::string_view kScanNames[] = {TERN_SCAN_KINDS(TERN_KIND_NAME)};
inline constexpr std::string_view kScatterNames[] = {TERN_SCATTER_KINDS(TERN_KIND_NAME)};
inline constexpr std::string_view kBagNames[] = {TERN_BAG_KINDS(TERN_KIND_NAME)};
inline constexpr std::string_view kOptimNames[] = {TERN_OPTIM_KINDS(TERN_KIND_NAME)};
#undef TERN_KIND_NAME
inline constexpr std::string_view kCollectiveNames[] = {
    "all_reduce", "all_gather",   "reduce_scatter",   "broadcast", "all_to_all", "gather", "scatter",
    "reduce",     "all_gather_v", "reduce_scatter_v", "barrier",   "send",       "receive"};
inline constexpr std::string_view kReduceOpNames[] = {"sum",  "avg", "product", "min",       "max",
                                                      "band", "bor", "bxor",    "premul_sum"};
inline constexpr std::string_view kPoolNames[] = {"max", "avg"};
inline constexpr std::string_view kResizeNames[] = {"nearest", "nearest_exact", "linear", "cubic", "lanczos"};
inline constexpr std::string_view kImageLayoutNames[] = {"row_major", "channels_last"};
inline constexpr std::string_view kGridNames[] = {"linear", "nearest", "cubic"};
inline constexpr std::string_view kGridPaddingNames[] = {"zeros", "border", "reflection"};
inline constexpr std::string_view kRnnNames[] = {"lstm", "gru", "tanh", "relu"};
inline constexpr std::string_view kRoiNames[] = {"align", "pool", "position_align", "position_pool"};
inline constexpr std::string_view kFftNames[] = {"complex_to_complex", "real_to_complex", "complex_to_real"};
inline constexpr std::string_view kFftNormNames[] = {"none", "root_n", "n"};
inline constexpr std::string_view kQrNames[] = {"reduced", "complete", "r", "reflectors"};
inline constexpr std::string_view kHouseholderNames[] = {"product", "multiply"};
inline constexpr std::string_view kTransposeNames[] = {"none", "transpose", "adjoint"};
inline constexpr std::string_view kLstsqNames[] = {"gels", "gelsy", "gelsd", "gelss"};
inline constexpr std::string_view kPadNames[] = {"constant", "reflect", "replicate", "circular"};
inline constexpr std::string_view kLayoutNames[] = {"plain", "swizzled_32_4_4"};
inline constexpr std::string_view kRandomNames[] = {"uniform", "dropout", "normal",   "exponential", "bits",
                                                    "randint", "poisson", "binomial", "gamma",       "randperm"};

static_assert(std::size(kReduceNames) == kReduceKinds && std::size(kSelectNames) == kSelectKinds);
static_assert(std::size(kScanNames) == kScanKinds && std::size(kScatterNames) == kScatterKinds);
static_assert(std::size(kBagNames) == kBagKinds && std::size(kOptimNames) == kOptimKinds);
static_assert(std::size(kCollectiveNames) == kCollectiveKinds && std::size(kReduceOpNames) == kReduceOps);
static_assert(std::size(kPoolNames) == kPoolKindCount && std::size(kResizeNames) == kResizeModeCount);
static_assert(std::size(kGridNames) == kGridModeCount && std::size(kGridPaddingNames) == kGridPaddingCount);
static_assert(std::size(kRnnNames) == kRnnKindCount && std::size(kRoiNames) == kRoiKindCount);
static_assert(std::size(kFftNames) == kFftKinds && std::size(kFftNormNames) == kFftNorms);
static_assert(std::size(kQrNames) == kQrKinds && std::size(kHouseholderNames) == kHouseholderKinds);
static_assert(std::size(kTransposeNames) == kTransposes && std::size(kLstsqNames) == kLstsqKinds);

}  // namespace tern::ops
