/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Whether what is chosen for collectives can be done.
 */
#include "scenarios/collective/collective-checks.h"

#include "collectives/aggregation/aggregators.h"
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "collectives/msccl/msccl-xml.h"
#include "collectives/schedules/torus.h"
#include "scenarios/asked/collective.h"
#include "scenarios/collective/nccl-environment.h"
#include "scenarios/collective/network-choices.h"
#include "scenarios/network/rail-options.h"
#include "topologies/family.h"
#include "topologies/names.h"

#include <algorithm>
#include <map>
#include <set>

namespace scenario
{

void
CheckKnobs(Validation* v,
           const std::vector<CollectiveOptions*>& choices,
           const std::vector<UsedBy>& groups,
           const std::vector<coll::Placement>& placements)
{
    const auto given = [v](coll::Knob knob) { return v->values.Given(coll::KnobName(knob)); };
    if (std::none_of(coll::AllKnobs().begin(), coll::AllKnobs().end(), given))
    {
        return;
    }
    std::map<std::string, std::set<const coll::Algorithm*>> chosen; // by operation and name
    for (const CollectiveOptions* c : choices)
    {
        for (std::size_t g = 0; g < groups.size(); ++g)
            for (const auto& what : groups[g].collectives)
            {
                const coll::Algorithm* algorithm = ChoiceOf(*c, what, placements[g]).algorithm;
                auto& all = chosen[coll::OpName(what.op) + " (" + algorithm->Name() + ")"];
                all.insert(algorithm);
                if (!algorithm->Reads(coll::Knob::kLevels))
                {
                    continue;
                }
                for (const std::string& level : c->options.levels)
                {
                    for (const coll::Op op : coll::AllOps())
                    {
                        if (const coll::Algorithm* ofLevel = coll::Find(op, level))
                        {
                            all.insert(ofLevel);
                        }
                    }
                }
            }
    }
    for (const coll::Knob knob : coll::AllKnobs())
    {
        const std::string option = coll::KnobName(knob);
        if (!given(knob) || chosen.empty())
        {
            continue;
        }
        std::vector<std::string> others;
        for (const auto& [name, algorithms] : chosen)
        {
            if (std::none_of(algorithms.begin(), algorithms.end(), [&](const auto* algorithm) {
                    return algorithm->Reads(knob);
                }))
            {
                others.push_back(name);
            }
        }
        if (others.size() == chosen.size())
        {
            v->Fail(option,
                    "has no meaning for " + Join(others, ", ") + "; it belongs to " +
                        Join(coll::AlgorithmsReading(knob), ", ") + " (--algorithm)");
        }
        else if (!others.empty())
        {
            v->notes.push_back(v->values.Where(option) + " has no meaning for " +
                               Join(others, ", ") + ", of what this run does");
        }
    }
}

void
NoteIdleKnobs(Validation* v)
{
    for (const coll::Knob knob : coll::AllKnobs())
    {
        const std::string option = coll::KnobName(knob);
        if (v->values.Given(option))
        {
            v->notes.push_back(v->values.Where(option) +
                               " has no effect: there is no collective in this run");
        }
    }
}

void
CheckProtocolUse(Validation* v, const std::vector<coll::Collective>& used)
{
    if (!v->values.Given(&asked::Collective::protocol) ||
        v->values.Get(&asked::Collective::protocol) == kAutoAlgorithm)
    {
        return;
    }
    std::set<std::string> moves;
    bool isRead = used.empty();
    for (const coll::Collective& what : used)
    {
        if (coll::IsExchange(what.op))
        {
            moves.insert(coll::OpName(what.op));
        }
        else
        {
            isRead = true;
        }
    }
    const std::string which = Join({moves.begin(), moves.end()}, ", ");
    if (!isRead)
    {
        v->Fail(&asked::Collective::protocol,
                "has no meaning for " + which +
                    ", which is grouped sends and receives, without a choice; allowed: auto");
    }
    else if (!moves.empty())
    {
        v->notes.push_back(v->values.Where(&asked::Collective::protocol) + " has no meaning for " +
                           which + ", of what this run does");
    }
}

void
CheckNcclProtocols(Validation* v,
                   const CollectiveOptions& c,
                   const std::vector<coll::Collective>& used,
                   const coll::Placement& placement)
{
    for (const auto& what : used)
    {
        const auto limit = c.nccl.ofOp.find(what.op);
        if (c.protocol || limit == c.nccl.ofOp.end() || coll::IsExchange(what.op))
        {
            continue;
        }
        const auto& protocols = limit->second.protocols;
        if (!protocols.empty() && c.machine.hasLibrary &&
            std::none_of(protocols.begin(), protocols.end(), [&](topo::Protocol protocol) {
                return coll::WhyNotProtocol(protocol, placement, c.machine).empty();
            }))
        {
            v->Fail(&asked::Collective::ncclEnv,
                    "NCCL_PROTO: " + coll::WhyNotProtocol(protocols.front(), placement, c.machine));
            return;
        }
    }
}

namespace
{

/// Whether no switch joins all servers as some do not reach others. Two on one cable do.
bool
AreApart(const ClusterSpec& cluster)
{
    if (!cluster.aggregators || !cluster.aggregators->Trees().empty())
    {
        return false;
    }
    const topo::Topology& topology = cluster.topology;
    const topo::NodeId first = topology.Hosts()[cluster.hostOfServer.front()];
    const topo::NodeId last = topology.Hosts()[cluster.hostOfServer.back()];
    bool byCable = false;
    for (topo::PortId nic = 0; nic < cluster.server.nics && cluster.servers == 2; ++nic)
    {
        byCable = byCable || topology.Peer(first, nic) == last;
    }
    return !byCable;
}

} // namespace

bool
AnySwitches(const std::vector<CollectiveOptions*>& choices,
            const std::vector<UsedBy>& groups,
            const std::vector<coll::Placement>& placements)
{
    for (const CollectiveOptions* choice : choices)
    {
        for (std::size_t g = 0; g < groups.size(); ++g)
        {
            for (const auto& what : groups[g].collectives)
            {
                if (ChoiceOf(*choice, what, placements[g]).algorithm->Uses().fabricSwitches)
                {
                    return true;
                }
            }
        }
    }
    return false;
}

void
CheckForOthers(Validation* v,
               const CollectiveOptions& c,
               const std::vector<UsedBy>& groups,
               const std::vector<coll::Placement>& placements,
               const std::string& option)
{
    struct Named
    {
        bool taken = false;
        std::set<std::size_t> others; ///< ranks of groups that do without it
        std::string why;
    };

    std::map<std::string, Named> named; // by algorithm and operation
    for (std::size_t g = 0; g < groups.size(); ++g)
    {
        for (const coll::Collective& what : groups[g].collectives)
        {
            const AlgorithmRule* last = nullptr;
            for (const AlgorithmRule& rule : c.algorithms)
            {
                last = rule.Covers(what) ? &rule : last;
            }
            const coll::Algorithm* algorithm = last ? coll::Find(last->op, last->name) : nullptr;
            if (!algorithm || !algorithm->Uses().fabricSwitches)
            {
                continue;
            }
            const std::string name = algorithm->Name() + " " + coll::OpName(what.op);
            Named& one = named[name];
            if (!IsForOthers(*algorithm, what, placements[g]))
            {
                one.taken = true;
            }
            else
            {
                one.others.insert(what.ranks);
                one.why = algorithm->WhyNot(what, placements[g], {});
            }
        }
    }
    for (const auto& [name, one] : named)
    {
        if (!one.taken)
        {
            v->Fail(option, name + ": " + one.why);
            continue;
        }
        std::vector<std::string> which;
        for (const std::size_t ranks : one.others)
        {
            which.push_back("groups of " + topo::Counted(ranks, "rank") + " in one server");
        }
        if (!which.empty())
        {
            v->notes.push_back(v->values.Where(option) + ": " + name + " is not for " +
                               Join(which, ", ") + "; they take what auto does");
        }
    }
}

namespace
{

/// Whether an algorithm with dimensions takes its own on a network that may be a torus of others.
bool
MayMissShape(const CollectiveOptions& c,
             const coll::Algorithm& algorithm,
             const ClusterSpec& cluster,
             const coll::Placement& placement)
{
    const topo::Family* family = topo::FindFamily(cluster.topology.About().family);
    return algorithm.Reads(coll::Knob::kDimensions) && c.options.dimensions.empty() &&
           placement.at.empty() && !(family && family->noCycles);
}

/// Of a wafer with holes, whose rows are not those of an algorithm that goes row by row.
std::string
WhyNoBox(const CollectiveOptions& c,
         const coll::Algorithm& algorithm,
         const ClusterSpec& cluster,
         const coll::Placement& placement)
{
    const topo::Description& about = cluster.topology.About();
    return about.nics && algorithm.Reads(coll::Knob::kDimensions) && c.options.dimensions.empty() &&
                   coll::TorusBox(placement).empty()
               ? "goes along rows of a mesh, and the ranks of " + about.name +
                     " fill no box of it; allowed: ring or others, or --dimensions"
               : "";
}

/// A rank posts the messages of all its loops at once, a few hundred bytes each.
std::string
WhyTooMany(const coll::Algorithm& algorithm,
           const coll::Collective& what,
           const coll::Placement& placement,
           const CollectiveOptions& c)
{
    constexpr uint64_t kMostPosts = 1UL << 22; // assumed: some 1 GB a rank
    const auto cost = algorithm.CostOf(what, placement, c.OptionsFor(what.op));
    return cost && cost->posts > kMostPosts
               ? "is " + std::to_string(cost->posts) + " messages of each rank; at most " +
                     std::to_string(kMostPosts) +
                     " are simulated. Larger pieces (--pipeline) make fewer"
               : "";
}

/// As --dimensions has it. \param sizes the closest first
std::string
ShapeText(const std::vector<uint32_t>& sizes)
{
    std::string text;
    for (auto size = sizes.rbegin(); size != sizes.rend(); ++size)
    {
        text += (text.empty() ? "" : "x") + std::to_string(*size);
    }
    return text;
}

} // namespace

void
CheckChoices(Validation* v,
             const CollectiveOptions& c,
             const std::vector<coll::Collective>& used,
             const ClusterSpec& cluster,
             const coll::Placement& placement,
             const std::string& option,
             uint32_t elementBytes)
{
    const auto& values = v->values;
    // The network check reports pairs without a path.
    const bool apart = AreApart(cluster);
    std::string shape; // as noted
    std::set<coll::Op> refused;
    for (const auto& collective : used)
    {
        const coll::Algorithm& algorithm = *ChoiceOf(c, collective, placement).algorithm;
        std::string why = algorithm.WhyNot(collective, placement, c.OptionsFor(collective.op));
        why = why.empty() ? coll::WhyNoElements(algorithm, collective.bytes, elementBytes) : why;
        why = why.empty() ? WhyNoBox(c, algorithm, cluster, placement) : why;
        if (why.empty() && shape.empty() && MayMissShape(c, algorithm, cluster, placement))
        {
            shape = ShapeText(coll::TorusDimensions(placement, c.options));
            v->notes.push_back(values.Where(&asked::Collective::dimensions) + ": " +
                               algorithm.Name() + " takes " + shape +
                               ", as this network tells no shape. Where it is a torus, " +
                               "give its own: another one can end in a PFC deadlock");
        }
        why = why.empty() ? WhyTooMany(algorithm, collective, placement, c) : why;
        why = why.empty() ? WhyNotOnRails(c, algorithm, placement, collective.op) : why;
        if (why.empty() && c.protocol && c.protocol != topo::Protocol::kSimple &&
            !coll::ProtocolsInSwitches(algorithm).empty())
        {
            why = std::string("goes with protocol simple only, not with ") +
                  topo::ToString(*c.protocol);
        }
        if (why.empty() || (apart && algorithm.Uses().fabricSwitches) ||
            !refused.insert(collective.op).second)
        {
            continue;
        }
        const std::string blamed =
            values.Given(&asked::Collective::pipeline) &&
                    why.find("--pipeline") != std::string::npos
                ? "pipeline"
            : values.Given(&asked::Collective::channels) && why.find("channel") != std::string::npos
                ? "channels"
            : values.Given(&asked::Collective::dimensions) && why.find("torus") != std::string::npos
                ? "dimensions"
            : values.Given(&asked::Collective::parameterServers) &&
                    why.find("server") != std::string::npos
                ? "parameter-servers"
            : values.Given(&asked::Collective::levels) && why.find("level") != std::string::npos
                ? "levels"
            : values.Given(option) ? option
                                   : "";
        const std::string text = algorithm.Name() + " " + coll::OpName(collective.op) + ": " + why;
        const auto limit = c.nccl.ofOp.find(collective.op);
        if (!NamedFor(c, collective) && limit != c.nccl.ofOp.end() && limit->second.limited &&
            (blamed.empty() || blamed == option))
        {
            v->errors.push_back({values.Where(&asked::Collective::ncclEnv),
                                 NcclVariableAsSet(c.nccl, "NCCL_ALGO"),
                                 text,
                                 ""});
        }
        else if (blamed.empty())
        {
            v->errors.push_back({"", "", text, ""});
        }
        else
        {
            v->Fail(blamed, text);
        }
    }
}

void
CheckFormulas(Validation* v,
              const CollectiveOptions& c,
              const std::vector<coll::Collective>& used,
              const coll::Placement& placement)
{
    if (!c.insideByFormula || (!c.allByFormula && coll::HasSeveralServers(placement)))
    {
        return;
    }
    for (const auto& collective : used)
    {
        const coll::Algorithm& algorithm = *ChoiceOf(c, collective, placement).algorithm;
        if (!algorithm.CostOf(collective, placement, c.OptionsFor(collective.op)))
        {
            v->Fail(c.allByFormula ? "collective-times" : "in-server",
                    algorithm.Name() + " " + coll::OpName(collective.op) +
                        " has no formula; allowed: messages, or another algorithm");
            return;
        }
    }
}

} // namespace scenario
