#include "exporter/import/aliases.h"

#include <tern/error.h>

namespace tern::importing {

RefId Aliases::add_base(ValueId value) {
  const auto id = static_cast<RefId>(refs_.size());
  bases_.push_back({id, 0});
  Ref ref;
  ref.base = bases_.size() - 1;
  ref.value = value;
  refs_.push_back(std::move(ref));
  return id;
}

RefId Aliases::add_view(RefId parent, ValueId value, ViewStep step) {
  const auto id = static_cast<RefId>(refs_.size());
  Ref ref;
  ref.base = entry(parent).base;
  ref.parent = parent;
  ref.step = std::move(step);
  ref.value = value;
  ref.version = bases_[ref.base].version;
  refs_.push_back(std::move(ref));
  return id;
}

void Aliases::count_replay() {
  if (++replays_ > kMaxReplays) {
    fail(ErrorCode::unsupported,
         "the program writes through too many nested views; call run_decompositions() on the exported program before "
         "saving it");
  }
}

ValueId Aliases::current_value(RefId ref) {
  const std::uint32_t base_version = bases_[entry(ref).base].version;
  std::vector<RefId> stale;  // ordered from the view to its base
  for (RefId r = ref; entry(r).version != base_version && entry(r).parent >= 0; r = entry(r).parent) stale.push_back(r);
  while (!stale.empty()) {
    count_replay();
    const RefId r = stale.back();
    stale.pop_back();
    const ValueId value = entry(r).step.forward(entry(entry(r).parent).value);
    entry(r).value = value;
    entry(r).version = base_version;
  }
  return entry(ref).value;
}

std::vector<std::string> Aliases::view_operators(RefId ref) const {
  std::vector<std::string> ops;
  for (; entry(ref).parent >= 0; ref = entry(ref).parent) ops.push_back(entry(ref).step.op);
  return {ops.rbegin(), ops.rend()};
}

ValueId Aliases::replay(RefId ref, ValueId base) {
  std::vector<RefId> steps;
  for (; entry(ref).parent >= 0; ref = entry(ref).parent) steps.push_back(ref);
  for (; !steps.empty(); steps.pop_back()) {
    count_replay();
    base = entry(steps.back()).step.forward(base);
  }
  return base;
}

void Aliases::write(RefId ref, ValueId value) {
  Base& base = bases_[entry(ref).base];
  std::vector<std::pair<RefId, ValueId>> written;
  for (RefId r = ref;;) {
    written.emplace_back(r, value);
    const RefId parent = entry(r).parent;
    if (parent < 0) break;
    count_replay();
    if (!entry(r).step.inverse) {
      fail(ErrorCode::unsupported, "the result of " + entry(r).step.op +
                                       " is written in place, but its base tensor cannot be updated; call "
                                       "run_decompositions() on the exported program before saving it");
    }
    value = entry(r).step.inverse(current_value(parent), value);
    r = parent;
  }
  ++base.version;
  for (auto [r, v] : written) {
    entry(r).value = v;
    entry(r).version = base.version;
  }
}

}  // namespace tern::importing
