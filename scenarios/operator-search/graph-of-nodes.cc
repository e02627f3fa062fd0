/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/graph-of-nodes.h"

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/operator-search/node-builder.h"

#include <utility>

namespace sharding
{

using training::GraphNode;
using training::NodeKind;

std::string
NodeShapeText(const NodeShape& shape)
{
    std::string text;
    for (const uint64_t d : shape)
    {
        text += (text.empty() ? "" : ", ") + std::to_string(d);
    }
    return "[" + text + "]";
}

double
ElementsOf(const NodeShape& shape)
{
    return std::accumulate(shape.begin(), shape.end(), 1.0, [](double a, uint64_t b) {
        return a * static_cast<double>(b);
    });
}

std::string
NodeBuilder::Build()
{
    const std::string& word = m_node.word;
    if (training::IsElementwise(word))
    {
        return Elementwise();
    }
    if (word == "matmul")
    {
        return MatMul();
    }
    if (word == "linear")
    {
        return Linear();
    }
    if (word == "conv")
    {
        return Convolution();
    }
    if (word == "maxpool" || word == "avgpool")
    {
        return Pool();
    }
    if (word == "flatten")
    {
        return Flatten();
    }
    if (word == "embedding")
    {
        return Embedding();
    }
    if (word == "attention")
    {
        return Attention();
    }
    if (word == "prelu")
    {
        return PRelu();
    }
    if (word == "loss")
    {
        return Loss();
    }
    if (word == "reduce-sum" || word == "reduce-mean")
    {
        return Reduce();
    }
    return Norm(); // and softmax
}

std::optional<Graph>
GraphOfNodes(const training::ModelSpec& model, uint32_t elementBytes, NodeError* error)
{
    Graph graph;
    graph.name = model.name;
    bool known = false;
    for (uint32_t i = 0; i < model.graph.size(); ++i)
    {
        const GraphNode& node = model.graph[i];
        TensorInfo tensor;
        tensor.name = node.name;
        tensor.shape = node.shape;
        tensor.bytes = node.bytes > 0 ? node.bytes : elementBytes;
        switch (node.kind)
        {
        case NodeKind::kInput:
        case NodeKind::kData:
            tensor.role = node.kind == NodeKind::kData ? TensorRole::kData : TensorRole::kInput;
            graph.samples = std::exchange(known, true) ? graph.samples : node.Rows();
            break;
        case NodeKind::kParameter:
            tensor.role = TensorRole::kParameter;
            break;
        case NodeKind::kOperator: {
            std::vector<NodeShape> shapes;
            std::vector<bool> transposed;
            for (const uint32_t input : node.inputs)
            {
                shapes.push_back(graph.tensors[input].shape);
                transposed.push_back(model.graph[input].transposed);
            }
            for (std::size_t k = 0; k < node.inputs.size(); ++k)
            {
                const bool known = node.word == "matmul" || (node.word == "linear" && k == 1);
                if (transposed[k] && !known)
                {
                    *error = {i,
                              "takes " + rdma::Shown(model.graph[node.inputs[k]].name, 60) +
                                  ", which is transposed; allowed: of inputs of matmul and weights "
                                  "of linear"};
                    return std::nullopt;
                }
            }
            NodeBuilder builder(node, std::move(shapes), std::move(transposed));
            const std::string why = builder.Build();
            if (!why.empty())
            {
                *error = {i, why};
                return std::nullopt;
            }
            Operator op = builder.Take();
            for (std::size_t k = 0; k < node.inputs.size(); ++k)
            {
                op.inputs[k].tensor = node.inputs[k];
            }
            op.output.tensor = i;
            tensor.shape = builder.OutputShape();
            tensor.bytes = node.bytes > 0 ? node.bytes : graph.tensors[node.inputs[0]].bytes;
            tensor.maker = static_cast<int32_t>(graph.operators.size());
            graph.operators.push_back(std::move(op));
            break;
        }
        }
        graph.tensors.push_back(std::move(tensor));
    }
    Connect(&graph);
    return graph;
}

} // namespace sharding
