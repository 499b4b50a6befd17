// The passes of an export. Each changes the whole program, and leaves other programs as they are; pipeline.cpp orders
// them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "exporter/passes/quantize/options.h"
#include "schema/program.h"

namespace tern {

// quantized/, microscaling/, weight_only/: programs that PyTorch or torchao quantized

/// Slices a weight before it is computed. Mixtures of experts loop over one dequantized weight: w[i] of [experts, n,
/// k]. If a program reads single slices of such a value's first axis only, each slice is computed of slices of the
/// weight's own operands: the same numbers, one expert at a time, so each expert can become a quantized value of its
/// own.
void take_planes_first(Program& program);

/// Stores weights in MX blocks that a program spells out with ordinary operators as single MX values. The pass looks
/// for values that are computed of constants alone, among them element bits and float8_e8m0 scales, and that equal, bit
/// for bit, dequantize of those two. Such a value becomes dequantize of one MX state; states without other
/// readers are removed. Comparing values rather than operators makes the pass independent of how a program computes
/// them: PyTorch's and torchao's graphs differ between versions, and after run_decompositions().
void pack_microscaling(Program& program);

/// Moves and chooses integers as integers. If a program widens 8-bit integers, moves the numbers (views,
/// concatenations) or takes the largest of them (max pools), and quantizes them to the same integers again, the node
/// between is applied to the integers. The pass converts all 256 integers there and back to prove that.
void keep_integers(Program& program);

/// Multiplies integers instead of their dequantized numbers. If a product or convolution reads (q - zero) * scale of
/// integers q of 8 bits, with one scale and zero point for all or for each row, and a constant weight whose numbers are
/// int8 elements times a scale for each column or for all (found by value: quantized/fit.h), the node reads q and the
/// elements, and sums integers exactly. One pointwise node applies the scales, the zero point's share of a sum, and the
/// bias. PyTorch's reference multiplies the dequantized operands in float32: results agree within its rounding.
void multiply_integers(Program& program);

/// Multiplies signed integers that a program makes unsigned. torchao adds 128 to int8 activations on processors whose
/// instructions multiply uint8 by int8, and subtracts 128 times the weight's column sums from the result. Such a
/// product becomes the product of the int8 activations, whose sums are the same integers. The pass compares the column
/// sums with the weight.
void multiply_signed_integers(Program& program);

/// Gives float32 sums to products and convolutions of 8-bit integers whose int32 result is read by pointwise nodes
/// alone, through views or not, that convert it to float32 first: the same numbers, rounded once, and the pointwise
/// nodes can become the epilogue of the product.
void take_float_sums(Program& program);

/// Stores weights that a program keeps as small elements, scales and zero points as one quantized value each. The pass
/// computes the second operand of each product, also of batches, groups and convolutions, and tables whose rows are
/// selected, if they depend on constants alone. If small elements times scales that occur in the computation give the
/// numbers bit for bit (quantized/fit.h), the node reads a quantized state instead, whatever operators unpacked the
/// elements. A dequantized value is replaced by its quantized value, too. States without other readers are removed.
void read_quantized_weights(Program& program);

/// Does the same for tables, and for products by those tables, alone: before read_byte_weights takes such computations
/// apart.
void read_quantized_tables(Program& program);

/// Reads weights of 8 bits (immutable states of int8, uint8 or float8) in their own bits, through the views between the
/// conversion and the reader:
///   matmul(x, cast(w))       -> matmul(x, w), also for grouped_matmul
///   matmul(x, cast(w) * s)   -> matmul(x, w) * s, if s is one number, or one for each column of the result
///   embedding(cast(w) * s)   -> cast(embedding(w)) * embedding(s)
/// The first and the last keep all bits: the conversions are exact, and sums are float32 before and after. The second
/// leaves out the rounding of each scaled weight, and rounds each sum once more.
void read_byte_weights(Program& program);

/// Removes float states that nothing reads, if a state of the same shape with elements of 8 bits or fewer is read: PT2E
/// leaves a model's own weights in the file beside the quantized weights that replace them.
void remove_superseded_weights(Program& program);

// fold/: constants

/// Reads the halves of rotary embeddings through a view (simplify/rotations.cpp). Sines get signs, so constants are
/// folded afterwards.
void turn_halves_in_place(Program& program);

/// Replaces values that depend on immutable states and constants alone by constant states, unless the program grows by
/// more than kSmallConstant bytes for each, or for all values of one large state, and batch norms with constant
/// statistics by a multiplication and an addition. Removes states that nothing reads afterwards, and stores the names
/// of all states that it used in the metadata "folded", joined by ", ".
void fold_constants(Program& program);

// quantize/: weights of float programs

/// Quantizes weights of float32, float16 and bfloat16 that products read as their second operand, or embeddings, and
/// nothing else: each weight gets the format of the last rule that matches a node that reads it, products first. Views
/// may lie between. A weight of several nodes is stored once. Weights that a pattern of `full_precision_nodes` names
/// stay, and so do weights of other nodes, which the report lists. Throws invalid_argument for a pattern that matches
/// no product, convolution, attention or embedding. `choices` overrides the rules for the weights that it names.
/// `samples` has the importance of columns, and parts of weights that are quantized already; null without example
/// inputs.
QuantizeReport quantize_weights(Program& program, const std::vector<QuantizeRule>& rules,
                                const std::vector<std::string>& full_precision_nodes,
                                const QuantizeChoices& choices = {}, const SampleData* samples = nullptr);

// simplify/: fewer nodes. All but recognise_norms keep the bits.

/// Runs collectives without overlapping computation at their own position (overlap.cpp).
void overlap_collectives(Program& program);

/// Replaces operands of pointwise nodes that are one number for all elements (`full`) by constants of the expression.
void inline_numbers(Program& program);

/// Merges nodes that compute the same function of the same values: torchao's dynamic quantization scales the operand of
/// a query, a key and a value three times.
void share_common_nodes(Program& program);

/// Reads the operand of a concatenation in place of a slice that has all its elements.
void read_joined_operands(Program& program);

/// Merges the nodes of a normalization into one (norms.cpp). Means are rounded once instead of several times, so the
/// last place of a result may differ. Dead nodes count as readers: remove them first.
void recognise_norms(Program& program);

/// Merges optimizer steps that PyTorch exported operator by operator (exporter/optimizers/). The pass takes parameters
/// and states of entry functions that are written back, and whose new values pointwise nodes compute as an optimizer of
/// torch.optim does (exporter/optimizers/fit.h). All parameters of one optimizer with the same options become one node.
/// Returns the number of parameters.
std::size_t recognise_optimizers(Program& program);

// storage/: bytes of weights

/// Stores constant matrices [k, n] of float32, or of elements of 8 bits, column by column (strides {1, k}) if products
/// alone read them, as their second operand. Values, shapes and names stay. Every kernel reads such a weight in one
/// sweep for each column of the result; torch.nn.Linear has that order, and torch.addmm with a weight [k, n] has not.
/// Bytes are transposed when they are written or read, one weight at a time.
void store_weights_by_columns(Program& program);

/// Rounds immutable matrices of float32 to `dtype` (float16 or bfloat16, to nearest) if matrix products, as their
/// second operand, and embeddings alone read them; views may lie between. Products keep float32 operands otherwise,
/// sums and results: `schema/infer/contractions.cpp`. Returns the number of weights; tied weights count once.
///
/// A number that float16 cannot hold fails when the weight's bytes are read: when the archive is written.
std::size_t narrow_weights(Program& program, DType dtype);

}  // namespace tern
