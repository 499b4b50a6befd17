// Graphs: nodes, conditional handles, instantiation.
#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>

#include "tests/gpu/machine/machine.h"

namespace tern::emulator {
namespace {

// Visits the graph and all graphs in its nodes, at any depth.
void visit_graphs(const std::shared_ptr<Graph>& graph,
                  const std::function<void(const std::shared_ptr<Graph>&)>& visit) {
  visit(graph);
  for (const auto& node : graph->nodes) {
    if (const auto* child = std::get_if<Child>(&node->content)) visit_graphs(child->graph, visit);
    if (const auto* conditional = std::get_if<Conditional>(&node->content)) {
      for (const auto& body : conditional->bodies) visit_graphs(body, visit);
    }
  }
}

bool has_conditional(const std::shared_ptr<Graph>& graph) {
  bool result = false;
  visit_graphs(graph, [&](const auto& inner) {
    for (const auto& node : inner->nodes) result |= std::holds_alternative<Conditional>(node->content);
  });
  return result;
}

// Only dependencies give an order: of the runnable nodes, the last added node runs first.
void order(Graph& graph) {
  std::map<uint64_t, size_t> place;
  std::vector<std::vector<size_t>> after(graph.nodes.size());
  std::vector<size_t> before(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) place[graph.nodes[i]->handle] = i;
  std::priority_queue<size_t> ready;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    before[i] = graph.nodes[i]->dependencies.size();
    for (uint64_t dependency : graph.nodes[i]->dependencies) after[place.at(dependency)].push_back(i);
    if (before[i] == 0) ready.push(i);
  }
  std::vector<std::shared_ptr<Node>> result;
  while (!ready.empty()) {
    const size_t at = ready.top();
    ready.pop();
    result.push_back(graph.nodes[at]);
    for (size_t next : after[at]) {
      if (--before[next] == 0) ready.push(next);
    }
  }
  graph.nodes = std::move(result);  // a node follows only earlier nodes, so the result is complete
}

// A copy of all nodes, with the same handles: no API call looks up a copy's handles.
std::shared_ptr<Graph> copy_of(const Graph& graph, Graph* parent) {
  auto result = std::make_shared<Graph>();
  result->handle = graph.handle;
  result->parent = parent;
  for (const auto& node : graph.nodes) {
    auto copy = std::make_shared<Node>(*node);
    copy->graph = result.get();
    if (auto* child = std::get_if<Child>(&copy->content)) child->graph = copy_of(*child->graph, result.get());
    if (auto* conditional = std::get_if<Conditional>(&copy->content)) {
      for (auto& body : conditional->bodies) body = copy_of(*body, result.get());
    }
    result->nodes.push_back(copy);
  }
  return result;
}

}  // namespace

std::shared_ptr<Graph> Machine::make_graph(Graph* parent) {
  auto graph = std::make_shared<Graph>();
  graph->parent = parent;
  graph->owned = parent != nullptr;
  graph->handle = graphs_.add(graph);
  return graph;
}

uint64_t Machine::create_graph() {
  return make_graph(nullptr)->handle;
}

void Machine::forget_graph(Graph& graph) {
  const std::shared_ptr<Graph> keep = graphs_.get(graph.handle);
  for (const auto& node : graph.nodes) {
    nodes_.remove(node->handle);
    if (const auto* child = std::get_if<Child>(&node->content)) forget_graph(*child->graph);
    if (const auto* conditional = std::get_if<Conditional>(&node->content)) {
      for (const auto& body : conditional->bodies) forget_graph(*body);
    }
  }
  conditions_.remove_if([&](const ConditionalHandle& condition) { return condition.graph.lock().get() == &graph; });
  graphs_.remove(graph.handle);
}

// cuStreamGetCaptureInfo: "All operations other than destroy and node removal are permitted on the graph while the
// capture sequence is in progress." Bodies are "CUDA-owned".
void Machine::destroy_graph(uint64_t handle) {
  const std::shared_ptr<Graph> graph = this->graph(handle);
  if (graph->owned) refuse(Status::invalid_value, "the graph belongs to a node");
  bool capturing = false;
  visit_graphs(graph, [&](const auto& inner) { capturing |= inner->capturing != 0; });
  if (capturing) refuse(Status::illegal_state, "a capture adds to the graph");
  forget_graph(*graph);
}

// cuGraphAddNode: "dependencies may not have any duplicate entries."
uint64_t Machine::add_node(uint64_t graph_handle, std::span<const uint64_t> dependencies,
                           const std::shared_ptr<Context>& context, NodeContent what) {
  const std::shared_ptr<Graph> graph = this->graph(graph_handle);
  std::set<uint64_t> unique;
  for (uint64_t dependency : dependencies) {
    if (node(dependency)->graph != graph.get()) refuse(Status::invalid_value, "a dependency is in another graph");
    if (!unique.insert(dependency).second) refuse(Status::invalid_value, "a dependency is named twice");
  }
  auto node = std::make_shared<Node>();
  node->graph = graph.get();
  node->context = context;
  node->dependencies.assign(dependencies.begin(), dependencies.end());
  node->content = std::move(what);
  node->handle = nodes_.add(node);
  node->id = ++last_node_;
  graph->nodes.push_back(node);
  if (observer_ != nullptr) observer_->created(node->handle, node->id);
  return node->handle;
}

uint64_t Machine::add_event(uint64_t graph, std::span<const uint64_t> dependencies, uint64_t event) {
  return add_node(graph, dependencies, nullptr, EventNode{events_.get(event)});
}

// CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED: "CUDA graph node is cloned."
void Machine::number_copies(const Graph& graph) {
  for (const auto& node : graph.nodes) {
    const uint64_t original = std::exchange(node->id, ++last_node_);
    if (observer_ != nullptr) observer_->cloned(node->id, original);
  }
}

uint64_t Machine::create_condition(uint64_t graph_handle, const std::shared_ptr<Context>& context, uint32_t first,
                                   bool assign) {
  auto condition = std::make_shared<ConditionalHandle>();
  condition->graph = graph(graph_handle);
  condition->context = context;
  condition->first = first;
  condition->assign = assign;
  condition->handle = conditions_.add(condition);
  return condition->handle;
}

// CU_GRAPH_NODE_TYPE_CONDITIONAL: "The graph cannot be used in a child node. [...] The graph cannot be cloned."
uint64_t Machine::add_child(uint64_t graph_handle, std::span<const uint64_t> dependencies, uint64_t child_handle) {
  const std::shared_ptr<Graph> graph = this->graph(graph_handle), child = this->graph(child_handle);
  if (graph == child) refuse(Status::invalid_value, "a graph cannot be a child of itself");
  if (has_conditional(child)) refuse(Status::invalid_value, "a child graph must not contain conditional nodes");
  std::shared_ptr<Graph> copy = copy_of(*child, graph.get());
  visit_graphs(copy, [&](const std::shared_ptr<Graph>& inner) {
    inner->owned = true;
    inner->handle = graphs_.add(inner);
    std::map<uint64_t, uint64_t> renamed;
    for (const auto& node : inner->nodes) {
      const uint64_t before = node->handle;
      node->handle = renamed[before] = nodes_.add(node);
    }
    for (const auto& node : inner->nodes) {
      for (uint64_t& dependency : node->dependencies) dependency = renamed.at(dependency);
    }
  });
  return add_node(graph_handle, dependencies, nullptr, Child{copy});
}

// cuGraphConditionalHandleCreate: "The conditional handle must be associated with a conditional node in this graph or
// one of its children."
std::shared_ptr<Node> Machine::add_conditional(uint64_t graph_handle, std::span<const uint64_t> dependencies,
                                               uint64_t condition_handle, const std::shared_ptr<Context>& context,
                                               Condition type, uint32_t bodies) {
  const std::shared_ptr<Graph> graph = this->graph(graph_handle);
  std::shared_ptr<ConditionalHandle> condition;
  try {
    condition = conditions_.get(condition_handle);
  } catch (Failure& failure) {
    failure.status = Status::invalid_value;
    throw;
  }
  const std::shared_ptr<Graph> home = condition->graph.lock();
  bool inside = false;
  for (Graph* at = graph.get(); at != nullptr; at = at->parent) inside |= at == home.get();
  if (!inside) refuse(Status::invalid_value, "the conditional handle was created for another graph");
  if (condition->used) refuse(Status::invalid_value, "the conditional handle has a node already");
  // CUDA_CONDITIONAL_NODE_PARAMS::ctx: "Must match context used to create the handle and all body nodes."
  if (!same_primary(*condition->context, *context)) {
    refuse(Status::invalid_value, "the conditional handle was created for another context");
  }
  // CUDA_CONDITIONAL_NODE_PARAMS::size: "Allowed values are 1 for CU_GRAPH_COND_TYPE_WHILE, 1 or 2 for
  // CU_GRAPH_COND_TYPE_IF, or any value greater than zero for CU_GRAPH_COND_TYPE_SWITCH."
  const uint32_t most = type == Condition::while_ ? 1 : type == Condition::if_ ? 2 : UINT32_MAX;
  if (bodies == 0 || bodies > most)
    refuse(Status::invalid_value, "a conditional node of this type with %u bodies", bodies);
  const uint64_t handle = add_node(graph_handle, dependencies, context, Conditional{condition_handle, type, {}, {}});
  std::shared_ptr<Node> node = nodes_.get(handle);
  auto& conditional = std::get<Conditional>(node->content);
  for (uint32_t i = 0; i < bodies; ++i) {
    conditional.bodies.push_back(make_graph(graph.get()));
    conditional.handles.push_back(conditional.bodies.back()->handle);
  }
  condition->used = true;
  return node;
}

namespace {

using ull = unsigned long long;

// CUDA_CONDITIONAL_NODE_PARAMS::phGraph_out: "Allowed node types are kernel nodes, empty nodes, child graphs, memsets,
// memcopies, and conditionals." "All kernels, including kernels in nested conditionals or
// child graphs at any level, must belong to the same device context."
// CUDA programming guide, "Conditional Node Body Graph Requirements": "Only copies/memsets involving device memory
// and/or pinned device-mapped host memory are permitted."
void check_body(const std::shared_ptr<Graph>& body, const Context& context) {
  visit_graphs(body, [&](const std::shared_ptr<Graph>& graph) {
    for (const auto& node : graph->nodes) {
      if (std::holds_alternative<EventNode>(node->content))
        refuse(Status::invalid_value, "the body of a conditional node records an event");
      const auto* work = std::get_if<Work>(&node->content);
      if (work == nullptr) continue;
      if (node->context && !same_primary(*node->context, context)) {
        refuse(Status::invalid_value, "%s in the body of a conditional node belongs to another context",
               text(*work).c_str());
      }
      const auto* copy = std::get_if<Copy>(work);
      if (copy != nullptr && copy->direction != Direction::device_to_device && !copy->pinned) {
        refuse(Status::invalid_value, "%s in the body of a conditional node touches pageable memory",
               text(*work).c_str());
      }
    }
  });
}

}  // namespace

uint64_t Machine::instantiate(uint64_t handle) {
  const std::shared_ptr<Graph> graph = this->graph(handle);
  if (graph->owned) refuse(Status::invalid_value, "the graph belongs to a node");
  // "Only one instantiation of the graph may exist at any point in time" if it contains conditional nodes.
  if (graph->executables != 0 && has_conditional(graph)) {
    refuse(Status::invalid_value, "a graph with conditional nodes has an executable graph already");
  }
  auto executable = std::make_shared<Executable>();
  visit_graphs(graph, [&](const std::shared_ptr<Graph>& inner) {
    if (inner->capturing != 0) refuse(Status::invalid_value, "a capture still adds to the graph");
    for (const auto& node : inner->nodes) {
      if (const auto* conditional = std::get_if<Conditional>(&node->content)) {
        for (const auto& body : conditional->bodies) check_body(body, *node->context);
      }
      const auto* work = std::get_if<Work>(&node->content);
      if (work != nullptr && std::holds_alternative<Launch>(*work) && !std::get<Launch>(*work).module->loaded) {
        refuse(Status::invalid_value, "the module of %s was unloaded", text(*work).c_str());
      }
    }
    for (const auto& condition : conditions_.objects()) {
      if (condition->graph.lock() != inner) continue;
      // "Handles not associated with a conditional node may cause graph instantiation to fail."
      if (!condition->used) {
        refuse(Status::invalid_value, "the conditional handle 0x%llx has no node", static_cast<ull>(condition->handle));
      }
      executable->conditions.push_back(condition);
    }
  });
  executable->graph = copy_of(*graph, nullptr);
  visit_graphs(executable->graph, [this](const std::shared_ptr<Graph>& inner) {
    order(*inner);
    number_copies(*inner);
  });
  executable->source = graph;
  executable->handle = executables_.add(executable);
  ++graph->executables;
  return executable->handle;
}

namespace {

// cuGraphExecUpdate: "Kernel nodes: The owning context of the function cannot change." "Memset and memcpy nodes: The
// CUDA device(s) to which the operand(s) was allocated/mapped cannot change." "Changing either the source or
// destination memory type [...] is not supported." "CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED if the type of a node
// changed". Empty if the update is possible.
std::string difference(const Node& before, const Node& after) {
  if (before.content.index() != after.content.index()) return "the type of a node changed";
  const auto *old_work = std::get_if<Work>(&before.content), *work = std::get_if<Work>(&after.content);
  if (work == nullptr)
    return std::holds_alternative<Empty>(after.content) ? "" : "only work is updated in the emulator";
  if (old_work->index() != work->index()) return "the type of a node changed";
  if (before.context && after.context && !same_primary(*before.context, *after.context)) {
    return "the context of " + text(*work) + " changed";
  }
  const auto* copy = std::get_if<Copy>(work);
  if (copy != nullptr && copy->direction != std::get<Copy>(*old_work).direction) {
    return "the memory types of " + text(*work) + " changed";
  }
  return "";
}

// "in a topologically identical graph": "The count of nodes directly in hGraphExec and hGraph differ", "A node in
// hGraph has a dependency that does not match with the corresponding dependency of the paired node". The emulator pairs
// nodes in execution order.
std::string difference(const Graph& before, const Graph& after) {
  if (before.nodes.size() != after.nodes.size()) return "the count of nodes changed";
  std::map<uint64_t, size_t> old_place, place;
  for (size_t i = 0; i < after.nodes.size(); ++i) {
    const Node &old_node = *before.nodes[i], &node = *after.nodes[i];
    old_place[old_node.handle] = place[node.handle] = i;
    bool same = old_node.dependencies.size() == node.dependencies.size();
    for (size_t d = 0; same && d < node.dependencies.size(); ++d) {
      same = old_place.at(old_node.dependencies[d]) == place.at(node.dependencies[d]);
    }
    if (!same) return "the dependencies of a node changed";
    if (std::string why = difference(old_node, node); !why.empty()) return why;
  }
  return "";
}

}  // namespace

// cuGraphExecUpdate: "Updates the node parameters in the instantiated graph specified by hGraphExec with the node
// parameters in a topologically identical graph specified by hGraph." cuGraphExecKernelNodeSetParams: "The
// modifications only affect future launches of hGraphExec. Already enqueued or running launches of hGraphExec are not
// affected by this call."
std::string Machine::update_executable(uint64_t handle, uint64_t graph_handle, bool while_running) {
  const std::shared_ptr<Executable> executable = executables_.get(handle);
  const std::shared_ptr<Graph> graph = this->graph(graph_handle);
  if (!while_running && executable->last && !executable->last->is_complete) {
    refuse(Status::invalid_value, "an executable graph is updated while a launch of it is pending");
  }
  if (graph->capturing != 0) refuse(Status::invalid_value, "a capture still adds to the graph");
  std::shared_ptr<Graph> copy = copy_of(*graph, nullptr);
  visit_graphs(copy, [](const std::shared_ptr<Graph>& inner) { order(*inner); });
  std::string why = difference(*executable->graph, *copy);
  if (!why.empty()) return why;
  executable->graph = copy;
  return "";
}

// cuGraphExecDestroy: "If the executable graph is in-flight, it will not be terminated, but rather freed asynchronously
// on completion."
void Machine::destroy_executable(uint64_t handle) {
  const std::shared_ptr<Executable> executable = executables_.remove(handle);
  executable->destroyed = true;
  if (const std::shared_ptr<Graph> source = executable->source.lock()) --source->executables;
}

// cuGraphLaunch: "Only one instance of hGraphExec may be executing at a time. Each launch is ordered behind both any
// previous work in hStream and any previous launches of hGraphExec."
void Machine::launch_graph(uint64_t handle, uint64_t stream_handle) {
  const std::shared_ptr<Executable> executable = executables_.get(handle);
  const std::shared_ptr<Stream> stream = this->stream(stream_handle);
  if (stream->capture) {
    if (!executable->conditions.empty()) {
      invalidate(*stream->capture, "a graph with conditional nodes was launched into it");
      refuse(Status::capture_unsupported, "a graph with conditional nodes cannot become a child graph");
    }
    refuse(Status::not_supported, "launching a graph into a capture is not emulated");
  }
  if (executable->last && !executable->last->is_complete) stream->queue.emplace_back(Wait{executable->last});
  // "Each launch of the graph will record event to capture execution of the node's dependencies."
  visit_graphs(executable->graph, [&](const std::shared_ptr<Graph>& inner) {
    for (const auto& node : inner->nodes) {
      if (const auto* event_node = std::get_if<EventNode>(&node->content)) {
        event_node->event->record = std::make_shared<Record>();
        event_node->event->record->stream = stream;
      }
    }
  });
  stream->queue.emplace_back(GraphRun{executable, executable->graph, ++last_launch_});
  executable->last = std::make_shared<Record>();
  executable->last->stream = stream;
  stream->queue.emplace_back(Signal{executable->last});
  stream->is_queried = false;
}

}  // namespace tern::emulator
