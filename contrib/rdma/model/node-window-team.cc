/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-window-team.h"

#include "node-window-crew.h"
#include "node-window-outlook.h"
#include "rdma-port.h"

#include <algorithm>
#include <chrono>
#include <system_error>

namespace ns3
{

NodeWindowTeam::NodeWindowTeam(std::deque<Unit>& units)
    : m_units(units)
{
    m_shards.push_back(std::make_unique<NodeWindowShard>(0, 1));
}

NodeWindowTeam::~NodeWindowTeam() = default;

void
NodeWindowTeam::SetThreads(uint32_t threads, bool always)
{
    m_threads = std::clamp(threads, 1U, MAX_THREADS);
    m_always = always;
}

uint64_t
NodeWindowTeam::GetEventCount() const
{
    uint64_t count = m_eventsBefore;
    for (const auto& shard : m_shards)
    {
        count += shard->GetEventCount();
    }
    return count;
}

void
NodeWindowTeam::Begin(uint32_t most)
{
    m_pace.Reset(m_always);
    const uint32_t threads = std::max(1U, std::min(GetThreads(), most));
    if (threads == m_shards.size())
    {
        return;
    }
    DeliverPosts();
    m_eventsBefore = GetEventCount();
    m_shards.clear();
    for (uint32_t i = 0; i < threads; ++i)
    {
        m_shards.push_back(std::make_unique<NodeWindowShard>(i, threads));
        m_shards.back()->Reset(m_window, m_bucket);
    }
    for (Unit& unit : m_units)
    {
        Assign(unit, 0);
    }
    m_deal = threads > 1 ? std::make_unique<NodeWindowDeal>(threads, m_always) : nullptr;
}

void
NodeWindowTeam::End()
{
    m_parallel = false;
    m_crew = nullptr;
}

// Units -------------------------------------------------------------------------------------------

void
NodeWindowTeam::SetWindow(int64_t window, int64_t base)
{
    DeliverPosts();
    // Bins are of windows as they were.
    std::vector<std::pair<Unit*, Mail>> mail;
    for (Unit& unit : m_units)
    {
        unit.shard->EmptyBins(unit, [&](const Mail& of) { mail.emplace_back(&unit, of); });
    }
    m_window = window;
    m_bucket = base;
    RegisterAll();
    for (const auto& [unit, of] : mail)
    {
        unit->shard->Add(*unit, of);
    }
}

void
NodeWindowTeam::RegisterAll()
{
    DeliverPosts();
    NodeWindowOutlook::isLarge = m_units.size() >= NodeWindowOutlook::LARGE;
    for (const auto& shard : m_shards)
    {
        shard->Reset(m_window, m_bucket);
    }
    for (Unit& unit : m_units)
    {
        unit.bucket = Unit::NEVER;
        unit.shard->RegisterNext(unit);
        for (const Mail& mail : unit.inbox)
        {
            unit.shard->Register(unit, mail.ts);
        }
    }
}

int64_t
NodeWindowTeam::FirstBucket()
{
    int64_t first = Unit::NEVER;
    for (const auto& shard : m_shards)
    {
        first = std::min(first, shard->FirstBucket());
    }
    return first;
}

void
NodeWindowTeam::DeliverPosts()
{
    for (const auto& to : m_shards)
    {
        for (const auto& from : m_shards)
        {
            to->TakePosts(m_turn, *from);
        }
    }
    for (const auto& shard : m_shards)
    {
        shard->ForgetPosts();
    }
}

void
NodeWindowTeam::Assign(Unit& unit, uint32_t shard)
{
    unit.shard = m_shards[shard].get();
    for (const RdmaPort* port : unit.arrivals.GetPorts())
    {
        port->GetPeer()->SetPeerShard(shard);
    }
}

void
NodeWindowTeam::Deal()
{
    std::vector<uint32_t> threadOf(m_units.size());
    for (std::size_t i = 0; i < m_units.size(); ++i)
    {
        threadOf[i] = m_units[i].shard->GetIndex();
    }
    m_deal->Deal(m_units, threadOf);
    DeliverPosts();
    for (std::size_t i = 0; i < m_units.size(); ++i)
    {
        m_units[i].load = 0;
        if (threadOf[i] != m_units[i].shard->GetIndex())
        {
            Assign(m_units[i], threadOf[i]);
        }
    }
    RegisterAll();
}

// Running -----------------------------------------------------------------------------------------

void
NodeWindowTeam::RunShard(uint32_t index)
{
    const auto begin = std::chrono::steady_clock::now();
    NodeWindowShard& shard = *m_shards[index];
    shard.ForgetPosts(); // those of before are being taken
    for (const auto& from : m_shards)
    {
        shard.TakePosts(m_turn ^ 1, *from);
    }
    shard.Run(m_bucket, m_cut);
    m_deal->AddBusy(
        index,
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

bool
NodeWindowTeam::RunTogether()
{
    // What is not worth a word to the others.
    constexpr std::size_t FEW = 8;
    std::size_t crowd = 0;
    for (const auto& shard : m_shards)
    {
        crowd += shard->GetCrowd(m_bucket);
    }
    if (!m_always && (!m_deal->WasDealt() || crowd < FEW))
    {
        return false;
    }
    if (!m_crew && !m_refused)
    {
        try
        {
            m_crew = std::make_unique<NodeWindowCrew>(static_cast<uint32_t>(m_shards.size()),
                                                      [this](uint32_t who) { RunShard(who); });
        }
        catch (const std::system_error&)
        {
            m_refused = true; // whoever limits them has a reason
        }
    }
    if (m_refused)
    {
        return false;
    }
    m_turn ^= 1;
    m_parallel = true;
    m_crew->Work();
    m_parallel = false;
    return true;
}

void
NodeWindowTeam::Run(int64_t bucket, int64_t cut)
{
    m_bucket = bucket;
    m_cut = cut;
    for (const auto& shard : m_shards)
    {
        shard->Begin(bucket);
    }
    if (m_shards.size() == 1)
    {
        m_shards[0]->Run(bucket, cut);
        return;
    }
    const uint64_t before = GetEventCount();
    const bool together = m_pace.IsParallel() && RunTogether();
    if (!together)
    {
        DeliverPosts();
        for (const auto& shard : m_shards)
        {
            if (shard->FirstBucket() == bucket)
            {
                shard->Run(bucket, cut);
            }
        }
    }
    m_windowEvents = GetEventCount() - before;
    m_parallelEvents += together ? m_windowEvents : 0;
}

void
NodeWindowTeam::EndWindow()
{
    if (m_deal && m_pace.Add(m_windowEvents) && m_pace.IsParallel() && m_deal->EndPeriod())
    {
        Deal();
    }
}

} // namespace ns3
