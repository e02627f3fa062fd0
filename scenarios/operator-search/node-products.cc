/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/node-builder.h"

namespace sharding
{

using training::KernelClass;

std::string
NodeBuilder::MatMul()
{
    const NodeShape& a = m_shapes[0];
    const NodeShape& b = m_shapes[1];
    if (a.size() < 2 || b.size() < 2 || b.size() > a.size())
    {
        return Shapes("needs two matrices, or stacks of them, the second of no more "
                      "dimensions than the first");
    }
    const bool turnedA = (Number("transpose_a", 0) != 0) != m_transposed[0];
    const bool turnedB = (Number("transpose_b", 0) != 0) != m_transposed[1];
    const std::size_t last = a.size() - 1;
    const uint64_t rows = a[turnedA ? last : last - 1];
    const uint64_t inner = a[turnedA ? last - 1 : last];
    const uint64_t columns = b[b.size() - (turnedB ? 2 : 1)];
    if (b[b.size() - (turnedB ? 1 : 2)] != inner)
    {
        return Shapes("needs as many columns of the first as rows of the second");
    }
    std::vector<int32_t> stacked;
    double shared = 1; // matrices that both have
    double stacks = 1; // of the first alone: more rows
    for (std::size_t d = 0; d + 2 < a.size(); ++d)
    {
        const bool has = d + b.size() >= a.size();
        const uint64_t other = has ? b[d + b.size() - a.size()] : 1;
        if (other != 1 && other != a[d])
        {
            return Shapes("needs stacks of the same sizes, or of 1 in the second");
        }
        (other == a[d] ? shared : stacks) *= static_cast<double>(a[d]);
        stacked.push_back(AddAxis(Cuttable("stack " + std::to_string(d + 1), a[d])));
        m_output.push_back(a[d]);
        m_op.inputs[0].axes.push_back(stacked.back());
        m_op.output.axes.push_back(stacked.back());
        if (has)
        {
            m_op.inputs[1].axes.push_back(other == a[d] ? stacked.back() : kNone);
        }
    }
    const int32_t m = AddAxis(Cuttable("rows", rows));
    const int32_t k = AddAxis(Cuttable("inner dimension", inner, true));
    const int32_t n = AddAxis(Cuttable("columns", columns));
    Append(&m_op.inputs[0], turnedA, m, k);
    Append(&m_op.inputs[1], turnedB, k, n);
    Append(&m_op.output, false, m, n);
    m_output.push_back(rows);
    m_output.push_back(columns);
    Product(stacks * static_cast<double>(rows), n, k, shared);
    return "";
}

void
NodeBuilder::Append(Operand* operand, bool turned, int32_t first, int32_t second)
{
    operand->axes.push_back(turned ? second : first);
    operand->axes.push_back(turned ? first : second);
}

void
NodeBuilder::Product(double rows, int32_t columns, int32_t inner, double batch)
{
    m_op.kind = Kind::kProduct;
    m_op.columns = columns;
    m_op.inner = inner;
    m_op.batch = batch;
    m_op.compute.kind = KernelClass::kMatrix;
    m_op.compute.rows.sample = rows;
    m_op.compute.columns = static_cast<double>(m_op.axes[static_cast<std::size_t>(columns)].size);
    m_op.compute.inner = static_cast<double>(m_op.axes[static_cast<std::size_t>(inner)].size);
}

std::string
NodeBuilder::Linear()
{
    const NodeShape& x = m_shapes[0];
    const NodeShape& w = m_shapes[1];
    const bool turned = m_transposed[1]; // then w is [in, out]
    if (x.size() < 2 || w.size() != 2 || w[turned ? 0 : 1] != x.back() ||
        (m_shapes.size() > 2 && (m_shapes[2].size() != 1 || m_shapes[2][0] != w[turned ? 1 : 0])))
    {
        return Shapes("needs inputs [.., in], weights [out, in] and a bias [out]");
    }
    double rows = 1;
    for (std::size_t d = 0; d + 1 < x.size(); ++d)
    {
        const int32_t axis = AddAxis(Cuttable("rows " + std::to_string(d + 1), x[d]));
        m_op.inputs[0].axes.push_back(axis);
        m_op.output.axes.push_back(axis);
        m_output.push_back(x[d]);
        rows *= static_cast<double>(x[d]);
    }
    const int32_t k = AddAxis(Cuttable("inputs", x.back(), true));
    const int32_t n = AddAxis(Cuttable("outputs", w[turned ? 1 : 0]));
    m_op.inputs[0].axes.push_back(k);
    Append(&m_op.inputs[1], turned, n, k);
    if (m_shapes.size() > 2)
    {
        m_op.inputs[2].axes = {n};
    }
    m_op.output.axes.push_back(n);
    m_output.push_back(w[turned ? 1 : 0]);
    Product(rows, n, k, 1);
    return "";
}

uint64_t
NodeBuilder::Slide(uint64_t side, uint64_t kernel, uint64_t stride, uint64_t padding)
{
    const uint64_t padded = side + 2 * padding;
    return kernel == 0 || stride == 0 || padded < kernel ? 0 : (padded - kernel) / stride + 1;
}

std::string
NodeBuilder::Padding(uint64_t padding, uint64_t kernel)
{
    return "has padding " + std::to_string(padding) + ", and windows of " + std::to_string(kernel) +
           " would see nothing but it; allowed: 0 to " + std::to_string(kernel - 1);
}

std::string
NodeBuilder::Convolution()
{
    const NodeShape& x = m_shapes[0];
    const NodeShape& f = m_shapes[1];
    const auto groups = static_cast<uint64_t>(Number("groups", 1));
    if (x.size() != 4 || f.size() != 4 || groups == 0 || x[1] % groups != 0 || f[0] % groups != 0 ||
        f[1] != x[1] / groups)
    {
        return Shapes("needs pictures [batch, channels, height, width] and filters "
                      "[outputs, channels / groups, height, width]");
    }
    const auto stride = static_cast<uint64_t>(Number("stride", 1));
    const auto padding = static_cast<uint64_t>(Number("padding", 0));
    if (padding >= std::max(f[2], f[3]))
    {
        return Padding(padding, std::max(f[2], f[3]));
    }
    m_output = {x[0], f[0], Slide(x[2], f[2], stride, padding), Slide(x[3], f[3], stride, padding)};
    if (m_output[2] == 0 || m_output[3] == 0)
    {
        return Shapes("leaves nothing of the picture");
    }
    const char* const why = "which groups of channels share";
    const int32_t b = AddAxis(Cuttable("batch", x[0]));
    const int32_t in = AddAxis(groups > 1 ? Uncut("input channels", x[1], why)
                                          : Cuttable("input channels", x[1], true));
    const int32_t out = AddAxis(groups > 1 ? Uncut("output channels", f[0], why)
                                           : Cuttable("output channels", f[0]));
    std::vector<int32_t> sides;
    for (const auto& [name, size] : {std::pair("height", x[2]),
                                     std::pair("width", x[3]),
                                     std::pair("filter's height", f[2]),
                                     std::pair("filter's width", f[3]),
                                     std::pair("output's height", m_output[2]),
                                     std::pair("output's width", m_output[3])})
    {
        sides.push_back(AddAxis(Uncut(name, size, "along which the window moves")));
    }
    m_op.inputs[0].axes = {b, in, sides[0], sides[1]};
    m_op.inputs[1].axes = {out, in, sides[2], sides[3]};
    m_op.output.axes = {b, out, sides[4], sides[5]};
    const double places = static_cast<double>(m_output[2] * m_output[3]);
    Product(static_cast<double>(x[0]) * places, out, in, 1);
    m_op.kind = Kind::kConvolution;
    m_op.compute.kind = KernelClass::kConvolution;
    m_op.compute.inner = static_cast<double>(f[1] * f[2] * f[3]);
    m_op.compute.elements = {ElementsOf(x), ElementsOf(m_output), 0};
    if (groups > 1)
    {
        m_op.compute.flops = m_op.compute.Flops(); // no single product
        m_op.compute.columns = 0;
    }
    return "";
}

std::string
NodeBuilder::Embedding()
{
    const NodeShape& ids = m_shapes[0];
    const NodeShape& table = m_shapes[1];
    if (table.size() != 2)
    {
        return Shapes("needs indices and a table [rows, columns]");
    }
    for (std::size_t d = 0; d < ids.size(); ++d)
    {
        const int32_t axis = AddAxis(Cuttable("indices " + std::to_string(d + 1), ids[d]));
        m_op.inputs[0].axes.push_back(axis);
        m_op.output.axes.push_back(axis);
        m_output.push_back(ids[d]);
    }
    // Rows that are elsewhere come as zeros, which are added up.
    const int32_t v = AddAxis(Cuttable("table's rows", table[0], true));
    const int32_t h = AddAxis(Cuttable("table's columns", table[1]));
    m_op.inputs[1].axes = {v, h};
    m_op.output.axes.push_back(h);
    m_output.push_back(table[1]);
    m_op.kind = Kind::kEmbedding;
    m_op.compute.kind = KernelClass::kPointwise;
    m_op.compute.elements.sample = 2 * ElementsOf(m_output);
    return "";
}

std::string
NodeBuilder::Attention()
{
    const NodeShape& q = m_shapes[0];
    const NodeShape& k = m_shapes[1];
    const auto heads = static_cast<uint64_t>(Number("heads", 1));
    if (q.size() != 3 || k.size() != 3 || m_shapes[2] != k || q[0] != k[0] || heads == 0 ||
        q[2] % heads != 0 || k[2] % (q[2] / heads) != 0)
    {
        return Shapes("needs queries, keys and values [batch, tokens, heads x size], keys and "
                      "values alike, of a size that \"heads\" divides");
    }
    const uint64_t size = q[2] / heads;
    const uint64_t kvHeads = k[2] / size;
    const int32_t b = AddAxis(Cuttable("batch", q[0]));
    const int32_t s = AddAxis(Uncut("tokens", q[1], "along which attention looks"));
    const int32_t t = AddAxis(Uncut("keys", k[1], "along which attention looks"));
    Axis all = Cuttable("heads", q[2]);
    all.granules = std::gcd(heads, kvHeads);
    const int32_t h = AddAxis(all);
    m_op.inputs[0].axes = {b, s, h};
    m_op.inputs[1].axes = m_op.inputs[2].axes = {b, t, h};
    m_op.output.axes = {b, s, h};
    m_output = q;
    m_op.kind = Kind::kAttention;
    m_op.heads = h;
    training::Operator& core = m_op.compute;
    core.kind = KernelClass::kAttention;
    core.queries.sample = static_cast<double>(q[1]);
    core.keys.sample = static_cast<double>(k[1]);
    core.heads = static_cast<double>(heads * q[0]);
    core.kvHeads = static_cast<double>(kvHeads * q[0]);
    core.headSize = static_cast<double>(size);
    core.causal = Number("causal", 0) != 0;
    return "";
}

} // namespace sharding
