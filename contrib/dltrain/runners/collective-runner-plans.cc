/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * CollectiveRunner: its communicators, and the plan of each collective of theirs.
 */
#include "collective-runner-at-once.h"
#include "collective-runner-cookies.h"
#include "collective-runner-recall.h"
#include "collective-runner.h"
#include "collectives/aggregation/aggregation.h"
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "collectives/tuner/possible-choices.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/fabric-switches.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/rail-options.h"

#include "ns3/rdma-event.h"
#include "ns3/rdma-owner.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <utility>

namespace dltrain
{

namespace
{

/// Whether several ranks are in one server.
bool
SharesServers(const coll::Placement& placement)
{
    const std::set<uint32_t> servers(placement.serverOf.begin(), placement.serverOf.end());
    return servers.size() < placement.serverOf.size();
}

} // namespace

uint32_t
CollectiveRunner::AddCommunicator(std::vector<Rank> ranks, uint8_t priority)
{
    const auto number = static_cast<uint32_t>(m_communicators.size());
    if (number == MOST_COMMUNICATORS)
    {
        throw std::length_error("more than 2^24 communicators");
    }
    Communicator& comm = m_communicators.emplace_back();
    comm.priority = priority;
    comm.placement = scenario::PlacementOf(m_cluster, ranks);
    for (const Rank rank : ranks)
    {
        AddMember(number, Kind::RANK, rank);
    }
    comm.ranks = std::move(ranks);
    AddNodes(number);
    return number;
}

void
CollectiveRunner::AddMember(uint32_t communicator, Kind kind, Rank place)
{
    Communicator& comm = m_communicators[communicator];
    const Places& places = m_interconnect.GetPlaces();
    Member& member = comm.members.emplace_back();
    member.communicator = communicator;
    member.position = static_cast<Rank>(comm.members.size() - 1);
    member.kind = kind;
    member.rank = place;
    member.server = places.ServerOf(place);
    member.context = places.ContextOf(place);
}

void
CollectiveRunner::AddNodes(uint32_t communicator)
{
    Communicator& comm = m_communicators[communicator];
    const Places& places = m_interconnect.GetPlaces();
    const auto add = [&](const coll::NetworkNode& node, Kind kind, Rank place) {
        const auto position = static_cast<Rank>(comm.members.size());
        if (comm.nodes.try_emplace(NodeKey(node), position).second)
        {
            AddMember(communicator, kind, place);
        }
    };
    for (const uint32_t server : comm.placement.serverOf)
    {
        if (comm.placement.serverSwitchAdds)
        {
            add({coll::NetworkNode::kServerSwitch, server},
                Kind::SERVER_SWITCH,
                places.PlaceOfSwitch(server));
            add({coll::NetworkNode::kServerCopier, server},
                Kind::SERVER_SWITCH,
                places.PlaceOfCopier(server));
        }
        for (const coll::AggregationTree& tree : comm.placement.aggregation)
        {
            for (uint32_t station = tree.stationOf[server]; station != coll::AggregationTree::kNone;
                 station = tree.parent[station])
            {
                add({coll::NetworkNode::kFabricSwitch, tree.nodes[station]},
                    Kind::FABRIC_SWITCH,
                    places.PlaceOfUnit(tree.nodes[station]));
            }
        }
    }
}

uint32_t
CollectiveRunner::GetNRanks(uint32_t communicator) const
{
    return static_cast<uint32_t>(m_communicators[communicator].ranks.size());
}

uint64_t
CollectiveRunner::GetBytes() const
{
    uint64_t bytes = CountRelayed();
    for (const Communicator& comm : m_communicators)
    {
        for (const Member& member : comm.members)
        {
            bytes += member.kind == Kind::RANK ? member.bytesSent : 0;
        }
    }
    return bytes;
}

std::string
CollectiveRunner::WhyNot(uint32_t communicator, const coll::Collective& what) const
{
    const Communicator& comm = m_communicators[communicator];
    const coll::Choice choice = scenario::ChoiceOf(m_options, what, comm.placement);
    return choice.algorithm->WhyNot(what, comm.placement, m_options.OptionsFor(what.op, choice));
}

bool
CollectiveRunner::MayAggregate(Communicator& comm)
{
    if (!comm.mayAggregate)
    {
        const std::set<uint32_t> servers(comm.placement.serverOf.begin(),
                                         comm.placement.serverOf.end());
        std::set<uint32_t> units;
        for (const coll::AggregationTree& tree : comm.placement.aggregation)
        {
            // Those that have something to add up for this group.
            const coll::AggregationTree its = coll::Pruned(tree, {servers.begin(), servers.end()});
            units.insert(its.nodes.begin(), its.nodes.end());
        }
        comm.mayAggregate = m_interconnect.TakeAggregation({units.begin(), units.end()});
    }
    return *comm.mayAggregate;
}

coll::Choice
CollectiveRunner::Choose(Communicator& comm, const coll::Collective& what)
{
    const coll::Choice choice = scenario::ChoiceOf(m_options, what, comm.placement);
    if (!choice.algorithm->Uses().fabricSwitches || comm.placement.aggregation.empty() ||
        !coll::HasSeveralServers(comm.placement) || MayAggregate(comm))
    {
        return choice;
    }
    scenario::CollectiveOptions without = m_options;
    scenario::LeaveSwitchesOut(&without);
    return scenario::ChoiceOf(without, what, comm.placement);
}

const CollectiveRunner::Plan*
CollectiveRunner::FindPlan(uint32_t communicator, const coll::Collective& what) const
{
    const auto [begin, end] = m_communicators[communicator].plans.equal_range(what.bytes);
    const auto found = std::find_if(begin, end, [&what](const auto& known) {
        return known.second.schedule->What() == what;
    });
    return found == end ? nullptr : &found->second;
}

void
CollectiveRunner::Prepare(uint32_t communicator, const coll::Collective& what)
{
    ns3::RdmaOwner::Check(ns3::Simulator::NO_CONTEXT, "makes a schedule for the ranks");
    if (FindPlan(communicator, what))
    {
        return;
    }
    Communicator& comm = m_communicators[communicator];
    const coll::Choice choice = Choose(comm, what);
    Plan plan = MakePlan(
        choice,
        choice.algorithm->Make(what, comm.placement, m_options.OptionsFor(what.op, choice)),
        comm);
    plan.number = static_cast<uint32_t>(comm.numbered.size());
    plan.id = ++m_plans;
    Plan& kept = comm.plans.emplace(what.bytes, std::move(plan))->second;
    if (m_recall)
    {
        m_recall->Add(communicator, &kept);
    }
    if (choice.algorithm->Uses().fabricSwitches)
    {
        if (kept.number == MOST_NUMBERED)
        {
            throw std::length_error("more than " + std::to_string(MOST_NUMBERED) +
                                    " different collectives of one group in switches");
        }
        comm.numbered.push_back(&kept);
    }
}

bool
CollectiveRunner::CanBeLimited(const Plan& plan, const coll::Placement& placement) const
{
    return coll::MaySlowDown(plan.rates,
                             *plan.algorithm,
                             plan.schedule->What().op,
                             placement,
                             m_options.MachineFor(placement));
}

CollectiveRunner::Plan
CollectiveRunner::MakePlan(const coll::Choice& choice,
                           std::unique_ptr<const coll::Schedule> schedule,
                           const Communicator& comm) const
{
    Plan plan{choice.algorithm,
              std::move(schedule),
              choice.protocol,
              LibraryTimes::Of(m_options,
                               m_options.MachineFor(comm.placement),
                               choice.protocol,
                               coll::HasSeveralServers(comm.placement))};
    plan.times.nics = std::min(plan.times.nics, m_cluster.server.nics);
    plan.parts = plan.schedule->PartsOfMessage();
    const coll::Op op = plan.schedule->What().op;
    plan.ownNics = scenario::OwnNics(m_options, *choice.algorithm, op);
    plan.ownNic = plan.ownNics || (choice.protocol && op == coll::Op::kSendRecv);
    plan.times.nics = plan.ownNics ? 0 : plan.times.nics;
    if (choice.protocol == topo::Protocol::kExchange)
    {
        plan.rates = coll::ExchangeRates(comm.placement, m_options.MachineFor(comm.placement));
        plan.limited = CanBeLimited(plan, comm.placement);
    }
    plan.between = coll::HasSeveralServers(comm.placement);
    if (m_options.insideByFormula && (m_options.allByFormula || !plan.between))
    {
        TakeFormula(&plan, comm.placement);
    }
    TakeTimetable(&plan, comm);
    for (const coll::NetworkNode& node : plan.schedule->NetworkNodes())
    {
        plan.positions.push_back(comm.nodes.at(NodeKey(node)));
    }
    // Times of relays are whole picoseconds, and their GPUs pass on at once.
    plan.relays = !m_options.insideOneByOne && m_options.stepLatency.ps == 0 &&
                  ns3::RdmaClock::TickAt(1) == 1 && ns3::RdmaClock::TicksToPs(1) == 1 &&
                  plan.schedule->PassesOn() && choice.protocol != topo::Protocol::kExchange &&
                  coll::HasSeveralServers(comm.placement) && SharesServers(comm.placement);
    plan.atOnce = AtOnce::Suits(*this, comm, plan);
    return plan;
}

void
CollectiveRunner::Forget(uint32_t communicator)
{
    m_communicators[communicator].plans.clear();
    m_communicators[communicator].numbered.clear();
}

} // namespace dltrain
