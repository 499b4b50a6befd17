// Model of a .pt2 file as an entry function: inputs, body, outputs and write-backs.
#pragma once

#include <set>
#include <string>

#include "exporter/import/states.h"
#include "exporter/import/walker.h"

namespace tern::importing {

class EntryImport {
 public:
  EntryImport(Shared& shared, ModelStates& states, const std::string& name);
  void build();

 private:
  void add_inputs();
  void add_input(const pt2::InputSpec& spec, const std::string& user_name);
  void state_input(const pt2::InputSpec& spec);
  std::shared_ptr<QuantizedTensor> subclass_input(const pt2::InputSpec& spec, const pt2::PickledTensor& tensor,
                                                  const std::string& name);
  RefId add_state_input(std::uint32_t state);
  void tensor_input(const pt2::Argument& arg, const std::string& name);
  void number_input(const pt2::Argument& arg, const std::string& name);
  void no_input(const std::string& name, const std::string& constant);
  void share_storages();
  void add_outputs();
  void add_output(const pt2::OutputSpec& spec, const std::string& name);
  void add_mutation(const pt2::OutputSpec& spec);
  void write_back(std::size_t add_input, ValueId value);
  void mark_written_states();

  Shared& shared_;
  ModelStates& states_;
  const pt2::Program& model_;
  std::uint32_t function_;
  std::shared_ptr<Walker> walker_;
  std::map<std::string, std::size_t>
      input_of_;  ///< position in Function::inputs, keyed by spec target or graph input name
  std::vector<std::pair<std::size_t, RefId>> writable_inputs_;  ///< inputs a traced program may write, with their Refs
  std::vector<std::pair<std::size_t, RefId>> subclass_inputs_;  ///< inner tensors of subclasses, closed to writes
  std::set<std::string> subclasses_;                            ///< targets of specs of tensor subclasses
};

}  // namespace tern::importing
