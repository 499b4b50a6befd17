#include "tools/train/trained_archive.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "exporter/archive_writer.h"
#include "exporter/importer.h"
#include "exporter/passes/passes.h"
#include "exporter/training/methods.h"
#include "schema/passes/unread_states.h"
#include "tools/train/adapters.h"

namespace tern::train {
namespace {

/// Another source's storages, some with replaced bytes.
class TrainedSource final : public StorageSource {
 public:
  TrainedSource(std::shared_ptr<StorageSource> base, std::map<std::uint32_t, std::vector<std::byte>> changed)
      : base_(std::move(base)), changed_(std::move(changed)) {}
  std::span<const std::byte> bytes(std::uint32_t storage) override {
    const auto found = changed_.find(storage);
    return found == changed_.end() ? base_->bytes(storage) : std::span<const std::byte>(found->second);
  }
  void release(std::uint32_t storage) override {
    if (!changed_.contains(storage)) base_->release(storage);
  }

 private:
  std::shared_ptr<StorageSource> base_;
  std::map<std::uint32_t, std::vector<std::byte>> changed_;
};

/// Copies contiguous elements to the positions of the state's view.
void scatter_elements(const State& s, const Tensor& value, std::vector<std::byte>& storage) {
  const auto size = static_cast<std::size_t>(element_size(s.type.dtype));
  std::vector<std::int64_t> index(s.strides.size(), 0);
  const auto* from = static_cast<const std::byte*>(value.data());
  for (std::int64_t i = 0; i < value.numel(); ++i) {
    std::int64_t at = s.offset;
    for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * s.strides[d];
    std::memcpy(storage.data() + static_cast<std::size_t>(at) * size, from + static_cast<std::size_t>(i) * size, size);
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < s.type.shape[d].value()) break;
      index[d] = 0;
    }
  }
}

/// `merged`: adapters to merge into the weights.
Program trained_program(const Model& model, const Session& session, const std::vector<Adapter>& merged = {}) {
  Program program = *model.program();
  std::map<std::uint32_t, std::vector<std::byte>> changed;
  merge_adapters(program, session, merged, changed);
  for (const State& s : program.states) {
    if (!s.is_mutable) continue;
    auto [entry, is_new] = changed.try_emplace(s.storage);
    if (is_new) {
      const auto before = program.source->bytes(s.storage);
      entry->second.assign(before.begin(), before.end());
    }
    scatter_elements(s, session.read_state(s.name), entry->second);
  }
  program.source = std::make_shared<TrainedSource>(program.source, std::move(changed));
  return program;
}

/// Keeps only the function and its bodies.
void keep_only(Program& program, std::uint32_t entry) {
  std::vector<std::uint32_t> kept = {entry};
  std::map<std::uint32_t, std::uint32_t> numbers = {{entry, 0}};
  for (std::size_t i = 0; i < kept.size(); ++i) {
    for (Node& n : program.functions[kept[i]].nodes) {
      for (std::uint32_t& body : n.functions) {
        const auto [at, is_new] = numbers.try_emplace(body, static_cast<std::uint32_t>(kept.size()));
        if (is_new) kept.push_back(body);
        body = at->second;
      }
    }
  }
  std::vector<Function> functions;
  for (std::uint32_t k : kept) functions.push_back(std::move(program.functions[k]));
  program.functions = std::move(functions);
  program.tunings.clear();
  // Drops packed weights: adapters are merged and batch norms folded into weights, so the packed bytes are outdated.
  program.packings.clear();
}

/// Turns states without a writing function into constants.
void settle_states(Program& program) {
  std::vector<bool> written(program.storages.size());
  for (const Function& f : program.functions) {
    for (const WriteBack& w : f.writebacks) {
      if (w.target == WriteBack::Target::state) written[program.states[w.index].storage] = true;
    }
  }
  for (State& s : program.states) s.is_mutable = written[s.storage];
}

}  // namespace

void write_trained(const Model& model, const Session& session, const std::string& path) {
  write_archive(trained_program(model, session), path);
}

void write_forward(const Model& model, const Session& session, const std::string& path) {
  const std::vector<Adapter> adapters = adapters_of(*model.program());
  Program program = trained_program(model, session, adapters);
  // Averages of adapters are merged into the weights that `forward` reads.
  const int averaged = adapters.empty() ? program.find_entry(std::string(training::kAveragedForward)) : -1;
  const int forward = averaged >= 0 ? averaged : program.find_entry(std::string(training::kForward));
  if (averaged >= 0) program.functions[static_cast<std::size_t>(averaged)].name = training::kForward;
  if (forward < 0) {
    fail(ErrorCode::invalid_argument, fmt::format("--forward: the archive has no method '{}'", training::kForward));
  }
  remove_adapters(program, static_cast<std::uint32_t>(forward), adapters);
  keep_only(program, static_cast<std::uint32_t>(forward));
  settle_states(program);
  remove_unread_states(program, std::vector<bool>(program.states.size(), true));
  std::erase_if(program.metadata,
                [](const auto& m) { return m.first.starts_with("training.") || m.first == "folded"; });
  fold_constants(program);
  store_weights(program, {});
  write_archive(program, path);
}

}  // namespace tern::train
