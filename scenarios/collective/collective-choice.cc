/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How a collective is done: what the user has said, and what is left to the tuner.
 */
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/measured-choices.h"
#include "scenarios/collective/network-choices.h"
#include "scenarios/network/rail-options.h"

namespace scenario
{

const coll::Machine&
CollectiveOptions::MachineFor(const coll::Placement& placement) const
{
    if (machines.empty() || placement.serverOf.empty())
    {
        return machine;
    }
    const uint32_t kind = machineOfServer[placement.serverOf.front()];
    const bool alike =
        std::all_of(placement.serverOf.begin(), placement.serverOf.end(), [&](uint32_t server) {
            return machineOfServer[server] == kind;
        });
    return alike ? machines[kind] : machine;
}

coll::AlgorithmOptions
CollectiveOptions::OptionsFor(coll::Op op, const coll::Choice& choice) const
{
    coll::AlgorithmOptions all = OptionsFor(op);
    all.channels = choice.channels != 0 ? choice.channels : all.channels;
    return all;
}

coll::AlgorithmOptions
CollectiveOptions::OptionsFor(coll::Op op) const
{
    coll::AlgorithmOptions all = options;
    if (all.channels != 0)
    {
        return all;
    }
    if (machine.hasLibrary && op == coll::Op::kSendRecv)
    {
        all.channels = 1;
    }
    if (ownNics && coll::IsExchange(op))
    {
        all.maxChannels = besideGpu; // pxn has a channel a rail all the same
    }
    // Channels of sends and receives are another matter: NCCL_MIN_P2P_NCHANNELS and the like.
    if (!coll::IsExchange(op))
    {
        all.minChannels = nccl.minChannels;
        all.maxChannels = nccl.maxChannels;
    }
    return all;
}

bool
IsForOthers(const coll::Algorithm& algorithm,
            const coll::Collective& what,
            const coll::Placement& placement)
{
    return algorithm.Uses().fabricSwitches && !coll::HasSeveralServers(placement) &&
           !algorithm.WhyNot(what, placement, {}).empty();
}

coll::Fixed
FixedFor(const CollectiveOptions& options,
         const coll::Collective& what,
         const coll::Placement& placement)
{
    coll::Fixed fixed;
    fixed.protocol = options.protocol;
    fixed.except = options.nccl.except;
    if (const auto limit = options.nccl.ofOp.find(what.op); limit != options.nccl.ofOp.end())
    {
        for (const std::string& name : limit->second.only)
        {
            fixed.among.push_back(coll::Find(what.op, name));
        }
        const auto& except = limit->second.except;
        fixed.except.insert(fixed.except.end(), except.begin(), except.end());
        fixed.protocols = limit->second.protocols;
    }
    for (const AlgorithmRule& rule : options.algorithms)
    {
        if (rule.Covers(what))
        {
            fixed.algorithm = coll::Find(rule.op, rule.name); // null: auto
            if (fixed.algorithm && IsForOthers(*fixed.algorithm, what, placement))
            {
                fixed.algorithm = nullptr;
            }
        }
    }
    if (!fixed.algorithm && fixed.among.empty() && TakesPxn(options, what.op, placement))
    {
        fixed.algorithm = coll::Find(what.op, "pxn");
    }
    return fixed;
}

coll::Choice
ModelChoiceOf(const CollectiveOptions& options,
              const coll::Collective& what,
              const coll::Placement& placement)
{
    return coll::Choose(what,
                        placement,
                        options.OptionsFor(what.op),
                        options.MachineFor(placement),
                        FixedFor(options, what, placement));
}

namespace
{

/// Blocks of sizes of their own are a step's, and no two need be alike; and what takes a formula's
/// time inside servers takes the model's.
bool
IsByNetwork(const CollectiveOptions& options,
            const coll::Collective& what,
            const coll::Placement& placement)
{
    // A replay does not know the NIC for each link of a network of dimensions.
    return options.measured && options.measured->Network() && what.ranks > 1 &&
           !coll::FollowsGrids(coll::DefaultAlgorithm(what.op, placement)) &&
           what.op != coll::Op::kAllToAllV &&
           !(options.insideByFormula &&
             (options.allByFormula || !coll::HasSeveralServers(placement)));
}

} // namespace

coll::Choice
ChoiceOf(const CollectiveOptions& options,
         const coll::Collective& what,
         const coll::Placement& placement)
{
    const coll::Fixed fixed = FixedFor(options, what, placement);
    const MeasuredCollective* measured =
        options.measured && !fixed.algorithm ? options.measured->Find(what, placement) : nullptr;
    if (measured && measured->IsKnown())
    {
        const coll::Choice& best = measured->Best().choice;
        // The choice at the range's measured size may not be possible at another one.
        if (best.algorithm->WhyNot(what, placement, options.OptionsFor(what.op, best)).empty())
        {
            return best;
        }
    }
    if (IsByNetwork(options, what, placement))
    {
        // With a named algorithm, only its protocol is left.
        coll::Fixed rest = fixed;
        if (fixed.algorithm)
        {
            rest.among = {fixed.algorithm};
        }
        const coll::Choice best = options.measured->Network()->Best(options, what, placement, rest);
        if (best.algorithm)
        {
            return best;
        }
    }
    return coll::Choose(what,
                        placement,
                        options.OptionsFor(what.op),
                        options.MachineFor(placement),
                        fixed);
}

bool
IsLeftToTuner(const CollectiveOptions& options,
              const coll::Collective& what,
              const coll::Placement& placement)
{
    // Blocks of sizes of their own are a step's, and no two need be alike.
    return what.ranks > 1 && what.op != coll::Op::kAllToAllV &&
           !FixedFor(options, what, placement).algorithm;
}

std::vector<coll::Choice>
CandidatesOf(const CollectiveOptions& options,
             const coll::Collective& what,
             const coll::Placement& placement)
{
    coll::Fixed fixed = FixedFor(options, what, placement);
    // A rule may name one for this size, while the tuner chooses for others of its range.
    fixed.algorithm = nullptr;
    return coll::Candidates(what,
                            placement,
                            options.OptionsFor(what.op),
                            options.MachineFor(placement),
                            fixed);
}

std::string
ChoiceText(const coll::Choice& choice)
{
    return choice.algorithm->Name() +
           (choice.protocol && *choice.protocol != topo::Protocol::kExchange
                ? std::string(", ") + topo::ToString(*choice.protocol)
                : "") +
           (choice.channels != 0 ? ", " + std::to_string(choice.channels) + " channels" : "");
}

std::string
ChoicesText(const CollectiveOptions& options,
            const std::vector<coll::Collective>& whats,
            const coll::Placement& placement)
{
    std::string text;
    std::string last;
    for (std::size_t i = 0; i < whats.size(); ++i)
    {
        const std::string one = ChoiceText(ChoiceOf(options, whats[i], placement));
        if (i > 0 && one != last)
        {
            text += last + " up to " + rdma::ToString(rdma::Bytes(whats[i - 1].bytes)) + "; ";
        }
        last = one;
    }
    return text + last;
}

} // namespace scenario
