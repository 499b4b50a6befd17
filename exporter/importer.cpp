#include "exporter/importer.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "exporter/import/entry.h"
#include "exporter/import/node_error.h"
#include "exporter/passes/pipeline.h"
#include "exporter/pt2/parse.h"
#include "exporter/training/evaluation.h"
#include "exporter/training/methods.h"
#include "schema/work.h"

namespace tern {
namespace {

using namespace importing;

class Importer {
 public:
  Importer(const pt2::Container& container, const ImportOptions& options)
      : source_(std::make_shared<ArchiveSource>(container)), options_(options) {
    program_.source = source_;
  }

  /// Storages of the file's models precede the constants added by lowering.
  void reserve(const pt2::Program& model) { reserve_storages(model, *source_, program_); }

  void add(const pt2::Program& model, const std::string& name, const std::string& prefix) {
    Symbols symbols(program_.pool, model.range_constraints, prefix);
    Shared shared(program_, model, symbols, missing_, options_);
    ModelStates states(program_, *source_, model, known_states_, prefix);
    EntryImport(shared, states, name).build();
    traced_ += shared.traced_nodes;
    warnings_.insert(warnings_.end(), shared.warnings.begin(), shared.warnings.end());
    if (program_.metadata.empty()) {
      program_.metadata = {{"torch", model.torch_version}, {"source", "pt2"}};
      for (const std::string& v : model.verifiers) program_.metadata.emplace_back("dialect", v);
    }
  }

  Program finish(ImportReport* report) {
    if (report != nullptr) {
      report->missing = missing_.ops();
      report->traced_nodes = traced_;
    }
    missing_.check();
    missing_.check_guards(options_.unchecked_guards, &warnings_);
    if (report != nullptr) report->warnings = warnings_;
    run_passes(program_, Stage::lowered, Stage::fold, options_, report);
    if (options_.store_weights) store_weights(program_, options_, report);
    return std::move(program_);
  }

 private:
  Program program_;
  std::shared_ptr<ArchiveSource> source_;
  ImportOptions options_;
  Missing missing_;
  std::size_t traced_ = 0;
  std::vector<std::string> warnings_;
  KnownStates known_states_;
};

template <class F>
Program located(const std::string& label, F import) {
  try {
    return import();
  } catch (const importing::NodeError& e) {
    throw importing::NodeError(
        e.code(), e.reason.starts_with(label) ? e.reason : fmt::format("{}: {}", label, e.reason), e.target, e.where);
  } catch (const Error& e) {
    const std::string message = e.what();
    throw Error(e.code(), message.starts_with(label) ? message : fmt::format("{}: {}", label, message));
  }
}

bool is_joint(const pt2::Program& model) {
  return std::ranges::any_of(model.signature.outputs, [](const pt2::OutputSpec& s) {
    return s.kind == pt2::OutputSpec::Kind::gradient_to_parameter;
  });
}

void add_for_training(Importer& importer, const std::vector<pt2::Program>& models) {
  if (models.size() != 1)
    fail(ErrorCode::invalid_argument,
         fmt::format("training takes a file with one model, but this one has {}", models.size()));
  if (!is_joint(models[0])) importer.add(evaluation_model(models[0]), std::string(training::kForward), "");
  importer.add(models[0], std::string(training::kTrainStep), "");
}

}  // namespace

void store_weights(Program& program, const ImportOptions& options, ImportReport* report) {
  run_passes(program, Stage::quantize, Stage::storage, options, report);
  if (report != nullptr) {
    for (const Function& f : program.functions) report->nodes += f.nodes.size();
  }
}

Program import_pt2(const pt2::Program& model, const pt2::Container& container, const ImportOptions& options,
                   ImportReport* report) {
  return located(container.label(), [&] {
    const WorkBudget budget(work_of(container.bytes().size()));
    Importer importer(container, options);
    importer.reserve(model);
    importer.add(model, "forward", {});
    return importer.finish(report);
  });
}

Program import_pt2(const pt2::Container& container, const ImportOptions& options, ImportReport* report) {
  return located(container.label(), [&] {
    const WorkBudget budget(work_of(container.bytes().size()));
    Importer importer(container, options);
    std::vector<pt2::Program> models;
    for (const std::string& name : container.models()) {
      models.push_back(pt2::parse_program(container, name));
      importer.reserve(models.back());
    }
    if (options.training) {
      add_for_training(importer, models);
      return importer.finish(report);
    }
    for (const pt2::Program& model : models) {
      const bool is_single_model = models.size() == 1;
      importer.add(model, is_single_model && model.model == "model" ? "forward" : model.model,
                   is_single_model ? "" : model.model + ".");
    }
    return importer.finish(report);
  });
}

Program import_pt2(const std::string& path, const ImportOptions& options, ImportReport* report) {
  return import_pt2(pt2::Container::open(path), options, report);
}

}  // namespace tern
