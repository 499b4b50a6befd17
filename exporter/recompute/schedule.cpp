#include "exporter/recompute/schedule.h"

#include <algorithm>
#include <iterator>

namespace tern::recompute {
namespace {

std::shared_ptr<const Source> source_of(const Program& program, std::uint32_t function,
                                        std::span<const std::int64_t> expressions) {
  const Function& f = program.functions[function];
  auto s = std::make_shared<Source>(Source{&program, &f, DefUse(f), recipes_of(program, f, expressions), {}});
  s->bytes.assign(f.values.size(), 0);
  for (std::size_t n = 0; n < f.nodes.size(); ++n) {
    for (ValueId v : f.nodes[n].outputs) {
      if (v == kNoValue) continue;
      const auto i = static_cast<std::size_t>(v);
      if (!s->recipes[n].view) s->bytes[i] = bytes_of(f.values[i].type, expressions);
    }
  }
  // Optimizers and most other updates write to the memory of the state.
  for (const WriteBack& w : f.writebacks) s->bytes[static_cast<std::size_t>(w.value)] = 0;
  return s;
}

}  // namespace

Schedule::Schedule(const Program& program, std::uint32_t function, std::span<const std::int64_t> expressions)
    : source_(source_of(program, function, expressions)) {
  const Function& f = *source_->function;
  for (std::size_t v = 0; v < f.values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    versions_.push_back({id, id});
  }
  for (std::size_t n = 0; n < f.nodes.size(); ++n) {
    const Node& node = f.nodes[n];
    steps_.push_back({static_cast<std::uint32_t>(n), node.inputs, node.outputs});
    if (source_->recipes[n].view && node.outputs[0] != kNoValue)
      versions_[index_of(node.outputs[0])].root = root(node.inputs[0]);
  }
  find_lives();
}

void Schedule::insert(std::int32_t insertion_step, std::vector<ScheduleStep> steps, const std::vector<ValueId>& bases,
                      const std::map<ValueId, ValueId>& replacements) {
  for (ValueId base : bases) {
    const auto id = static_cast<ValueId>(versions_.size());
    versions_.push_back({base, id});
  }
  for (const ScheduleStep& s : steps) {
    if (recipe(s).view && s.outputs[0] != kNoValue) versions_[index_of(s.outputs[0])].root = root(s.inputs[0]);
  }
  for (auto s = static_cast<std::size_t>(insertion_step); s < steps_.size(); ++s) {
    for (ValueId& v : steps_[s].inputs) {
      if (v == kNoValue) continue;
      const auto found = replacements.find(base(v));
      if (found != replacements.end()) v = found->second;
    }
  }
  steps_.insert(steps_.begin() + insertion_step, std::make_move_iterator(steps.begin()),
                std::make_move_iterator(steps.end()));
  remove_unread();
  find_lives();
}

void Schedule::remove_unread() {
  std::vector<bool> is_needed(versions_.size());
  for (std::size_t v = 0; v < source_->bytes.size(); ++v) is_needed[v] = source_->is_pinned(v);
  std::vector<bool> is_removed(steps_.size());
  for (std::size_t s = steps_.size(); s-- > 0;) {
    const NodeRecipe& r = recipe(steps_[s]);
    const bool is_needed_step = r.lasting || std::ranges::any_of(steps_[s].outputs, [&](ValueId v) {
                                  return v != kNoValue && is_needed[index_of(v)];
                                });
    is_removed[s] = !is_needed_step;
    if (!is_needed_step) continue;
    for (ValueId v : steps_[s].inputs) {
      if (v != kNoValue) is_needed[index_of(v)] = true;
    }
  }
  std::size_t live_count = 0;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    if (is_removed[s]) continue;
    if (live_count != s) steps_[live_count] = std::move(steps_[s]);
    ++live_count;
  }
  steps_.resize(live_count);
}

void Schedule::find_lives() {
  const auto count = static_cast<std::int32_t>(steps_.size());
  lives_.assign(versions_.size(), {});
  pinned_.assign(versions_.size(), false);
  versions_by_base_.assign(source_->bytes.size(), {});
  production_steps_.assign(versions_.size(), -2);
  for (std::size_t v = 0; v < versions_.size(); ++v) {
    versions_by_base_[index_of(versions_[v].base)].push_back(static_cast<ValueId>(v));
    if (source_->is_pinned(v)) pinned_[index_of(versions_[v].root)] = true;
    if (v < source_->bytes.size() && source_->def_use.producer(static_cast<ValueId>(v)) < 0) production_steps_[v] = -1;
  }
  cost_ = 0;
  for (std::int32_t s = 0; s < count; ++s) {
    const ScheduleStep& step = steps_[static_cast<std::size_t>(s)];
    cost_ += recipe(step).cost;
    for (ValueId v : step.outputs) {
      if (v == kNoValue) continue;
      production_steps_[index_of(v)] = s;
      if (root(v) == v) lives_[index_of(v)].first = lives_[index_of(v)].last = s;
    }
    if (recipe(step).view) continue;
    for (ValueId v : step.inputs) {
      if (v == kNoValue) continue;
      Life& life = lives_[index_of(root(v))];
      if (life.read_steps.empty() || life.read_steps.back() != s) life.read_steps.push_back(s);
      life.last = s;
    }
  }
  for (std::size_t v = 0; v < versions_.size(); ++v) {
    if (pinned_[v]) lives_[v].last = count;
  }
  find_peak();
}

std::uint64_t Schedule::reused_bytes(std::int32_t s) const {
  const ScheduleStep& step = steps_[static_cast<std::size_t>(s)];
  if (recipe(step).node->op != Op::pointwise || step.outputs[0] == kNoValue) return 0;
  const std::uint64_t size = bytes(step.outputs[0]);
  const bool found = std::ranges::any_of(step.inputs, [&](ValueId v) {
    return v != kNoValue && life(root(v)).first >= 0 && life(root(v)).last == s && bytes(root(v)) == size;
  });
  return found ? size : 0;
}

void Schedule::find_peak() {
  std::vector<std::int64_t> byte_changes(steps_.size() + 1, 0);
  for (std::size_t v = 0; v < versions_.size(); ++v) {
    const Life& l = lives_[v];
    if (l.first < 0) continue;
    const auto size = static_cast<std::int64_t>(bytes(static_cast<ValueId>(v)));
    byte_changes[static_cast<std::size_t>(l.first)] += size;
    const auto step_after = static_cast<std::size_t>(l.last) + 1;
    if (step_after < byte_changes.size()) byte_changes[step_after] -= size;
  }
  held_bytes_.assign(steps_.size(), 0);
  std::int64_t live_bytes = 0;
  peak_ = 0;
  peak_steps_ = 0;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    live_bytes += byte_changes[s];
    held_bytes_[s] = static_cast<std::uint64_t>(live_bytes) - reused_bytes(static_cast<std::int32_t>(s));
    if (held_bytes_[s] > peak_) {
      peak_ = held_bytes_[s];
      peak_step_ = s;
      peak_steps_ = 0;
    }
    peak_steps_ += held_bytes_[s] == peak_ ? 1 : 0;
  }
}

std::size_t Schedule::repeated_steps() const {
  std::vector<bool> has_run(source_->recipes.size());
  std::size_t count = 0;
  for (const ScheduleStep& s : steps_) {
    count += has_run[s.recipe] && !recipe(s).view ? 1 : 0;
    has_run[s.recipe] = true;
  }
  return count;
}

Function Schedule::function() const {
  Function f = *source_->function;
  f.nodes.clear();
  for (std::size_t v = f.values.size(); v < versions_.size(); ++v)
    f.values.push_back(f.values[index_of(versions_[v].base)]);
  for (const ScheduleStep& s : steps_) {
    Node n = *recipe(s).node;
    n.inputs = s.inputs;
    n.outputs = s.outputs;
    f.nodes.push_back(std::move(n));
  }
  return f;
}

}  // namespace tern::recompute
