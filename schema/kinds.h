// Values of attribute `kind` of ops with variants. The numbers are part of the archive format.
#pragma once

#include <tern/collective.h>

#include <cstdint>
#include <string_view>

namespace tern {

#define TERN_KIND_ENUM(number, name) name = number,

// X(number, name)
#define TERN_REDUCE_KINDS(X) \
  X(0, sum)                  \
  X(1, prod)                 \
  X(2, mean)                 \
  X(3, max)                  \
  X(4, min)                  \
  X(5, any)                  \
  X(6, all)                  \
  X(7, argmax)               \
  X(8, argmin)               \
  X(9, var)                  \
  X(10, bit_xor)
enum class ReduceKind : std::uint8_t { TERN_REDUCE_KINDS(TERN_KIND_ENUM) };
inline constexpr int kReduceKinds = 11;

#define TERN_SELECT_KINDS(X) \
  X(0, max)                  \
  X(1, min)                  \
  X(2, median)               \
  X(3, nanmedian)            \
  X(4, mode)                 \
  X(5, kthvalue)
enum class SelectKind : std::uint8_t { TERN_SELECT_KINDS(TERN_KIND_ENUM) };
inline constexpr int kSelectKinds = 6;

#define TERN_SCAN_KINDS(X) \
  X(0, cumsum)             \
  X(1, cumprod)            \
  X(2, cummax)             \
  X(3, cummin)             \
  X(4, logcumsumexp)
enum class ScanKind : std::uint8_t { TERN_SCAN_KINDS(TERN_KIND_ENUM) };
inline constexpr int kScanKinds = 5;

// Combination of old and new elements in scatter; also the kinds of segment_reduce, except `set`.
#define TERN_SCATTER_KINDS(X) \
  X(0, set)                   \
  X(1, sum)                   \
  X(2, prod)                  \
  X(3, mean)                  \
  X(4, max)                   \
  X(5, min)
enum class ScatterKind : std::uint8_t { TERN_SCATTER_KINDS(TERN_KIND_ENUM) };
inline constexpr int kScatterKinds = 6;

// The modes of embedding_bag.
#define TERN_BAG_KINDS(X) \
  X(0, sum)               \
  X(1, mean)              \
  X(2, max)
enum class BagKind : std::uint8_t { TERN_BAG_KINDS(TERN_KIND_ENUM) };
inline constexpr int kBagKinds = 3;

// The optimizers of op optim.
#define TERN_OPTIM_KINDS(X) \
  X(0, sgd)                 \
  X(1, adam)                \
  X(2, adamw)               \
  X(3, adagrad)             \
  X(4, rmsprop)             \
  X(5, adadelta)            \
  X(6, adamax)              \
  X(7, nadam)               \
  X(8, radam)               \
  X(9, asgd)                \
  X(10, rprop)              \
  X(11, lion)
enum class OptimKind : std::uint8_t { TERN_OPTIM_KINDS(TERN_KIND_ENUM) };
inline constexpr int kOptimKinds = 12;

// Kinds of op collective: CollectiveKind and ReduceOp of tern/collective.h.
inline constexpr int kCollectiveKinds = 13;
inline constexpr int kReduceOps = 9;

#undef TERN_KIND_ENUM

/// Returns the number of the kind of that name, or -1.
int reduce_kind_from_name(std::string_view name);
int select_kind_from_name(std::string_view name);
int scan_kind_from_name(std::string_view name);
int scatter_kind_from_name(std::string_view name);
int reduce_op_from_name(std::string_view name);

/// Returns the name of a kind; empty for unknown numbers.
std::string_view reduce_kind_name(int kind);
std::string_view select_kind_name(int kind);
std::string_view scan_kind_name(int kind);
std::string_view scatter_kind_name(int kind);
std::string_view collective_kind_name(int kind);
std::string_view reduce_op_name(int op);

}  // namespace tern
