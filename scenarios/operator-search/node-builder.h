/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * From an entry of a graph and the shapes of its inputs to an operator with axes.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_NODE_BUILDER_H
#define SCENARIOS_OPERATOR_SEARCH_NODE_BUILDER_H

#include "scenarios/operator-search/graph.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace sharding
{

using NodeShape = std::vector<uint64_t>;

/// "[64, 32]".
std::string NodeShapeText(const NodeShape& shape);
double ElementsOf(const NodeShape& shape);

/// Makes one operator of a node.
class NodeBuilder
{
  public:
    NodeBuilder(const training::GraphNode& node,
                std::vector<NodeShape> shapes,
                std::vector<bool> transposed)
        : m_node(node),
          m_shapes(std::move(shapes)),
          m_transposed(std::move(transposed))
    {
        m_op.name = node.name;
        m_op.word = node.word;
        m_op.inputs.resize(m_shapes.size());
    }

    /// \return why it does not fit its inputs; empty: it does
    std::string Build();

    Operator Take()
    {
        return std::move(m_op);
    }

    const NodeShape& OutputShape() const
    {
        return m_output;
    }

  private:
    int32_t AddAxis(Axis axis)
    {
        m_op.axes.push_back(std::move(axis));
        return static_cast<int32_t>(m_op.axes.size() - 1);
    }

    double Number(const char* key, double otherwise) const
    {
        const auto at = m_node.numbers.find(key);
        return at == m_node.numbers.end() ? otherwise : at->second;
    }

    std::string Shapes(const std::string& what) const
    {
        std::string text;
        for (const NodeShape& shape : m_shapes)
        {
            text += (text.empty() ? "" : " and ") + NodeShapeText(shape);
        }
        return what + "; its inputs are " + text;
    }

    double All() const
    {
        double elements = ElementsOf(m_output);
        for (const NodeShape& shape : m_shapes)
        {
            elements += ElementsOf(shape);
        }
        return elements;
    }

    /// A pass over memory. \param elements read and written forward
    void Passes(double elements, double backward);
    std::string Elementwise();
    std::string MatMul();
    static void Append(Operand* operand, bool turned, int32_t first, int32_t second);
    void Product(double rows, int32_t columns, int32_t inner, double batch);
    /// x [.., in] x w [out, in] + b [out], as PyTorch has it.
    std::string Linear();
    /// A window's places along one side; 0: none.
    /// Why a window cannot have such a padding.
    static std::string Padding(uint64_t padding, uint64_t kernel);
    static uint64_t Slide(uint64_t side, uint64_t kernel, uint64_t stride, uint64_t padding);
    std::string Convolution();
    std::string Pool();
    std::string Flatten();
    std::string Embedding();
    std::string Attention();
    std::string PRelu();
    /// Norms and softmax: the axis that they add up along is whole.
    std::string Norm();
    std::string Reduce();
    /// Cross-entropy over the last dimension. Where it is cut, its largest logit, its sum and its
    /// target's logit are summed.
    std::string Loss();

    const training::GraphNode& m_node;
    std::vector<NodeShape> m_shapes;
    std::vector<bool> m_transposed;
    Operator m_op;
    NodeShape m_output;
};

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_NODE_BUILDER_H
