"""FlexAttention in programs. torch.export.save refuses the higher-order operator flex_attention, because its functions of
scores and masks are graphs of the program. with_plain_attention() writes operators in its place."""

from __future__ import annotations

import copy
import math
import operator
from importlib import import_module


def _flex_nodes(graph):
    return [n for n in graph.nodes if n.op == "call_function" and str(n.target) == "flex_attention"]


def _graph_modules(program):
    return [m for m in program.graph_module.modules() if hasattr(m, "graph")]


def _is_elementwise(function, torch):
    """True if the graph `function` of numbers gives the same numbers for tensors of them, which broadcast."""
    aten = torch.ops.aten
    constants = {aten.scalar_tensor.default, aten.full.default, aten.new_ones.default, aten.ones.default}
    for node in function.graph.nodes:
        if node.op != "call_function":
            continue
        if node.target is aten.index.Tensor:
            source, positions = node.args
            if None in positions or len(positions) != source.meta["val"].dim():
                return False
        elif node.target in constants:
            sizes = node.args[1] if node.target is aten.new_ones.default else node.args[0]
            if node.target is not aten.scalar_tensor.default and list(sizes) != []:
                return False
        elif torch.Tag.pointwise not in getattr(node.target, "tags", ()):
            return False
    return True


def _result(function):
    """The node that the graph returns."""
    (output,) = [n for n in function.graph.nodes if n.op == "output"]
    result = output.args[0]
    return result[0] if isinstance(result, (list, tuple)) else result


def _placeholders(function):
    return [n for n in function.graph.nodes if n.op == "placeholder"]


def _masks_nothing(mask, torch):
    result = _result(mask)
    return result.op == "call_function" and result.target in (torch.ops.aten.new_ones.default, torch.ops.aten.ones.default)


def _score_term(score, torch):
    """What `score` does to a score, if an attention mask can express it: the pair ('same', None); ('add', node) for a sum
    with `node`, which no score changes; ('where', node) for a score where `node` holds, and -infinity elsewhere. None:
    anything else."""
    aten = torch.ops.aten
    number, result = _placeholders(score)[0], _result(score)
    if result is number:
        return "same", None
    if list(number.users) != [result] or result.op != "call_function":
        return None
    if result.target is aten.add.Tensor and not result.kwargs:
        other = result.args[1] if result.args[0] is number else result.args[0]
        return ("add", other) if isinstance(other, torch.fx.Node) and other is not number else None
    if result.target in (aten.where.self, aten.where.ScalarOther) and result.args[1] is number:
        other = result.args[2]
        if isinstance(other, torch.fx.Node) and other.target in (aten.scalar_tensor.default, aten.full.default):
            other = other.args[0] if other.target is aten.scalar_tensor.default else other.args[1]
        return ("where", result.args[0]) if other == -math.inf else None
    return None


def _with_plain_indices(function, torch):
    """A copy of the graph `function` in which aten.index stands for the wrapped indexing of captured tensors."""
    function = copy.deepcopy(function)
    for node in list(function.graph.nodes):
        if node.op != "call_function" or str(node.target) != "flat_apply" or getattr(node.args[2], "__name__", "") != "ModIndex":
            continue
        source, *positions = node.args[3:]
        if all(isinstance(n, torch.fx.Node) for n in (source, *positions)):
            with function.graph.inserting_before(node):
                index = function.graph.call_function(torch.ops.aten.index.Tensor, (source, positions))
            index.meta = dict(node.meta)
            node.replace_all_uses_with(index)
            function.graph.erase_node(node)
    function.graph.eliminate_dead_code()
    function.recompile()
    return function


def _returning(function, node, torch):
    """A copy of the graph `function` that returns `node`."""
    graph = torch.fx.Graph()
    names = {}
    for each in function.graph.nodes:
        if each.op == "output":
            break
        names[each] = graph.node_copy(each, lambda n: names[n])
    graph.output(names[node])
    graph.eliminate_dead_code()
    return torch.fx.GraphModule(function, graph)


def _attention(torch, score, mask, scale, score_count, wants_sums):
    """A function of query, key, value and the tensors that `score` and `mask` read, with the results of flex_attention."""
    vmap = import_module("torch.nn.attention.flex_attention")._vmap_for_bhqkv

    def over_scores(function, sizes, device, tensors, values=()):
        """function(*values, batch, head, query, key, *tensors) for all scores: a tensor that broadcasts to `sizes`."""
        positions = [torch.arange(n, device=device) for n in sizes]
        if _is_elementwise(function, torch):
            shaped = [p.reshape([-1] + [1] * (len(sizes) - 1 - i)) for i, p in enumerate(positions)]
            return function(*values, *shaped, *tensors)
        return vmap(function, prefix=(0,) * len(values), suffix=(None,) * len(tensors))(*values, *positions, *tensors)

    def run(query, key, value, *others):
        of_score, of_mask = others[:score_count], others[score_count:]
        heads, shared = query.size(1), key.size(1)
        if heads != shared:
            together = [t.unsqueeze(2).expand(-1, -1, heads // shared, -1, -1) for t in (key, value)]
            key, value = (t.reshape(t.size(0), heads, t.size(3), t.size(4)) for t in together)
        key, value = (t.expand(query.size(0), -1, -1, -1) for t in (key, value))
        sizes = (query.size(0), heads, query.size(2), key.size(2))
        device, wide = query.device, torch.float64 if query.dtype == torch.float64 else torch.float32
        allowed = None if _masks_nothing(mask, torch) else over_scores(mask, sizes, device, of_mask)

        term = _score_term(score, torch)
        if term is not None and not wants_sums:
            kind, node = term
            bias = allowed
            if kind != "same":
                part_of_score = _returning(score, node, torch)
                number = torch.zeros(() if _is_elementwise(part_of_score, torch) else sizes, dtype=wide, device=device)
                part = over_scores(part_of_score, sizes, device, of_score, (number,))
                if kind == "where":
                    bias = part if allowed is None else part & allowed
                else:
                    part = part.to(query.dtype)
                    bias = part if allowed is None else torch.where(allowed, part, -math.inf)
            if bias is not None:
                bias = bias.expand(sizes) if bias.dim() < 2 else bias
            attend = torch.ops.aten.scaled_dot_product_attention.default
            return attend(query, key, value, bias, 0.0, False, scale=scale), None, None

        scores = query.to(wide) @ key.to(wide).transpose(-2, -1) * scale
        scores = over_scores(score, sizes, device, of_score, (scores,)).to(wide)
        if allowed is not None:
            scores = torch.where(allowed, scores, -math.inf)
        scores = scores.expand(sizes)
        weights = torch.ops.aten._safe_softmax.default(scores, -1)
        result = weights.to(query.dtype) @ value
        if not wants_sums:
            return result, None, None
        return result, scores.logsumexp(-1) / math.log(2), scores.amax(-1) / math.log(2)

    return run


def _traced(node, graph_module, torch):
    """The operators of a flex_attention node, and the nodes whose values they take."""
    make_fx = import_module("torch.fx.experimental.proxy_tensor").make_fx
    query, key, value, score, block_mask, scale, _, of_score, of_mask = node.args
    functions = [_with_plain_indices(getattr(graph_module, n.target), torch) for n in (score, block_mask[-1])]
    operands = [query, key, value, *of_score, *of_mask]
    nodes = [n for n in operands if isinstance(n, torch.fx.Node)]
    wants_sums = any(u.users for u in node.users if u.target is operator.getitem and u.args[1] > 0)
    attention = _attention(torch, *functions, scale, len(of_score), wants_sums)

    def run(values):
        given = iter(values)
        return attention(*[next(given) if isinstance(n, torch.fx.Node) else n for n in operands])

    values = [n.meta["val"] for n in nodes]
    mode = next((v.fake_mode for v in values if hasattr(v, "fake_mode")), None)
    with torch.no_grad(), mode:
        traced = make_fx(run, _allow_non_fake_inputs=True)(values)
    traced.graph.eliminate_dead_code()
    return traced, nodes


def _replace(node, graph_module, signature, torch):
    graph = graph_module.graph
    traced, nodes = _traced(node, graph_module, torch)
    names = dict(zip(_placeholders(traced), nodes))
    with graph.inserting_before(node):
        for each in traced.graph.nodes:
            if each.op == "placeholder":
                continue
            if each.op == "output":
                results = [None if r is None else names[r] for r in each.args[0]]
                break
            if each.op == "get_attr":
                constant = getattr(traced, each.target)
                if constant.dim() > 0:
                    raise ValueError(f"flex_attention: a function makes a tensor of sizes {tuple(constant.shape)}; pass it as a buffer")
                made = graph.call_function(
                    torch.ops.aten.full.default, ([], constant.item()), {"dtype": constant.dtype, "device": constant.device}
                )
                made.meta["val"] = each.meta.get("val")
            else:
                made = graph.node_copy(each, lambda n: names[n])
            names[each] = made
            for key in ("nn_module_stack", "stack_trace", "torch_fn"):
                if key in node.meta:
                    made.meta[key] = node.meta[key]
    for user in list(node.users):
        if results[user.args[1]] is not None:
            user.replace_all_uses_with(results[user.args[1]])
            signature.replace_all_uses(user.name, results[user.args[1]].name)
        graph.erase_node(user)
    functions = [node.args[3], node.args[4][-1]]
    graph.erase_node(node)
    for function in functions:
        if not function.users:
            graph.erase_node(function)


def _ancestors(nodes):
    found, waiting = set(), list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += node.all_input_nodes
    return found


def _block_mask_operands(node, torch):
    return [n for n in node.args[4] if isinstance(n, torch.fx.Node)]


def _erase_block_masks(graph, makers):
    """Erases what no result needs. Nodes among `makers`, which made block masks, change or check tensors of these alone."""
    live = _ancestors(n for n in graph.nodes if n.is_impure() and n not in makers and not set(n.all_input_nodes) & makers)
    live |= _ancestors(n for n in graph.nodes if n.op == "output")
    while True:
        changes = {n for n in graph.nodes if n not in live and n.is_impure() and set(n.all_input_nodes[:1]) & live}
        if not changes:
            break
        live |= _ancestors(changes)
    for node in reversed(list(graph.nodes)):
        if node not in live and node.op != "placeholder":
            graph.erase_node(node)


def with_plain_attention(program):
    """`program`, or a copy without flex_attention: scaled_dot_product_attention with a mask stands for it where the
    functions leave scores, add to them or drop them, and products with a softmax elsewhere."""
    if not any(_flex_nodes(m.graph) for m in _graph_modules(program)):
        return program
    torch = import_module("torch")
    replaced = copy.copy(program)
    replaced._graph_module = copy.deepcopy(program.graph_module)
    replaced._graph_signature = copy.deepcopy(program.graph_signature)
    for module in _graph_modules(replaced):
        nodes = _flex_nodes(module.graph)
        makers = {n for n in _ancestors(m for n in nodes for m in _block_mask_operands(n, torch)) if n.op == "call_function"}
        for node in nodes:
            _replace(node, module, replaced.graph_signature, torch)
        _erase_block_masks(module.graph, makers)
        module.graph.lint()
        module.recompile()
    return replaced
