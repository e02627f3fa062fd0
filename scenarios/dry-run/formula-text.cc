/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/dry-run/formula-text.h"

#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/options/format.h"

#include <algorithm>

namespace scenario
{

std::optional<coll::IdleLink>
IdleLinkOf(const CollperfScenario& s)
{
    const FabricSpec& fabric = s.fabric;
    const coll::Machine& machine = s.collectives.machine;
    if (fabric.infiniBand || machine.hasLibrary || s.ranks != s.cluster.servers ||
        machine.nics != 1 || machine.outsideLatency <= 0 || s.collectives.stepLatency.ps > 0)
    {
        return std::nullopt;
    }
    coll::IdleLink link;
    link.latency = machine.outsideLatency;
    link.perByte = 1 / machine.nicRate;
    link.switches = machine.switches;
    link.packet = fabric.mtu;
    link.header = fabric.frames.FullWire(fabric.mtu) - fabric.mtu;
    link.first = fabric.frames.rethBytes;
    link.last = fabric.frames.immediateBytes;
    link.answer = fabric.frames.ackWire;
    link.packetsAnAnswer = fabric.ackEvery;
    return link;
}

std::string
FormulaText(const CollperfScenario& s, const std::vector<coll::Collective>& whats)
{
    const coll::Placement placement = RankPlacement(s.cluster);
    const std::optional<coll::IdleLink> link = IdleLinkOf(s);
    constexpr const char* kLine = "  %-20s%15s%10s%10s%10s%10s%17s%17s%17s%15s\n";
    std::string text = "\nBy formula (collectives/core/cost.h)\n" + Format(kLine,
                                                                           "algorithm",
                                                                           "size",
                                                                           "chain",
                                                                           "outside",
                                                                           "posts",
                                                                           "messages",
                                                                           "serial_bytes",
                                                                           "out_of_server",
                                                                           "at_server",
                                                                           "idle_us");
    for (const coll::Collective& what : whats)
    {
        const coll::Choice choice = ChoiceOf(s.collectives, what, placement);
        const coll::Algorithm& algorithm = *choice.algorithm;
        const std::optional<coll::Cost> cost =
            algorithm.CostOf(what, placement, s.collectives.OptionsFor(what.op, choice));
        const std::optional<double> seconds =
            link ? coll::IdleSeconds(algorithm,
                                     what,
                                     placement,
                                     s.collectives.OptionsFor(what.op, choice),
                                     *link)
                 : std::nullopt;
        const auto cell = [&](double value) { return cost ? Format("%.0f", value) : "-"; };
        const coll::Cost c = cost.value_or(coll::Cost());
        const uint64_t outside = s.cluster.servers > 1 ? std::min(c.chain, c.chainOutside) : 0;
        text += Format(kLine,
                       algorithm.Name().c_str(),
                       std::to_string(what.bytes).c_str(),
                       cell(static_cast<double>(c.chain)).c_str(),
                       cell(static_cast<double>(outside)).c_str(),
                       cell(static_cast<double>(c.posts)).c_str(),
                       cell(static_cast<double>(std::max(c.posts, c.receives))).c_str(),
                       cell(c.serialBytes).c_str(),
                       cell(c.outOfServer).c_str(),
                       cell(std::max(c.outOfServer, c.intoServer)).c_str(),
                       seconds ? Format("%.3f", *seconds * 1e6).c_str() : "-");
    }
    return text;
}

} // namespace scenario
