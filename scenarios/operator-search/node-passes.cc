/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/node-builder.h"

namespace sharding
{

using training::KernelClass;

void
NodeBuilder::Passes(double elements, double backward)
{
    m_op.kind = m_op.kind == Kind::kElementwise ? Kind::kElementwise : Kind::kOther;
    m_op.compute.kind = KernelClass::kPointwise;
    m_op.compute.elements.sample = elements;
    m_op.compute.backward = backward;
}

std::string
NodeBuilder::Elementwise()
{
    std::size_t wide = 0;
    for (const NodeShape& shape : m_shapes)
    {
        wide = std::max(wide, shape.size());
    }
    m_output.assign(wide, 1);
    for (const NodeShape& shape : m_shapes)
    {
        for (std::size_t d = 0; d < shape.size(); ++d)
        {
            uint64_t& out = m_output[wide - shape.size() + d];
            if (out != 1 && shape[d] != 1 && out != shape[d])
            {
                return Shapes("needs inputs of one shape, but for dimensions of 1");
            }
            out = std::max(out, shape[d]);
        }
    }
    for (std::size_t d = 0; d < wide; ++d)
    {
        m_op.output.axes.push_back(
            AddAxis(Cuttable("dimension " + std::to_string(d + 1), m_output[d])));
    }
    for (std::size_t i = 0; i < m_shapes.size(); ++i)
    {
        const NodeShape& shape = m_shapes[i];
        for (std::size_t d = 0; d < shape.size(); ++d)
        {
            const std::size_t out = wide - shape.size() + d;
            m_op.inputs[i].axes.push_back(shape[d] == m_output[out] ? static_cast<int32_t>(out)
                                                                    : kNone);
        }
    }
    m_op.kind = Kind::kElementwise;
    Passes(All(), 3.0 / 2); // output and gradient are read, the gradient is written
    return "";
}

std::string
NodeBuilder::Pool()
{
    const NodeShape& x = m_shapes[0];
    const auto kernel = static_cast<uint64_t>(Number("kernel", 0)); // 0: all of it
    const auto stride = static_cast<uint64_t>(Number("stride", static_cast<double>(kernel)));
    const auto padding = static_cast<uint64_t>(Number("padding", 0));
    if (x.size() != 4)
    {
        return Shapes("needs pictures [batch, channels, height, width]");
    }
    if (padding > 0 && padding >= kernel)
    {
        return kernel == 0 ? "has padding, and a window over the whole picture; allowed: 0"
                           : Padding(padding, kernel);
    }
    m_output = {x[0],
                x[1],
                kernel == 0 ? 1 : Slide(x[2], kernel, stride, padding),
                kernel == 0 ? 1 : Slide(x[3], kernel, stride, padding)};
    if (m_output[2] == 0 || m_output[3] == 0)
    {
        return Shapes("leaves nothing of the picture");
    }
    const int32_t b = AddAxis(Cuttable("batch", x[0]));
    const int32_t c = AddAxis(Cuttable("channels", x[1]));
    const int32_t h = AddAxis(Uncut("height", x[2], "along which the window moves"));
    const int32_t w = AddAxis(Uncut("width", x[3], "along which the window moves"));
    m_op.inputs[0].axes = {b, c, h, w};
    m_op.output.axes = {b, c, h, w};
    m_op.kind = Kind::kOther;
    Passes(All(), 2);
    return "";
}

std::string
NodeBuilder::Flatten()
{
    const NodeShape& x = m_shapes[0];
    if (x.size() < 2)
    {
        return Shapes("needs two dimensions or more");
    }
    const int32_t b = AddAxis(Cuttable("batch", x[0]));
    const int32_t c = AddAxis(Cuttable("channels", x[1]));
    m_op.inputs[0].axes = {b, c};
    uint64_t inside = x[1];
    for (std::size_t d = 2; d < x.size(); ++d)
    {
        m_op.inputs[0].axes.push_back(
            AddAxis(Uncut("dimension " + std::to_string(d + 1), x[d], "inside of a channel")));
        inside *= x[d];
    }
    m_op.output.axes = {b, c}; // parts of channels are parts of what they make
    m_output = {x[0], inside};
    m_op.kind = Kind::kOther;
    Passes(0, 0); // nothing is moved
    return "";
}

std::string
NodeBuilder::PRelu()
{
    const NodeShape& x = m_shapes[0];
    if (x.size() < 2 || m_shapes[1].size() != 1 || (m_shapes[1][0] != x[1] && m_shapes[1][0] != 1))
    {
        return Shapes("needs [batch, channels, ..] and a slope for each channel, or one");
    }
    for (std::size_t d = 0; d < x.size(); ++d)
    {
        m_op.inputs[0].axes.push_back(
            AddAxis(Cuttable("dimension " + std::to_string(d + 1), x[d])));
    }
    m_op.inputs[1].axes = {m_shapes[1][0] == x[1] ? 1 : kNone};
    m_op.output.axes = m_op.inputs[0].axes;
    m_output = x;
    m_op.kind = Kind::kElementwise;
    Passes(All(), 3.0 / 2);
    return "";
}

std::string
NodeBuilder::Norm()
{
    const NodeShape& x = m_shapes[0];
    const bool pictures = m_node.word == "batchnorm";
    const std::size_t scaled = pictures ? 1 : x.size() - 1;
    if (x.size() < 2)
    {
        return Shapes("needs two dimensions or more");
    }
    const std::string noun = m_node.word == "softmax" ? "softmax" : "norm";
    for (std::size_t d = 0; d < x.size(); ++d)
    {
        const std::string name = "dimension " + std::to_string(d + 1);
        const bool along = pictures ? d > 1 : d == scaled;
        m_op.inputs[0].axes.push_back(
            AddAxis(along ? Uncut(name, x[d], "the " + noun + "'s axis") : Cuttable(name, x[d])));
    }
    for (std::size_t i = 1; i < m_shapes.size(); ++i)
    {
        if (m_shapes[i] != NodeShape{x[scaled]})
        {
            return Shapes("needs scales and offsets [" + std::to_string(x[scaled]) + "]");
        }
        m_op.inputs[i].axes = {static_cast<int32_t>(scaled)};
    }
    m_op.output.axes = m_op.inputs[0].axes;
    m_output = x;
    m_op.kind = Kind::kOther;
    // As the zoo's (model-operators.cc, transformer-parts.cc).
    const double passes = pictures ? 3 : m_node.word == "softmax" ? 4 : 2;
    Passes(passes * ElementsOf(x), pictures ? 5.0 / 3 : 2);
    return "";
}

std::string
NodeBuilder::Reduce()
{
    const NodeShape& x = m_shapes[0];
    const auto along = static_cast<std::size_t>(Number("axis", static_cast<double>(x.size()) - 1));
    if (along >= x.size())
    {
        return Shapes("has no axis " + std::to_string(along) + ", counted from 0");
    }
    for (std::size_t d = 0; d < x.size(); ++d)
    {
        const int32_t axis =
            AddAxis(Cuttable("dimension " + std::to_string(d + 1), x[d], d == along));
        m_op.inputs[0].axes.push_back(axis);
        if (d != along || x.size() == 1)
        {
            m_op.output.axes.push_back(d == along ? kNone : axis);
            m_output.push_back(d == along ? 1 : x[d]);
        }
    }
    m_op.kind = Kind::kOther;
    Passes(All(), 1);
    return "";
}

std::string
NodeBuilder::Loss()
{
    const NodeShape& x = m_shapes[0];
    const NodeShape rows(x.begin(), x.end() - 1);
    if (x.size() < 2 || (m_shapes.size() > 1 && m_shapes[1] != rows && m_shapes[1] != x))
    {
        return Shapes("needs logits [.., classes] and targets [..] or of the logits' shape");
    }
    for (std::size_t d = 0; d < x.size(); ++d)
    {
        const bool last = d + 1 == x.size();
        const int32_t axis =
            AddAxis(Cuttable(last ? "classes" : "dimension " + std::to_string(d + 1), x[d], last));
        m_op.inputs[0].axes.push_back(axis);
        if (!last)
        {
            m_op.output.axes.push_back(axis);
        }
    }
    if (m_shapes.size() > 1)
    {
        m_op.inputs[1].axes = m_shapes[1] == x ? m_op.inputs[0].axes : m_op.output.axes;
    }
    m_output = rows;
    m_op.summedElements = 3;
    m_op.kind = Kind::kOther;
    // As a language model's head (transformer-layers.cc, AddLogits).
    Passes(ElementsOf(x), 22.0 / 14);
    m_op.compute.bytes.sample = 12 * ElementsOf(x);
    return "";
}

} // namespace sharding
