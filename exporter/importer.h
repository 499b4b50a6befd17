// Imports PyTorch's exported programs: .pt2 files become Programs of Tern's ops.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "exporter/passes/quantize/options.h"
#include "exporter/pt2/container.h"
#include "exporter/pt2/model.h"
#include "schema/program.h"

namespace tern {

struct ImportOptions {
  /// Turns operators of other libraries (not aten's and the like) without a lowering into nodes of Op::custom, for a
  /// plugin to provide, in place of errors.
  bool custom_ops = false;
  bool unchecked_guards = false;  ///< accepts size relations beyond Tern's checks before a run
  bool annotations = true;        ///< keep annotations from torch.fx.traceback.annotate
  bool fold = true;               ///< compute constant values at export
  bool origins = true;            ///< keep module paths and lines of Python
  /// float16 or bfloat16: storage type of weights read by matrix products alone. invalid: all stay unchanged. bfloat16
  /// also marks products, convolutions and attention for computation in bfloat16.
  DType precision = DType::invalid;
  std::vector<QuantizeRule>
      quantize;  ///< formats for weights (quantize_weights of exporter/passes/passes.h); of float32 before `precision`
  /// Nodes whose products and weights `precision` and `quantize` leave: patterns as for `matches`.
  std::vector<std::string> full_precision_nodes;
  QuantizeChoices choices;                    ///< exceptions for single weights
  std::shared_ptr<const SampleData> samples;  ///< facts from example inputs; null without
  /// Imports a file of one model as two functions: "train_step" as exported, and "forward" in evaluation mode
  /// (exporter/training/evaluation.h). A joint graph, with gradients among its results, becomes "train_step" alone.
  bool training = false;
  /// Called after the lowering of all models, before constants are folded: for passes over unoptimized ops, such as
  /// differentiate() (exporter/gradients/differentiate.h). If set, nodes of exporter/gradients/detach.h mark PyTorch's
  /// detach points, and origins name the operators behind nodes.
  std::function<void(Program&)> transform;
  /// Ends with the storage of weights. Otherwise weights keep their types and layout, and store_weights() must follow.
  bool store_weights = true;

  bool quantizes() const { return !quantize.empty() || !choices.empty(); }
};

struct MissingOp {
  std::string target;  ///< "aten.foo.default"
  std::size_t count = 0;
  std::string where;   ///< position of the first: "encoder.attn, model.py:42, node 'foo_1'"
  std::string reason;  ///< empty if there is no lowering at all
};

struct ImportReport {
  std::vector<MissingOp> missing;  ///< filled before import fails
  /// Results with a type other than PyTorch's record: some of PyTorch's shape rules differ from its kernels. At most
  /// 100.
  std::vector<std::string> warnings;
  std::size_t traced_nodes = 0;  ///< nodes in the file, subgraphs included
  std::size_t nodes = 0;         ///< nodes in the program
  std::size_t narrowed = 0;      ///< weights changed by `precision`
  QuantizeReport quantized;      ///< effects of `quantize`
};

/// Last steps of an import: weights are quantized, laid out and narrowed. Fills in their fields of the report.
void store_weights(Program& program, const ImportOptions& options, ImportReport* report = nullptr);

/// Imports all models of the file, each as an entry function of its name ("forward" if "model" is the only one). States
/// equal in name and bytes are shared among models; otherwise later states get the model's name as prefix. The program
/// maps the file, and copies no weights. Throws Error: io, bad_file, or unsupported, listing all missing operators.
Program import_pt2(const std::string& path, const ImportOptions& options = {}, ImportReport* report = nullptr);
Program import_pt2(const pt2::Container& container, const ImportOptions& options = {}, ImportReport* report = nullptr);
/// Imports one parsed model, as the entry function "forward".
Program import_pt2(const pt2::Program& model, const pt2::Container& container, const ImportOptions& options = {},
                   ImportReport* report = nullptr);

}  // namespace tern
