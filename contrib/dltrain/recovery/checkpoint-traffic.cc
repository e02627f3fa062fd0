/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "checkpoint-traffic.h"

#include "ns3/node-windows.h"

#include <utility>

namespace dltrain
{

namespace
{

/// The cookie of the end that is not counted.
constexpr uint64_t UNCOUNTED = UINT64_MAX;

} // namespace

CheckpointTraffic::CheckpointTraffic(const scenario::TrainingScenario& scenario,
                                     FabricRun& run,
                                     std::function<void(const std::string& what)> onFailure)
    : m_scenario(scenario),
      m_spec(*scenario.run.recovery),
      m_run(run),
      m_onFailure(std::move(onFailure)),
      m_tag(run.Collector().Tag("checkpoint"))
{
}

MessageRunner&
CheckpointTraffic::Connect(const Where& where)
{
    if (m_connected && m_wirings.back().where == where)
    {
        return *m_wirings.back().messages;
    }
    Wiring& wiring = m_wirings.emplace_back();
    wiring.where = where;
    wiring.cluster = std::make_unique<scenario::ClusterSpec>(m_scenario.cluster);
    scenario::ClusterSpec& cluster = *wiring.cluster;
    Places::NicsInUse nics = where.nics;
    cluster.hostOfServer = where.hosts;
    for (const uint32_t host : m_spec.checkpointHosts)
    {
        cluster.hostOfServer.push_back(host);
        if (!where.nics.empty())
        {
            nics.push_back(where.nics.front());
        }
    }
    cluster.servers = static_cast<uint32_t>(cluster.hostOfServer.size());
    if (!nics.empty())
    {
        cluster.server.nics = static_cast<uint32_t>(nics.front().size());
    }
    wiring.interconnect = m_run.Connect(cluster, std::move(nics));
    wiring.messages = std::make_unique<MessageRunner>(*wiring.interconnect, m_options, *this);
    wiring.messages->SetFailureListener(m_onFailure);
    wiring.messages->SetNames([this, &cluster](Rank rank) {
        if (rank < m_scenario.plan.ranks)
        {
            return "rank " + std::to_string(rank);
        }
        const topo::Topology& topology = m_scenario.cluster.topology;
        const uint32_t host = cluster.hostOfServer[rank / m_scenario.cluster.server.gpus];
        return "storage server " + topology.Nodes()[topology.Hosts()[host]].name;
    });
    m_connected = true;
    return *wiring.messages;
}

void
CheckpointTraffic::Write(const Where& where, std::function<void()> done)
{
    Begin(true, where, std::move(done));
}

void
CheckpointTraffic::Read(const Where& where, std::function<void()> done)
{
    Begin(false, where, std::move(done));
}

void
CheckpointTraffic::Begin(bool writes, const Where& where, std::function<void()> done)
{
    MessageRunner& messages = Connect(where);
    const int64_t now = ns3::RdmaClock::Now();
    const uint32_t gpus = m_scenario.cluster.server.gpus;
    const auto servers = static_cast<uint32_t>(where.hosts.size());
    const auto storage = static_cast<uint32_t>(m_spec.checkpointHosts.size());
    ++m_transfer;
    m_done = std::move(done);
    const std::vector<uint64_t> bytesOf = writes ? m_spec.checkpoint.WrittenBy(where.absent)
                                                 : m_spec.checkpoint.ReadBy(gpus, where.absent);
    for (Rank rank = 0; rank < m_scenario.plan.ranks; ++rank)
    {
        if (bytesOf[rank] == 0)
        {
            continue;
        }
        ++m_left;
        const Rank there = (servers + rank / gpus % storage) * gpus + rank % gpus;
        MessageOrder order;
        order.from = writes ? rank : there;
        order.to = writes ? there : rank;
        messages.Receive(order, writes ? UNCOUNTED : m_transfer, now);
        messages.Send(order, bytesOf[rank], m_tag, writes ? m_transfer : UNCOUNTED, now);
    }
}

void
CheckpointTraffic::Abort()
{
    m_left = 0;
    ++m_transfer;
    m_done = nullptr;
    if (std::exchange(m_connected, false))
    {
        m_wirings.back().messages->Abort();
        m_wirings.back().interconnect->Abort();
    }
}

void
CheckpointTraffic::OnMessageDone(Rank, uint64_t cookie, int64_t, int64_t, reports::PathRecord*)
{
    if (cookie != UNCOUNTED)
    {
        ns3::NodeWindows::Note<&CheckpointTraffic::TellDone>(this, cookie);
    }
}

void
CheckpointTraffic::TellDone(const uint64_t& transfer)
{
    if (transfer == m_transfer && --m_left == 0)
    {
        m_run.Decide([this, transfer] {
            if (transfer == m_transfer)
            {
                std::exchange(m_done, nullptr)();
            }
        });
    }
}

std::vector<std::string>
CheckpointTraffic::DescribeUnfinished() const
{
    return m_left > 0 ? m_wirings.back().messages->DescribeUnfinished()
                      : std::vector<std::string>();
}

} // namespace dltrain
