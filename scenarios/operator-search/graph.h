/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Operators, the tensors between them, and the axes along which each operator can be cut.
 *
 * An operator works through a space of axes. Each dimension of its operands lies along one of them:
 *
 *   product   A [m, k] x B [k, n] -> C [m, n]     axes m, k, n; k is summed: cut, it leaves partial
 *                                                 sums
 *   add       A [m, n] + B [1, n] -> C [m, n]     axes m, n; B's first dimension lies along none
 *   norm      A [b, h] -> C [b, h]                axes b, h; h has one granule and is never cut
 *
 * So one rule does for all kinds: a strategy says into how many parts each axis is cut, and cuts of
 * inputs and output follow. GSPMD (arXiv 2105.04663, section 3.2) and MindSpore (tensor maps) have
 * the same.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_GRAPH_H
#define SCENARIOS_OPERATOR_SEARCH_GRAPH_H

#include "scenarios/models/model-zoo.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sharding
{

struct Axis
{
    std::string name; ///< "rows"
    uint64_t size = 1;
    /// The number of parts divides it: heads, where a cut keeps each head whole. 1: never cut.
    uint64_t granules = 1;
    bool summed = false; ///< no dimension of the output: cut, every part has partial sums
    std::string whole;   ///< of an axis that is never cut, why
};

/// An axis that is cut between any two of its elements.
Axis Cuttable(std::string name, uint64_t size, bool summed = false);
/// An axis that is never cut. \param why "the norm's axis"
Axis Uncut(std::string name, uint64_t size, std::string why);

constexpr int32_t kNone = -1;

enum class TensorRole : uint8_t
{
    kMade,      ///< by an operator
    kInput,     ///< of the graph, with a gradient: layers before it exist elsewhere
    kData,      ///< of the graph, without one
    kParameter, ///< gradients are summed over all devices that hold the same part
};

struct TensorInfo
{
    std::string name;
    std::vector<uint64_t> shape;
    TensorRole role = TensorRole::kMade;
    int32_t maker = kNone; ///< operator
    uint32_t bytes = 4;    ///< of an element

    double Elements() const;
};

struct Operand
{
    uint32_t tensor = 0;
    std::vector<int32_t> axes; ///< of each dimension; kNone: it lies along none
    bool implied = false;      ///< a small parameter that strategies do not name: a norm's scale
    bool shared = false;       ///< a parameter that an operator before it reads, too
};

enum class Kind : uint8_t
{
    kProduct,
    kConvolution,
    kAttention,
    kEmbedding,
    kElementwise,
    kOther, ///< norms, pooling, losses: computed by passes over memory
};

struct Operator
{
    std::string name; ///< "dense", "block.qkv"
    std::string word; ///< as the model calls its kind: "matmul", "relu"
    Kind kind = Kind::kElementwise;
    std::vector<Axis> axes;
    std::vector<Operand> inputs;
    Operand output;
    // What it computes, whole: works have batch and sequence in them already, so that they count
    // for one sample of one token. A convolution's elements: `sample` come in, `token` go out.
    training::Operator compute;
    int32_t columns = kNone; ///< of a product: axes of B's dimensions
    int32_t inner = kNone;
    int32_t heads = kNone; ///< of attention
    double batch = 1;      ///< of a product: so many of them in a launch, along other axes
    /// Elements that partial sums have for one of the output: a loss sums three numbers a token.
    double summedElements = 1;
    /// The last operator of a folded row of blocks is followed by the first one of the next block.
    uint32_t segment = 0;

    double OutputElements(const std::vector<TensorInfo>& tensors) const
    {
        return tensors[output.tensor].Elements();
    }
};

/// A tensor on its way from an operator to another.
struct Edge
{
    uint32_t from = 0;
    /// Operand of `from`: kNone: its output; else an input: both read the same parameter.
    int32_t fromInput = kNone;
    uint32_t to = 0;
    uint32_t toInput = 0;
    double times = 1;  ///< so many equal ones: between folded blocks one less than blocks
    bool next = false; ///< from a folded block to the next one
};

/// Operators in a row that stand for several equal rows.
struct Segment
{
    uint32_t begin = 0;
    uint32_t end = 0;
    uint32_t times = 1;
};

struct Graph
{
    std::string name;
    std::vector<TensorInfo> tensors;
    std::vector<Operator> operators; ///< each behind those whose outputs it takes
    std::vector<Edge> edges;
    std::vector<Segment> segments; ///< all operators
    uint64_t samples = 1;          ///< of one pass

    double Times(uint32_t op) const
    {
        return segments[operators[op].segment].times;
    }

    const Operand& OperandOf(uint32_t op, int32_t input) const
    {
        return input == kNone ? operators[op].output
                              : operators[op].inputs[static_cast<std::size_t>(input)];
    }

    std::optional<uint32_t> Find(const std::string& operatorName) const;

    /// Whether backward makes a gradient of an operand.
    bool HasGradient(uint32_t op, uint32_t input) const;

    /// Whether an operator is the first that reads a parameter: it keeps its states.
    bool Owns(uint32_t op, uint32_t input) const
    {
        return !operators[op].inputs[input].shared;
    }

    /// Parameters of all operators, folded ones counted as often as they stand there; shared ones
    /// once.
    double Parameters() const;
};

/// Edges from the tensors' makers, and between users of one parameter; segments, if there are none.
void Connect(Graph* graph);

/// By operator, edges that bring its inputs.
std::vector<std::vector<uint32_t>> EdgesInto(const Graph& graph);

/// By operator, edges from it or to it.
std::vector<std::vector<uint32_t>> EdgesBeside(const Graph& graph);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_GRAPH_H
