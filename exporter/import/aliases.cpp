#include "exporter/import/aliases.h"

#include <tern/error.h>

namespace tern::importing {

RefId Aliases::own(ValueId value) {
  const auto id = static_cast<RefId>(refs_.size());
  bases_.push_back({id, 0});
  Ref ref;
  ref.base = bases_.size() - 1;
  ref.value = value;
  refs_.push_back(std::move(ref));
  return id;
}

RefId Aliases::view(RefId of, ValueId value, ViewStep step) {
  const auto id = static_cast<RefId>(refs_.size());
  Ref ref;
  ref.base = at(of).base;
  ref.of = of;
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

ValueId Aliases::read(RefId ref) {
  const std::uint32_t now = bases_[at(ref).base].version;
  std::vector<RefId> stale;  // ordered from the view to its base
  for (RefId r = ref; at(r).version != now && at(r).of >= 0; r = at(r).of) stale.push_back(r);
  while (!stale.empty()) {
    count_replay();
    const RefId r = stale.back();
    stale.pop_back();
    const ValueId value = at(r).step.forward(at(at(r).of).value);
    at(r).value = value;
    at(r).version = now;
  }
  return at(ref).value;
}

std::vector<std::string> Aliases::path(RefId ref) const {
  std::vector<std::string> ops;
  for (; at(ref).of >= 0; ref = at(ref).of) ops.push_back(at(ref).step.op);
  return {ops.rbegin(), ops.rend()};
}

ValueId Aliases::replay(RefId ref, ValueId base) {
  std::vector<RefId> steps;
  for (; at(ref).of >= 0; ref = at(ref).of) steps.push_back(ref);
  for (; !steps.empty(); steps.pop_back()) {
    count_replay();
    base = at(steps.back()).step.forward(base);
  }
  return base;
}

void Aliases::write(RefId ref, ValueId value) {
  Base& base = bases_[at(ref).base];
  std::vector<std::pair<RefId, ValueId>> written;
  for (RefId r = ref;;) {
    written.emplace_back(r, value);
    const RefId of = at(r).of;
    if (of < 0) break;
    count_replay();
    if (!at(r).step.inverse) {
      fail(ErrorCode::unsupported, "the result of " + at(r).step.op +
                                       " is written in place, but its base tensor cannot be updated; call "
                                       "run_decompositions() on the exported program before saving it");
    }
    value = at(r).step.inverse(read(of), value);
    r = of;
  }
  ++base.version;
  for (auto [r, v] : written) {
    at(r).value = v;
    at(r).version = base.version;
  }
}

}  // namespace tern::importing
