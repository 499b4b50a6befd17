#include "schema/kinds.h"

#include "schema/ops/names.h"

namespace tern {
namespace {

// Numbers of each list count up from 0, so a name's position is its number.
using namespace ops;  // NOLINT: the lists of names

template <std::size_t N>
int find(const std::string_view (&names)[N], std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<int>(i);
  }
  return -1;
}

template <std::size_t N>
std::string_view name_at(const std::string_view (&names)[N], int kind) {
  return kind >= 0 && kind < static_cast<int>(N) ? names[kind] : std::string_view{};
}

}  // namespace

int reduce_kind_from_name(std::string_view name) {
  return find(kReduceNames, name);
}
int select_kind_from_name(std::string_view name) {
  return find(kSelectNames, name);
}
int scan_kind_from_name(std::string_view name) {
  return find(kScanNames, name);
}
int scatter_kind_from_name(std::string_view name) {
  return find(kScatterNames, name);
}
int reduce_op_from_name(std::string_view name) {
  return find(kReduceOpNames, name);
}
std::string_view reduce_kind_name(int kind) {
  return name_at(kReduceNames, kind);
}
std::string_view select_kind_name(int kind) {
  return name_at(kSelectNames, kind);
}
std::string_view scan_kind_name(int kind) {
  return name_at(kScanNames, kind);
}
std::string_view scatter_kind_name(int kind) {
  return name_at(kScatterNames, kind);
}
std::string_view collective_kind_name(int kind) {
  return name_at(kCollectiveNames, kind);
}
std::string_view reduce_op_name(int op) {
  return name_at(kReduceOpNames, op);
}

}  // namespace tern
