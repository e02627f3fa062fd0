/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/models/layer-parts.h"

#include "scenarios/models/model-zoo.h"

#include <tuple>

namespace training
{

namespace
{

// All members by name: one more would not compile until it is compared.

bool
IsSame(const Tensor& a, const Tensor& b)
{
    const auto members = [](const Tensor& tensor) {
        const auto& [elements, split, experts] = tensor;
        return std::tie(elements, split, experts);
    };
    return members(a) == members(b);
}

bool
IsSame(const Kept& a, const Kept& b)
{
    const auto members = [](const Kept& kept) {
        const auto& [bytes, split, core, expert, modules, takers, ofActivation] = kept;
        return std::tie(bytes, split, core, expert, modules, takers, ofActivation);
    };
    return members(a) == members(b);
}

bool
IsSame(const Operator& a, const Operator& b)
{
    const auto members = [](const Operator& op) {
        const auto& [kind,
                     role,
                     split,
                     expert,
                     modules,
                     count,
                     rows,
                     columns,
                     inner,
                     dividesInner,
                     weights,
                     bias,
                     wide,
                     queries,
                     keys,
                     heads,
                     kvHeads,
                     headSize,
                     valueSize,
                     window,
                     chunked,
                     causal,
                     joined,
                     dropout,
                     tables,
                     elements,
                     bytes,
                     flops,
                     scan,
                     backward,
                     last,
                     takes,
                     channels,
                     places] = op;
        const auto& [tableCount, shared, whole, tied] = tables;
        return std::tuple_cat(
            std::tie(kind, role, split, expert, modules, count, columns, inner, dividesInner),
            std::tie(weights, bias, wide, heads, kvHeads, headSize, valueSize, window, chunked),
            std::tie(causal, joined, dropout, tableCount, shared, whole, tied, scan, backward),
            std::tie(last, takes, channels, places, rows, queries, keys, elements, bytes, flops));
    };
    return members(a) == members(b);
}

bool
IsSame(const std::optional<Routing>& a, const std::optional<Routing>& b)
{
    const auto members = [](const Routing& routing) {
        const auto& [experts, topK, elements] = routing;
        return std::tie(experts, topK, elements);
    };
    return a && b ? members(*a) == members(*b) : !a && !b;
}

template <class T>
bool
AreSame(const std::vector<T>& a, const std::vector<T>& b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const T& x, const T& y) {
        return IsSame(x, y);
    });
}

bool
IsSame(const Part& a, const Part& b)
{
    const auto& [name, tensors, operators, kept, entry, exit, losses, routing, leaves] = a;
    return name == b.name && leaves == b.leaves && entry == b.entry && exit == b.exit &&
           losses == b.losses && IsSame(routing, b.routing) && AreSame(tensors, b.tensors) &&
           AreSame(operators, b.operators) && AreSame(kept, b.kept);
}

} // namespace

bool
AreEqual(const Parts& a, const Parts& b)
{
    return a.Shares(b) ||
           std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Part& x, const Part& y) {
               return IsSame(x, y);
           });
}

void
ShareParts(std::vector<LayerSpec>& layers)
{
    std::vector<const Parts*> kinds;
    for (LayerSpec& layer : layers)
    {
        const auto like = std::find_if(kinds.rbegin(), kinds.rend(), [&layer](const Parts* kind) {
            return AreEqual(*kind, layer.parts);
        });
        if (like != kinds.rend())
        {
            layer.parts = **like;
        }
        else
        {
            kinds.push_back(&layer.parts);
        }
    }
}

} // namespace training
