#include "exporter/pt2/pickle_view.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/pt2/text.h"
#include "schema/work.h"

namespace tern::pt2 {
namespace {

using PickleValueKind = PickleValue::Kind;

constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxVisits = 4096;
constexpr std::size_t kMaxTensorRank = 64;
constexpr std::size_t kMaxTextBytes = 1024;

}  // namespace

PickleView::Visit::Visit(PickleView& view, const PickleValue& value) : view_(view) {
  if (++view.depth_ > kMaxDepth) view.bad(value, fmt::format("values are nested more than {} deep", kMaxDepth));
  charge_work(sizeof(PickledField));  // a visit makes no more
  if (++view.visits_ > kMaxVisits) view.bad(value, fmt::format("the pickle has more than {} values", kMaxVisits));
}

void PickleView::bad(const PickleValue& value, const std::string& problem, ErrorCode code) const {
  fail(code, fmt::format("{}: offset {}: {}", label_, object_.pickle.offset + value.offset, problem));
}

const PickleValue& PickleView::value(PickleId id, PickleValueKind kind, const char* role) const {
  const PickleValue& v = values_[id];
  if (v.kind != kind) bad(v, fmt::format("{} is {}, not {}", role, name_of(v.kind), name_of(kind)));
  return v;
}

std::string_view PickleView::text(PickleId id, const char* role) const {
  const PickleValue& v = value(id, PickleValueKind::text, role);
  if (v.text.size() > kMaxTextBytes)
    bad(v, fmt::format("{} has {} bytes; at most {} are supported", role, v.text.size(), kMaxTextBytes));
  return v.text;
}

std::int64_t PickleView::natural(PickleId id, const char* role) const {
  const PickleValue& v = value(id, PickleValueKind::integer, role);
  if (v.integer < 0) bad(v, fmt::format("{} is negative", role));
  return v.integer;
}

std::vector<std::int64_t> PickleView::naturals(PickleId id, const char* role) const {
  const PickleValue& v = sequence(id, role);
  if (v.items.size() > kMaxTensorRank) bad(v, fmt::format("{} has {} numbers", role, v.items.size()));
  std::vector<std::int64_t> result;
  for (const PickleId item : v.items) result.push_back(natural(item, role));
  return result;
}

const PickleValue& PickleView::sequence(PickleId id, const char* role) const {
  const PickleValue* v = &values_[id];
  if (v->kind == PickleValueKind::call && callee(*v) == PickleGlobal::size) v = &values_[arguments(*v, 1, 1).items[0]];
  if (v->kind != PickleValueKind::tuple && v->kind != PickleValueKind::list)
    bad(*v, fmt::format("{} is {}", role, name_of(v->kind)));
  return *v;
}

std::string_view PickleView::dtype_name(PickleId id) const {
  const PickleValue& v = value(id, PickleValueKind::global, "the dtype");
  if (v.global != PickleGlobal::dtype) bad(v, fmt::format("{} is not a dtype", quote(v.text)));
  return v.text.substr(v.text.find(' ') + 1);
}

const PickleValue& PickleView::arguments(const PickleValue& v, std::size_t lower, std::size_t upper) const {
  const PickleValue& a = values_[v.items[1]];
  if (a.items.size() < lower || a.items.size() > upper)
    bad(v, fmt::format("{} has {} arguments, not {} to {}", quote(values_[v.items[0]].text), a.items.size(), lower,
                       upper));
  return a;
}

}  // namespace tern::pt2
