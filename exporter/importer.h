// Imports PyTorch's exported programs: .pt2 files become Programs of Tern's ops.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "exporter/passes/quantize/options.h"
#include "exporter/pt2/container.h"
#include "exporter/pt2/model.h"
#include "schema/program.h"

namespace tern {

struct ImportOptions {
  /// Operators of other libraries (not aten's and the like) that have no lowering become nodes of Op::custom, which a
  /// plugin must provide, rather than errors.
  bool custom_ops = false;
  bool unchecked_guards = false;  ///< accepts relations between sizes that Tern cannot check before a run
  bool annotations = true;        ///< keep what torch.fx.traceback.annotate attached
  bool fold = true;               ///< compute at export what depends on constants alone
  bool origins = true;            ///< keep module paths and lines of Python
  /// float16 or bfloat16: weights that only matrix products read are stored in it. invalid: all stay as they are.
  /// With bfloat16, products, convolutions and attention are noted to be made in it, too.
  DType precision = DType::invalid;
  std::vector<QuantizeRule>
      quantize;  ///< formats for weights (quantize_weights of exporter/passes/passes.h); of float32 before `precision`
  /// Nodes whose products and weights `precision` and `quantize` leave: patterns as for `matches`.
  std::vector<std::string> keep;
  QuantizeChoices choices;  ///< what single weights get instead
  /// A file of one model gives two functions: "train_step" as it was exported, and "forward" in evaluation mode
  /// (exporter/training/evaluation.h). A joint graph, with gradients among its results, gives "train_step" alone.
  bool training = false;
  /// Called once all models are lowered, before constants are folded: for what works on the ops as lowering gives them,
  /// such as differentiate() (exporter/gradients/differentiate.h). Where it is set, nodes of
  /// exporter/gradients/detach.h mark what PyTorch detaches, and it finds the operators that nodes were made of as
  /// origins.
  std::function<void(Program&)> transform;
  /// Ends with how weights are stored. Otherwise they keep their types and layout: store_weights() is to follow.
  bool store_weights = true;

  bool quantizes() const { return !quantize.empty() || !choices.empty(); }
};

struct MissingOp {
  std::string target;  ///< "aten.foo.default"
  std::size_t count = 0;
  std::string where;   ///< of the first: "encoder.attn, model.py:42, node 'foo_1'"
  std::string reason;  ///< empty when there is no lowering at all
};

struct ImportReport {
  std::vector<MissingOp> missing;  ///< filled before import fails because of them
  /// Results whose type differs from what PyTorch recorded: some of its shape rules do not tell what its kernels do. At
  /// most 100.
  std::vector<std::string> warnings;
  std::size_t traced_nodes = 0;  ///< in the file, subgraphs included
  std::size_t nodes = 0;         ///< in the program
  std::size_t narrowed = 0;      ///< weights that `precision` changed
  QuantizeReport quantized;      ///< what `quantize` did
};

/// The last steps of an import: weights are quantized, laid out and narrowed. Fills in what the report says of them.
void store_weights(Program& program, const ImportOptions& options, ImportReport* report = nullptr);

/// All models of the file, each an entry function of its name ("forward" when "model" is the only one). States of one
/// name that are equal in all bytes are shared among them; else the later ones get the model's name before theirs. The
/// program keeps the file mapped, and copies nothing of the weights. Throws Error: io, bad_file, or unsupported, with
/// all operators that are missing at once.
Program import_pt2(const std::string& path, const ImportOptions& options = {}, ImportReport* report = nullptr);
Program import_pt2(const pt2::Container& container, const ImportOptions& options = {}, ImportReport* report = nullptr);
/// One model that is parsed already, as the entry function "forward".
Program import_pt2(const pt2::Program& model, const pt2::Container& container, const ImportOptions& options = {},
                   ImportReport* report = nullptr);

}  // namespace tern
