/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RecoveryRun: who has failed, and who or what takes its place.
 */
#include "recovery-run.h"
#include "scenarios/asked/recovery.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/options/member.h"
#include "scenarios/training/steps/layout.h"

#include <algorithm>

namespace dltrain
{

namespace
{

using ns3::RdmaClock;
using scenario::Fault;
using scenario::FaultKind;

/// Whether it is there at a time, ps.
bool
IsThere(const Fault& fault, int64_t now)
{
    const int64_t since = now - fault.at.ps;
    if (since < 0 || (fault.length.ps > 0 && since >= fault.length.ps))
    {
        return false;
    }
    return fault.kind != FaultKind::kFlap || static_cast<double>(since % fault.period.ps) <
                                                 static_cast<double>(fault.period.ps) * fault.duty;
}

/// Whether it cuts what leaves a host by a link, at a time, ps.
bool
Cuts(const Fault& fault, topo::LinkId link, int64_t now)
{
    return fault.IsCut() && IsThere(fault, now) &&
           std::binary_search(fault.ends.begin(), fault.ends.end(), 2 * link);
}

} // namespace

std::set<coll::Rank>
RecoveryRun::StoppedRanks(int64_t sooner) const
{
    std::set<coll::Rank> ranks;
    const int64_t now = RdmaClock::Now();
    const uint32_t gpus = m_scenario.cluster.server.gpus;
    for (coll::Rank rank = 0; rank < m_scenario.plan.ranks; ++rank)
    {
        const auto* speed = scenario::SpeedAt(m_scenario, m_hosts[rank / gpus], rank);
        if (speed && !m_start.IsAbsent(rank) && now >= sooner && speed->IsStopped(now - sooner) &&
            speed->IsStopped(now))
        {
            ranks.insert(rank);
        }
    }
    return ranks;
}

bool
RecoveryRun::CutsOff(const Fault& fault, uint32_t host) const
{
    const topo::Topology& topology = m_scenario.cluster.topology;
    const auto& links = topology.Nodes()[topology.Hosts()[host]].ports;
    return std::any_of(links.begin(), links.end(), [&](topo::LinkId link) {
        return Cuts(fault, link, RdmaClock::Now());
    });
}

std::vector<uint32_t>
RecoveryRun::CutPorts(uint32_t host) const
{
    const topo::Topology& topology = m_scenario.cluster.topology;
    const auto& links = topology.Nodes()[topology.Hosts()[host]].ports;
    const std::vector<Fault>& faults = m_scenario.run.faults.faults;
    const int64_t now = RdmaClock::Now();
    std::vector<uint32_t> cut;
    for (uint32_t port = 0; port < links.size(); ++port)
    {
        const auto cuts = [&](const Fault& fault) { return Cuts(fault, links[port], now); };
        if (std::any_of(faults.begin(), faults.end(), cuts))
        {
            cut.push_back(port);
        }
    }
    return cut;
}

std::vector<uint32_t>
RecoveryRun::LostNics(uint32_t host) const
{
    const uint32_t planes = std::max(1U, m_scenario.cluster.topology.About().planes);
    std::vector<uint32_t> lost;
    for (const uint32_t port : CutPorts(host))
    {
        if (lost.empty() || lost.back() != port / planes)
        {
            lost.push_back(port / planes);
        }
    }
    return lost;
}

bool
RecoveryRun::HasLostNic(uint32_t host) const
{
    return !CutPorts(host).empty();
}

bool
RecoveryRun::IsCutOff(uint32_t host) const
{
    return m_spec.policy->repeats ? LostNics(host).size() == m_scenario.cluster.server.nics
                                  : HasLostNic(host);
}

bool
RecoveryRun::HasStopped(uint32_t spare) const
{
    const int64_t now = RdmaClock::Now();
    return std::any_of(m_spec.spareSpeeds.begin(), m_spec.spareSpeeds.end(), [&](const auto& of) {
        return of.first.host == spare && of.second.IsStopped(now);
    });
}

std::string
RecoveryRun::WhyMissed(std::size_t fault) const
{
    const auto found = m_spec.faultyGpus.find(fault);
    if (found == m_spec.faultyGpus.end())
    {
        return {};
    }
    const uint32_t gpus = m_scenario.cluster.server.gpus;
    const uint32_t host = found->second.host;
    const auto rankAt = [&](const std::vector<uint32_t>& hosts) {
        const auto server = std::find(hosts.begin(), hosts.end(), host) - hosts.begin();
        return static_cast<coll::Rank>(server) * gpus + found->second.gpu;
    };
    const coll::Rank rank = rankAt(m_hosts);
    if (rank < m_scenario.plan.ranks)
    {
        return m_start.IsAbsent(rank) ? "rank " + std::to_string(rank) + " has left the job" : "";
    }
    const coll::Rank before = rankAt(m_scenario.cluster.hostOfServer);
    return before < m_scenario.plan.ranks
               ? "rank " + std::to_string(before) + " has moved to " +
                     NameOf(m_hosts[before / gpus])
               : NameOf(host) + " is a spare that nobody has taken so far";
}

bool
RecoveryRun::IsInUse(uint32_t server) const
{
    const uint32_t gpus = m_scenario.cluster.server.gpus;
    for (coll::Rank rank = server * gpus; rank < (server + 1) * gpus; ++rank)
    {
        if (!m_start.IsAbsent(rank))
        {
            return true;
        }
    }
    return false;
}

std::vector<std::string>
RecoveryRun::LostPorts() const
{
    const uint32_t planes = std::max(1U, m_scenario.cluster.topology.About().planes);
    std::vector<std::string> names;
    for (uint32_t server = 0; server < m_hosts.size(); ++server)
    {
        if (!IsInUse(server) || IsCutOff(m_hosts[server]))
        {
            continue;
        }
        // On several planes a NIC that lost a cable is out of use with all of its ports.
        for (const uint32_t nic : LostNics(m_hosts[server]))
        {
            for (uint32_t port = nic * planes; port < (nic + 1) * planes; ++port)
            {
                names.push_back(NameOf(m_hosts[server]) + ":" + std::to_string(port));
            }
        }
    }
    return names;
}

bool
RecoveryRun::Stops(std::size_t fault, const std::set<coll::Rank>& stopped) const
{
    const auto found = m_spec.faultyGpus.find(fault);
    const Fault& what = m_scenario.run.faults.faults[fault];
    if (found == m_spec.faultyGpus.end() || what.kind != FaultKind::kGpuStop ||
        !IsThere(what, RdmaClock::Now()))
    {
        return false;
    }
    const uint32_t gpus = m_scenario.cluster.server.gpus;
    return std::any_of(stopped.begin(), stopped.end(), [&](coll::Rank rank) {
        return m_hosts[rank / gpus] == found->second.host && rank % gpus == found->second.gpu;
    });
}

bool
RecoveryRun::SlowsDown(std::size_t fault) const
{
    const Fault& what = m_scenario.run.faults.faults[fault];
    const int64_t now = RdmaClock::Now();
    const bool wasThere =
        what.at.ps <= now &&
        (what.length.ps == 0 || what.at.ps + what.length.ps > now - m_spec.watchdog.ps);
    return !what.IsCut() && what.kind != FaultKind::kGpuStop && wasThere &&
           WhyMissed(fault).empty();
}

RecoveryRun::Failed
RecoveryRun::FindFailed() const
{
    Failed failed;
    failed.stopped = StoppedRanks(0);
    failed.ranks = failed.stopped;
    const uint32_t gpus = m_scenario.cluster.server.gpus;
    for (uint32_t server = 0; server < m_hosts.size(); ++server)
    {
        if (!IsInUse(server))
        {
            continue;
        }
        const bool cut = IsCutOff(m_hosts[server]);
        for (coll::Rank rank = server * gpus; rank < (server + 1) * gpus; ++rank)
        {
            if (!m_start.IsAbsent(rank) && (cut || failed.stopped.count(rank)))
            {
                failed.servers.insert(server);
                failed.ranks.insert(rank);
            }
        }
        if (cut)
        {
            failed.cutOff.insert(server);
        }
        else if (HasLostNic(m_hosts[server]))
        {
            failed.lame.insert(server);
        }
    }
    return failed;
}

std::string
RecoveryRun::WhyNotRebuilt(const Failed& failed) const
{
    if (failed.ranks.empty())
    {
        return {};
    }
    const training::TrainingOptions& options = m_scenario.options;
    const training::Layout layout = options.GetLayout();
    if (options.sharding.optimizer)
    {
        return "ZeRO stage " + std::to_string(options.sharding.Stage()) +
               " has shards of the states on every rank, and those of the ranks that failed are "
               "lost";
    }
    if (options.Data() != m_scenario.plan.ranks)
    {
        return "a replica of the model takes several ranks, and what those that failed had of it "
               "is "
               "lost";
    }
    if (layout.expert > 1 || layout.ExpertTensor() != layout.tensor)
    {
        return "experts are shared out among replicas, and those of the ranks that failed are lost";
    }
    if (layout.local > 0)
    {
        return "gradients are reduced in groups of equal size first";
    }
    uint32_t left = 0;
    for (coll::Rank rank = 0; rank < m_scenario.plan.ranks; ++rank)
    {
        left += !m_start.IsAbsent(rank) && !failed.ranks.count(rank);
    }
    return left == 0 ? "no rank is left" : WhyNoCollectives(failed.ranks);
}

std::string
RecoveryRun::WhyNoCollectives(const std::set<coll::Rank>& without) const
{
    const training::TrainingPlan& plan = m_scenario.plan;
    for (std::size_t kind = 0; kind < plan.groupKinds.size(); ++kind)
    {
        for (std::vector<coll::Rank> group : plan.groupKinds[kind].groups)
        {
            const auto isGone = [&](coll::Rank rank) {
                return m_start.IsAbsent(rank) || without.count(rank);
            };
            group.erase(std::remove_if(group.begin(), group.end(), isGone), group.end());
            const coll::Placement placement = scenario::PlacementOf(m_scenario.cluster, group);
            for (const training::StepGraph& role : plan.roles)
            {
                for (const training::Task& task : role.tasks)
                {
                    if (group.empty() || task.kind != training::TaskKind::kCollective ||
                        task.group != kind)
                    {
                        continue;
                    }
                    coll::Collective what;
                    what.op = task.op;
                    what.bytes = task.bytes;
                    what.ranks = static_cast<coll::Rank>(group.size());
                    const scenario::CollectiveOptions& options = m_scenario.collectives;
                    const std::string why =
                        scenario::ChoiceOf(options, what, placement)
                            .algorithm->WhyNot(what, placement, options.OptionsFor(what.op));
                    if (!why.empty())
                    {
                        return "those that are left cannot do \"" + task.name + "\": " + why;
                    }
                }
            }
        }
    }
    return {};
}

Places::NicsInUse
RecoveryRun::FindNics() const
{
    const uint32_t all = m_scenario.cluster.server.nics;
    Places::NicsInUse left(m_hosts.size());
    std::vector<uint32_t> common; // common to all servers, so that rails stay separate
    std::size_t least = all;
    for (uint32_t nic = 0; nic < all; ++nic)
    {
        common.push_back(nic);
    }
    for (uint32_t server = 0; server < m_hosts.size(); ++server)
    {
        const std::vector<uint32_t> lost =
            IsInUse(server) ? LostNics(m_hosts[server]) : std::vector<uint32_t>();
        for (uint32_t nic = 0; nic < all; ++nic)
        {
            if (!std::binary_search(lost.begin(), lost.end(), nic))
            {
                left[server].push_back(nic);
            }
        }
        least = std::min(least, left[server].size());
        common.erase(std::remove_if(common.begin(),
                                    common.end(),
                                    [&lost](uint32_t nic) {
                                        return std::binary_search(lost.begin(), lost.end(), nic);
                                    }),
                     common.end());
    }
    if (common.size() == all || least == 0)
    {
        return {};
    }
    for (std::vector<uint32_t>& nics : left)
    {
        // Without a NIC that all have each takes as many as the one that has fewest.
        if (common.empty())
        {
            nics.resize(least);
        }
        else
        {
            nics = common;
        }
    }
    return left;
}

std::string
RecoveryRun::WhyNoRails() const
{
    const topo::Description& about = m_scenario.cluster.topology.About();
    const Places::NicsInUse nics = NicsNow();
    if (!about.railsApart || nics.empty())
    {
        return {};
    }
    const std::vector<uint32_t>* first = nullptr;
    for (uint32_t server = 0; server < m_hosts.size(); ++server)
    {
        if (!IsInUse(server))
        {
            continue;
        }
        first = first ? first : &nics[server];
        const bool same = std::equal(first->begin(),
                                     first->end(),
                                     nics[server].begin(),
                                     nics[server].end(),
                                     [&about](uint32_t one, uint32_t other) {
                                         return one % about.rails == other % about.rails;
                                     });
        if (!same)
        {
            return "no NIC is left that all servers have, and nothing joins the rails of this "
                   "network";
        }
    }
    return {};
}

int64_t
RecoveryRun::FindBegin(const Failed& failed, bool late)
{
    const int64_t now = RdmaClock::Now();
    const std::vector<Fault>& faults = m_scenario.run.faults.faults;
    const auto cuts = [this](const Fault& fault, const std::set<uint32_t>& servers) {
        return std::any_of(servers.begin(), servers.end(), [&](uint32_t server) {
            return CutsOff(fault, m_hosts[server]);
        });
    };
    bool newNic = false; // is lost, and the server goes on
    bool newCut = false; // of a server that is cut off now
    for (std::size_t i = 0; i < faults.size(); ++i)
    {
        newNic = newNic || (!m_seen.count(i) && cuts(faults[i], failed.lame));
        newCut = newCut || (!m_seen.count(i) && cuts(faults[i], failed.cutOff));
    }
    int64_t begin = -1;
    for (std::size_t i = 0; i < faults.size(); ++i)
    {
        const Fault& fault = faults[i];
        if (fault.at.ps > now)
        {
            continue;
        }
        const bool isNew = m_seen.insert(i).second;
        // The faults that made servers fail; if none did, those of NICs; if none did, those that
        // may have lost or held up frames.
        bool explains;
        if (failed.servers.empty())
        {
            explains =
                isNew && (newNic ? cuts(fault, failed.lame) : fault.kind != FaultKind::kGpuSlow);
        }
        else
        {
            // (A NIC that was lost before is no cause of it, if another one is.)
            explains =
                Stops(i, failed.stopped) || (cuts(fault, failed.cutOff) && (isNew || !newCut));
        }
        if (explains)
        {
            begin = begin < 0 ? fault.at.ps : std::min(begin, fault.at.ps);
        }
    }
    // A new fault explains more than an old one that the job has lived with.
    int64_t slow = -1;
    for (std::size_t i = 0; begin < 0 && late && i < faults.size(); ++i)
    {
        if (SlowsDown(i) && (slow < 0 || faults[i].at.ps < slow))
        {
            slow = faults[i].at.ps;
        }
    }
    if (begin >= 0 || slow >= 0 || !failed.servers.empty())
    {
        return std::max(begin, slow);
    }
    // A storage server that stays cut off, say, fails the job again and again.
    for (const Fault& fault : faults)
    {
        if (StillFailsMessages(fault) && (begin < 0 || fault.at.ps < begin))
        {
            begin = fault.at.ps;
        }
    }
    return begin;
}

bool
RecoveryRun::StillFailsMessages(const Fault& fault) const
{
    const bool fails = fault.IsCut() || fault.kind == FaultKind::kBitErrors ||
                       fault.kind == FaultKind::kDrop || fault.kind == FaultKind::kPauseStorm;
    // Until a queue pair's last retry has gone by, also of a fault that has ended.
    const int64_t patience = std::max<int64_t>(0, m_results.queuePairPs);
    const int64_t now = RdmaClock::Now();
    if (!fails || fault.at.ps > now ||
        (fault.length.ps > 0 && fault.at.ps + fault.length.ps + patience <= now))
    {
        return false;
    }
    const topo::Topology& topology = m_scenario.cluster.topology;
    const auto isUsed = [&](uint32_t host) {
        const auto& storage = m_spec.checkpointHosts;
        if (std::find(storage.begin(), storage.end(), host) != storage.end())
        {
            return true;
        }
        const auto at = std::find(m_hosts.begin(), m_hosts.end(), host);
        // (A NIC that is cut is one that its server goes on without, or it had failed.)
        return at != m_hosts.end() && IsInUse(static_cast<uint32_t>(at - m_hosts.begin())) &&
               !fault.IsCut();
    };
    return std::any_of(fault.ends.begin(), fault.ends.end(), [&](uint32_t end) {
        const topo::Link& link = topology.Links()[end / 2];
        for (const topo::NodeId node : {link.a, link.b})
        {
            const auto& hosts = topology.Hosts();
            const auto host = std::find(hosts.begin(), hosts.end(), node);
            if (host != hosts.end())
            {
                return isUsed(static_cast<uint32_t>(host - hosts.begin()));
            }
        }
        return true; // between switches
    });
}

std::string
RecoveryRun::Replace(const std::set<uint32_t>& servers, reports::RecoveryRecord* record)
{
    const uint32_t gpus = m_scenario.cluster.server.gpus;
    m_start.moved.resize(m_scenario.plan.ranks);
    for (const uint32_t server : servers)
    {
        const auto works = [this](uint32_t host) { return !HasLostNic(host) && !HasStopped(host); };
        const auto spare = std::find_if(m_spares.begin(), m_spares.end(), works);
        if (spare == m_spares.end())
        {
            record->spares.clear(); // the job goes on nowhere
            return "no spare server works that could take the place of " + NameOf(m_hosts[server]) +
                   " (" + scenario::Spell(&scenario::asked::Recovery::spares) + "=" +
                   std::to_string(m_spec.spares.size()) + ")";
        }
        record->spares.push_back(NameOf(*spare));
        m_hosts[server] = *spare;
        m_spares.erase(spare);
        std::fill_n(m_start.moved.begin() + server * gpus, gpus, true);
    }
    return {};
}

std::string
RecoveryRun::Leave(const std::set<coll::Rank>& ranks, reports::RecoveryRecord* record)
{
    const training::Layout layout = m_scenario.options.GetLayout();
    std::set<uint32_t> replicas;
    for (const coll::Rank rank : ranks)
    {
        replicas.insert(training::PlaceOf(layout, rank).data);
    }
    m_start.absent.resize(m_scenario.plan.ranks);
    for (coll::Rank rank = 0; rank < m_scenario.plan.ranks; ++rank)
    {
        if (!m_start.absent[rank] && replicas.count(training::PlaceOf(layout, rank).data))
        {
            m_start.absent[rank] = true;
            m_leaving.push_back(rank);
            record->left.push_back(rank);
        }
    }
    m_results.ranks -= static_cast<uint32_t>(record->left.size());
    return m_results.ranks == 0 ? "no replica of the model is left" : "";
}

} // namespace dltrain
