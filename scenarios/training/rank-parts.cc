/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/rank-parts.h"

#include "scenarios/training/layer-kernels.h"
#include "scenarios/training/part-exchanges.h"
#include "scenarios/training/rank-layers.h"
#include "scenarios/training/recomputation.h"
#include "scenarios/training/spec/kernel-time.h"

#include <algorithm>

namespace training
{

namespace
{

double
LaunchesOf(const Part& part, Pass pass, const TrainingOptions& o)
{
    double launches = 0;
    for (const Operator& op : part.operators)
    {
        for (const Kernel& kernel : KernelsOf(op, part, pass, o))
        {
            launches += kernel.launches;
        }
    }
    return launches;
}

/// Seconds of a pass of all operators: the later of device and host, which launches ahead within a
/// part only.
double
SecondsOf(const Part& part, Pass pass, const TrainingOptions& o)
{
    const double device = SecondsOfShares(part, pass, o, [](const Operator&) { return 1.0; });
    return o.hostLaunch > 0 ? std::max(device, LaunchesOf(part, pass, o) * o.hostLaunch) : device;
}

/// The part with the operators [first, end).
Part
PieceOf(const Part& part, std::size_t first, std::size_t end, const std::string& name)
{
    Part piece;
    piece.name = part.name.empty() || name.empty() ? part.name + name : part.name + " " + name;
    piece.tensors = part.tensors;
    piece.operators.assign(part.operators.begin() + static_cast<std::ptrdiff_t>(first),
                           part.operators.begin() + static_cast<std::ptrdiff_t>(end));
    return piece;
}

/// Where the products begin and end that what comes in meets first (Megatron-LM's
/// ColumnParallelLinear).
std::pair<std::size_t, std::size_t>
EntryOf(const Part& part)
{
    const auto isEntry = [](const Operator& op) { return IsShared(op) && !op.dividesInner; };
    const auto begin = part.operators.begin();
    const auto first = std::find_if(begin, part.operators.end(), isEntry);
    const auto end = std::find_if_not(first, part.operators.end(), isEntry);
    return {static_cast<std::size_t>(first - begin), static_cast<std::size_t>(end - begin)};
}

/// The range of the product whose results ranks add up (RowParallelLinear).
std::pair<std::size_t, std::size_t>
ExitOf(const Part& part)
{
    const auto begin = part.operators.begin();
    const auto first = std::find_if(begin, part.operators.end(), [](const Operator& op) {
        return IsShared(op) && op.dividesInner;
    });
    const auto at = static_cast<std::size_t>(first - begin);
    return {at, first == part.operators.end() ? at : at + 1};
}

/// Sets the work that runs beside a tensor group's exchanges.
void
AddTensorOverlap(const Part& part, const TrainingOptions& o, RankPart& rank)
{
    // With experts it is the way to and from other ranks that stands there.
    if (o.tensor == 1 || part.routing)
    {
        return;
    }
    const auto [entryBegin, entryEnd] = EntryOf(part);
    const auto [exitBegin, exitEnd] = ExitOf(part);
    const Part entry = PieceOf(part, entryBegin, entryEnd, "");
    const Part exit = PieceOf(part, exitBegin, exitEnd, "");
    if (o.tensorOverlap && !part.entry.IsZero())
    {
        rank.entryWeights = SecondsOf(entry, Pass::kBackwardWeights, o);
    }
    if (o.piecewiseOverlap && !part.entry.IsZero())
    {
        rank.aheadOfEntry = SecondsOf(PieceOf(part, 0, entryBegin, ""), Pass::kForward, o);
        rank.entryForward = SecondsOf(entry, Pass::kForward, o);
    }
    if (o.piecewiseOverlap && !part.exit.IsZero())
    {
        rank.exitForward = SecondsOf(exit, Pass::kForward, o);
        rank.exitBackward = SecondsOf(exit, Pass::kBackwardInput, o);
    }
}

} // namespace

std::vector<RankPart>
ContextParts(const Part& part, const Operator& core, const TrainingOptions& o, Again again)
{
    const auto at = static_cast<std::size_t>(&core - part.operators.data());
    Part before = PieceOf(part, 0, at, "projections");
    const Part middle = PieceOf(part, at, at + 1, "core");
    Part behind = PieceOf(part, at + 1, part.operators.size(), "output");
    before.entry = part.entry;
    behind.exit = part.exit;
    behind.losses = part.losses;
    RankPart first = PartOf(before, o, again);
    const RankPart whole = PartOf(middle, o, again);
    const RankPart last = PartOf(behind, o, again);

    const double share = ShareOf(core.split, o) * o.microBatch;
    const double tokens = core.queries.At(1, o.Sequence()) / o.context;
    const double value = core.valueSize > 0 ? core.valueSize : core.headSize;
    const double keysAndValues = core.kvHeads * (core.headSize + value) * share * tokens;
    using coll::Op;
    std::vector<RankPart> parts{std::move(first)};
    switch (o.contextExchange)
    {
    case ContextExchange::kAllGather: {
        RankPart one = whole;
        const Exchange gather{Op::kAllGather,
                              GroupOf::kContext,
                              ActivationBytes(o, keysAndValues * o.context)};
        one.beforeForward = {gather};
        one.beforeBackward = {gather};
        one.afterBackward = {{Op::kReduceScatter, GroupOf::kContext, gather.bytes}};
        parts.push_back(std::move(one));
        break;
    }
    case ContextExchange::kUlysses: {
        RankPart one = whole;
        const Exchange in{
            Op::kAllToAll,
            GroupOf::kContext,
            ActivationBytes(o, keysAndValues + core.heads * core.headSize * share * tokens)};
        const Exchange out{Op::kAllToAll,
                           GroupOf::kContext,
                           ActivationBytes(o, core.heads * value * share * tokens)};
        one.beforeForward = {in};
        one.afterForward = {out};
        one.beforeBackward = {out};
        one.afterBackward = {in};
        parts.push_back(std::move(one));
        break;
    }
    case ContextExchange::kRing:
        for (uint32_t i = 0; i < o.context; ++i)
        {
            RankPart one = whole;
            one.name += " " + std::to_string(i + 1);
            for (double* seconds : {&one.forward, &one.again, &one.backwardInput})
            {
                *seconds /= o.context;
            }
            const Exchange shift{Op::kSendRecv,
                                 GroupOf::kContext,
                                 ActivationBytes(o, keysAndValues)};
            const Exchange both{Op::kSendRecv, GroupOf::kContext, 2 * shift.bytes};
            // Backward goes through the parts from the last to the first.
            if (i + 1 < o.context)
            {
                one.besideForward = {shift};
            }
            if (i > 0)
            {
                one.besideBackward = {both};
            }
            else
            {
                one.afterBackward = {shift};
            }
            parts.push_back(std::move(one));
        }
        break;
    }
    parts.push_back(last);
    return parts;
}

std::vector<RankPart>
SharedParts(const Part& part, const TrainingOptions& o, Again again)
{
    const auto& all = part.operators;
    const auto at = [&all](auto isFirst, std::size_t from) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from);
        return static_cast<std::size_t>(std::find_if(begin, all.end(), isFirst) - all.begin());
    };
    const auto isShared = [](const Operator& op) { return (op.modules & kModuleShared) != 0; };
    const std::size_t routed = at([](const Operator& op) { return op.expert; }, 0);
    const std::size_t routedEnd = at([](const Operator& op) { return !op.expert; }, routed);
    const std::size_t shared = at(isShared, routedEnd);
    const std::size_t sharedEnd = at([&](const Operator& op) { return !isShared(op); }, shared);
    const std::size_t output = at([](const Operator& op) { return op.dividesInner; }, shared);

    Part experts = PieceOf(part, routed, routedEnd, "");
    experts.routing = part.routing;
    Part entry = PieceOf(part, shared, output, "shared");
    entry.entry = part.entry;
    Part exit = PieceOf(part, output, sharedEnd, "shared output");
    exit.exit = part.exit;
    Part rest = PieceOf(part, sharedEnd, all.size(), "sum");
    rest.operators.insert(rest.operators.begin(),
                          all.begin() + static_cast<std::ptrdiff_t>(routedEnd),
                          all.begin() + static_cast<std::ptrdiff_t>(shared));
    std::vector<RankPart> parts{PartOf(PieceOf(part, 0, routed, "router"), o, again),
                                PartOf(entry, o, again),
                                PartOf(experts, o, again),
                                PartOf(exit, o, again),
                                PartOf(rest, o, again)};
    parts[1].apart = parts[3].apart = true;
    const auto move = [](Exchanges& from, Exchanges& to) {
        to.insert(to.end(), from.begin(), from.end());
        from.clear();
    };
    move(parts[2].beforeForward, parts[1].besideForward);
    move(parts[2].afterForward, parts[3].besideForward);
    move(parts[2].beforeBackward, parts[3].besideBackward);
    move(parts[2].afterBackward, parts[1].besideBackward);
    return parts;
}

RankPart
PartOf(const Part& part, const TrainingOptions& o, Again again)
{
    RankPart rank;
    rank.name = part.name;
    rank.forward = SecondsOf(part, Pass::kForward, o);
    rank.backwardInput = SecondsOf(part, Pass::kBackwardInput, o);
    rank.backwardWeights = SecondsOf(part, Pass::kBackwardWeights, o);
    rank.again = SecondsAgain(part, again, o);
    if (o.hostLaunch > 0 && rank.again > 0)
    {
        // The host launches the share of forward's kernels that the device repeats.
        const double device =
            SecondsOfShares(part, Pass::kForward, o, [](const Operator&) { return 1.0; });
        const double share = device > 0 ? std::min(rank.again / device, 1.0) : 1;
        rank.again =
            std::max(rank.again, share * LaunchesOf(part, Pass::kForward, o) * o.hostLaunch);
    }
    rank.exchangesAgain =
        again == Again::kModules && part.routing && (o.recomputeModules & kModuleMoe) != 0;
    AddTensorExchanges(part, o, rank);
    AddExpertExchanges(part, o, rank);
    AddTensorOverlap(part, o, rank);
    return rank;
}

} // namespace training
