/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A model as a free graph of operators, for searches of shardings (scenarios/operator-search). Each
 * entry of "graph" is a list: its name, its kind, and what that takes:
 *
 *   ["x", "data", [64, 784]]             an input of the graph without a gradient
 *   ["h", "input", [64, 784], "f32"]     one with a gradient: other layers make it
 *   ["w", "parameter", [784, 512]]       with "transposed" last, a matmul takes it as [512, 784]
 *   ["m", "matmul", "x", "w"]            an operator and its inputs, which stand before it
 *   ["c", "conv", "x", "f", {"stride": 2, "padding": 3}]
 *
 * Element types: f32, tf32, f16, bf16, f8; without one, --dtype's.
 */
#ifndef SCENARIOS_MODELS_MODEL_GRAPH_H
#define SCENARIOS_MODELS_MODEL_GRAPH_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace training
{

enum class NodeKind : uint8_t
{
    kInput,
    kData,
    kParameter,
    kOperator,
};

struct GraphNode
{
    std::string name;
    NodeKind kind = NodeKind::kOperator;
    std::string word; ///< of an operator: "matmul"
    std::vector<uint64_t> shape;
    uint32_t bytes = 0; ///< of an element; 0: --dtype's
    bool transposed = false;
    std::vector<uint32_t> inputs;          ///< entries before it
    std::map<std::string, double> numbers; ///< "stride": 2; flags are 0 and 1

    /// \return the first dimension, of a transposed tensor the second
    uint64_t Rows() const
    {
        return shape[transposed ? 1 : 0];
    }
};

/// Words of operators that are computed element by element, with any number of inputs.
bool IsElementwise(const std::string& word);

/// All words of operators.
std::vector<std::string> GraphWords();

/// Numbers that an operator may be given: "stride", "padding" of "conv".
std::vector<std::string> NumbersOf(const std::string& word);

} // namespace training

#endif // SCENARIOS_MODELS_MODEL_GRAPH_H
