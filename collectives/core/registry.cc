/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/registry.h"

#include "collectives/core/placement.h"
#include "topologies/names.h"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace coll
{

namespace
{

/// In a function, so that it exists before the first file registers.
std::vector<std::unique_ptr<Algorithm>>&
Algorithms()
{
    static std::vector<std::unique_ptr<Algorithm>> algorithms;
    return algorithms;
}

std::vector<std::unique_ptr<Algorithm>>&
Unlisted()
{
    static std::vector<std::unique_ptr<Algorithm>> algorithms;
    return algorithms;
}

void
RegisterIn(std::vector<std::unique_ptr<Algorithm>>* list, std::unique_ptr<Algorithm> algorithm)
{
    for (const Op op : AllOps())
    {
        if (algorithm->Supports(op) && Find(op, algorithm->Name()) != nullptr)
        {
            throw std::logic_error("two algorithms for " + OpName(op) + " are named " +
                                   algorithm->Name());
        }
    }
    list->push_back(std::move(algorithm));
}

} // namespace

std::string
OpName(Op op)
{
    switch (op)
    {
    case Op::kAllReduce:
        return "all_reduce";
    case Op::kReduceScatter:
        return "reduce_scatter";
    case Op::kAllGather:
        return "all_gather";
    case Op::kBroadcast:
        return "broadcast";
    case Op::kReduce:
        return "reduce";
    case Op::kGather:
        return "gather";
    case Op::kScatter:
        return "scatter";
    case Op::kAllToAll:
        return "alltoall";
    case Op::kAllToAllV:
        return "alltoallv";
    case Op::kSendRecv:
        return "sendrecv";
    case Op::kBarrier:
        return "barrier";
    }
    throw std::invalid_argument("no such operation: " + std::to_string(static_cast<int>(op)));
}

const std::vector<Op>&
AllOps()
{
    static const std::vector<Op> ops{Op::kAllReduce,
                                     Op::kReduceScatter,
                                     Op::kAllGather,
                                     Op::kBroadcast,
                                     Op::kReduce,
                                     Op::kGather,
                                     Op::kScatter,
                                     Op::kAllToAll,
                                     Op::kAllToAllV,
                                     Op::kSendRecv,
                                     Op::kBarrier};
    return ops;
}

std::optional<Op>
ParseOp(const std::string& name)
{
    for (const Op op : AllOps())
    {
        if (topo::FoldedName(OpName(op)) == topo::FoldedName(name))
        {
            return op;
        }
    }
    return std::nullopt;
}

const Algorithm*
Find(Op op, const std::string& name)
{
    for (const auto* list : {&Algorithms(), &Unlisted()})
    {
        for (const auto& algorithm : *list)
        {
            if (algorithm->Supports(op) && algorithm->Name() == name)
            {
                return algorithm.get();
            }
        }
    }
    return nullptr;
}

std::vector<const Algorithm*>
AlgorithmsFor(Op op)
{
    std::vector<const Algorithm*> found;
    for (const auto& algorithm : Algorithms())
    {
        if (algorithm->Supports(op))
        {
            found.push_back(algorithm.get());
        }
    }
    // Files register in no particular order.
    std::sort(found.begin(), found.end(), [](const Algorithm* a, const Algorithm* b) {
        return a->Name() < b->Name();
    });
    return found;
}

std::string
AlgorithmNames(Op op)
{
    std::string names;
    for (const Algorithm* algorithm : AlgorithmsFor(op))
    {
        names += (names.empty() ? "" : ", ") + algorithm->Name();
    }
    return names;
}

const std::vector<Knob>&
AllKnobs()
{
    static const std::vector<Knob> knobs{Knob::kChannels,
                                         Knob::kPipeline,
                                         Knob::kRadix,
                                         Knob::kLevels,
                                         Knob::kDimensions,
                                         Knob::kSplits,
                                         Knob::kOrder,
                                         Knob::kPhases,
                                         Knob::kRows,
                                         Knob::kParameterServers};
    return knobs;
}

std::string
KnobName(Knob knob)
{
    switch (knob)
    {
    case Knob::kChannels:
        return "channels";
    case Knob::kPipeline:
        return "pipeline";
    case Knob::kRadix:
        return "radix";
    case Knob::kLevels:
        return "levels";
    case Knob::kDimensions:
        return "dimensions";
    case Knob::kSplits:
        return "splits";
    case Knob::kOrder:
        return "dimension-order";
    case Knob::kPhases:
        return "phase-order";
    case Knob::kRows:
        return "dimension-algorithms";
    case Knob::kParameterServers:
        return "parameter-servers";
    }
    throw std::invalid_argument("no such knob: " + std::to_string(static_cast<int>(knob)));
}

std::vector<std::string>
AlgorithmsReading(Knob knob)
{
    std::set<std::string> names;
    for (const auto& algorithm : Algorithms())
    {
        if (algorithm->Reads(knob))
        {
            names.insert(algorithm->Name());
        }
    }
    return {names.begin(), names.end()};
}

namespace
{

/// Whether all dimensions are rings of the same size and rate.
bool
AreAlike(const Placement& placement)
{
    std::vector<uint32_t> sizes(placement.along.size(), 0);
    for (const std::vector<uint32_t>& at : placement.at)
    {
        for (std::size_t d = 0; d < sizes.size(); ++d)
        {
            sizes[d] = std::max(sizes[d], at[d] + 1);
        }
    }
    const GridDimension& first = placement.along.front();
    for (std::size_t d = 0; d < sizes.size(); ++d)
    {
        const GridDimension& one = placement.along[d];
        if (one.kind != GridDimension::kRing || one.rate != first.rate || sizes[d] != sizes.front())
        {
            return false;
        }
    }
    return true;
}

} // namespace

bool
FollowsGrids(const Algorithm& algorithm)
{
    return algorithm.Reads(Knob::kDimensions);
}

const Algorithm&
DefaultAlgorithm(Op op, const Placement& placement)
{
    // Shares in all dimensions at once, without chunks, are the fastest where all are alike. What
    // an all-to-all sends by dimension it would send several times.
    const Algorithm* grid = placement.along.empty() || IsAllToAll(op)
                                ? nullptr
                                : Find(op, AreAlike(placement) ? "torus" : "by-dimension");
    if (grid)
    {
        return *grid;
    }
    // A ring moves the fewest bytes whatever the placement; which algorithm is fastest at a size is
    // for a tuner. Where no two ranks get the same, each sends for itself, as nccl-tests do it.
    const bool direct =
        IsAllToAll(op) || op == Op::kGather || op == Op::kScatter || op == Op::kSendRecv;
    const std::string name = direct ? "direct" : op == Op::kBarrier ? "dissemination" : "ring";
    if (const Algorithm* algorithm = Find(op, name))
    {
        return *algorithm;
    }
    throw std::logic_error("algorithm " + name + " of " + OpName(op) + " is not linked in");
}

void
Register(std::unique_ptr<Algorithm> algorithm)
{
    RegisterIn(&Algorithms(), std::move(algorithm));
}

void
RegisterUnlisted(std::unique_ptr<Algorithm> algorithm)
{
    RegisterIn(&Unlisted(), std::move(algorithm));
}

OneOpAlgorithm::OneOpAlgorithm(std::string name,
                               Op op,
                               std::string description,
                               AlgorithmFacts facts)
    : m_name(std::move(name)),
      m_op(op),
      m_description(std::move(description)),
      m_facts(std::move(facts))
{
}

std::string
OneOpAlgorithm::Name() const
{
    return m_name;
}

std::string
OneOpAlgorithm::Description() const
{
    return m_description;
}

bool
OneOpAlgorithm::Supports(Op op) const
{
    return op == m_op;
}

const AlgorithmFacts&
OneOpAlgorithm::Facts() const
{
    return m_facts;
}

std::string
OneOpAlgorithm::WhyNot(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const
{
    if (what.op != m_op)
    {
        return "it does " + OpName(m_op) + ", not " + OpName(what.op);
    }
    return Problem(what, placement, options);
}

void
OneOpAlgorithm::Require(const Collective& what,
                        const Placement& placement,
                        const AlgorithmOptions& options) const
{
    const std::string why = WhyNot(what, placement, options);
    if (!why.empty())
    {
        throw std::invalid_argument(m_name + " " + OpName(m_op) + ": " + why);
    }
}

} // namespace coll
