/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Fabrics for the tests of the subnet manager.
 */
#ifndef TESTS_UNIT_CORE_IB_FABRICS_H
#define TESTS_UNIT_CORE_IB_FABRICS_H

#include "contrib/rdma/core/ib/ib-discovery.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace ibtest
{

/// What a function throws, as text.
template <class Error, class Function>
std::string
What(const Function& function)
{
    try
    {
        function();
    }
    catch (const Error& error)
    {
        return error.what();
    }
    return "no error";
}

inline bool
Has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

/// Ports are numbered in the order in which cables are added; every host port is an endpoint.
struct Builder
{
    rdma::IbFabric fabric;
    std::vector<uint16_t> degree;

    uint32_t Add(bool host, const std::string& name)
    {
        fabric.isHost.push_back(host);
        fabric.names.push_back(name);
        degree.push_back(0);
        return static_cast<uint32_t>(degree.size() - 1);
    }

    uint32_t Host(const std::string& name)
    {
        return Add(true, name);
    }

    uint32_t Switch(const std::string& name)
    {
        return Add(false, name);
    }

    /// Index of the link.
    uint32_t Link(uint32_t a, uint32_t b)
    {
        for (const uint32_t n : {a, b})
        {
            if (fabric.isHost[n])
            {
                fabric.endpoints.push_back({n, degree[n]});
            }
        }
        const uint16_t pa = degree[a]++;
        const uint16_t pb = degree[b]++;
        fabric.links.push_back({a, b, pa, pb});
        return static_cast<uint32_t>(fabric.links.size() - 1);
    }
};

struct Tree
{
    rdma::IbFabric fabric;
    std::vector<uint32_t> hosts; ///< nodes, leaf by leaf
    std::vector<uint32_t> leaves;
    std::vector<uint32_t> middles; ///< pod by pod
    std::vector<uint32_t> tops;
};

/// Three tiers: `pods` pods of `leaves` leaves and `middles` middle switches; middle m of each pod
/// is wired to the same `tops` switches. `hosts` of a leaf. Switches first have their names
/// shuffled with a seed > 0: the order of nodes then says nothing about the tree.
inline Tree
MakeTree(uint32_t pods,
         uint32_t leaves,
         uint32_t middles,
         uint32_t tops,
         uint32_t hosts,
         uint32_t cables = 1,
         uint32_t seed = 0)
{
    Builder b;
    Tree tree;
    for (uint32_t p = 0; p < pods; ++p)
    {
        for (uint32_t l = 0; l < leaves; ++l)
        {
            for (uint32_t h = 0; h < hosts; ++h)
            {
                tree.hosts.push_back(b.Host("host-" + std::to_string(tree.hosts.size())));
            }
        }
    }

    struct Place
    {
        uint32_t tier;
        uint32_t index;
    };

    std::vector<Place> places;
    for (uint32_t i = 0; i < pods * leaves; ++i)
    {
        places.push_back({0, i});
    }
    for (uint32_t i = 0; i < pods * middles; ++i)
    {
        places.push_back({1, i});
    }
    for (uint32_t i = 0; i < middles * tops; ++i)
    {
        places.push_back({2, i});
    }
    tree.leaves.resize(pods * leaves);
    tree.middles.resize(pods * middles);
    tree.tops.resize(middles * tops);
    if (seed)
    {
        std::mt19937 random(seed);
        for (size_t i = places.size(); i > 1; --i)
        {
            std::swap(places[i - 1], places[random() % i]);
        }
    }
    for (const Place& place : places)
    {
        std::vector<uint32_t>& row = place.tier == 0   ? tree.leaves
                                     : place.tier == 1 ? tree.middles
                                                       : tree.tops;
        static const char* const kNames[] = {"leaf-", "middle-", "top-"};
        row[place.index] = b.Switch(kNames[place.tier] + std::to_string(place.index));
    }
    for (uint32_t i = 0; i < tree.hosts.size(); ++i)
    {
        b.Link(tree.hosts[i], tree.leaves[i / hosts]);
    }
    for (uint32_t p = 0; p < pods; ++p)
    {
        for (uint32_t c = 0; c < cables; ++c)
        {
            for (uint32_t l = 0; l < leaves; ++l)
            {
                for (uint32_t m = 0; m < middles; ++m)
                {
                    b.Link(tree.leaves[p * leaves + l], tree.middles[p * middles + m]);
                }
            }
        }
        for (uint32_t m = 0; m < middles; ++m)
        {
            for (uint32_t t = 0; t < tops; ++t)
            {
                b.Link(tree.middles[p * middles + m], tree.tops[m * tops + t]);
            }
        }
    }
    tree.fabric = std::move(b.fabric);
    return tree;
}

/// k-ary fat-tree of Al-Fares et al.
inline Tree
FatTree(uint32_t k, uint32_t seed = 0)
{
    return MakeTree(k, k / 2, k / 2, k / 2, k / 2, 1, seed);
}

struct Torus
{
    rdma::IbFabric fabric;
    std::vector<uint32_t> sizes;
    std::vector<uint32_t> positions; ///< [switch x dimensions + dimension]

    /// Links of the shortest path between two switches.
    uint32_t Distance(uint32_t a, uint32_t b, bool wraps = true) const
    {
        uint32_t sum = 0;
        for (size_t d = 0; d < sizes.size(); ++d)
        {
            const uint32_t x = positions[a * sizes.size() + d];
            const uint32_t y = positions[b * sizes.size() + d];
            const uint32_t straight = x > y ? x - y : y - x;
            sum += wraps ? std::min(straight, sizes[d] - straight) : straight;
        }
        return sum;
    }
};

/// Switches are nodes 0.., the first dimension fastest; `hosts` on each.
inline Torus
MakeTorus(const std::vector<uint32_t>& sizes, uint32_t hosts, bool wraps = true, uint32_t seed = 0)
{
    Builder b;
    Torus torus;
    torus.sizes = sizes;
    uint32_t count = 1;
    for (const uint32_t n : sizes)
    {
        count *= n;
    }
    std::vector<uint32_t> at(count); // grid place -> node
    std::iota(at.begin(), at.end(), 0);
    std::mt19937 random(seed);
    for (size_t i = count; seed && i > 1; --i)
    {
        std::swap(at[i - 1], at[random() % i]);
    }
    torus.positions.resize(count * sizes.size());
    for (uint32_t i = 0; i < count; ++i)
    {
        b.Switch("s" + std::to_string(i));
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        uint32_t stride = 1;
        for (size_t d = 0; d < sizes.size(); ++d)
        {
            const uint32_t x = i / stride % sizes[d];
            torus.positions[at[i] * sizes.size() + d] = x;
            if (x + 1 < sizes[d] || (wraps && sizes[d] > 2))
            {
                b.Link(at[i], at[i - x * stride + (x + 1) % sizes[d] * stride]);
            }
            stride *= sizes[d];
        }
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        for (uint32_t h = 0; h < hosts; ++h)
        {
            b.Link(i, b.Host("h" + std::to_string(i) + "-" + std::to_string(h)));
        }
    }
    torus.fabric = std::move(b.fabric);
    return torus;
}

/// A connected random graph of switches: a random tree and `more` further cables (also in
/// parallel); `hosts` hosts at random.
inline rdma::IbFabric
RandomFabric(uint32_t switches, uint32_t more, uint32_t hosts, uint32_t seed)
{
    Builder b;
    std::mt19937 random(seed);
    for (uint32_t i = 0; i < switches; ++i)
    {
        b.Switch("s" + std::to_string(i));
        if (i > 0)
        {
            b.Link(i, random() % i);
        }
    }
    for (uint32_t i = 0; i < more && switches > 1; ++i)
    {
        const uint32_t x = random() % switches;
        b.Link(x, (x + 1 + random() % (switches - 1)) % switches);
    }
    for (uint32_t i = 0; i < hosts; ++i)
    {
        b.Link(b.Host("h" + std::to_string(i)), random() % switches);
    }
    return b.fabric;
}

} // namespace ibtest

#endif // TESTS_UNIT_CORE_IB_FABRICS_H
