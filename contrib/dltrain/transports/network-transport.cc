/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "network-transport.h"

#include "contrib/dltrain/observers/trace-collector.h"
#include "contrib/dltrain/ranks/ranks.h"
#include "contrib/rdma/core/flow-hash.h"

#include "ns3/node-window-ranks.h"
#include "ns3/node-windows.h"
#include "ns3/prefetch-line.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace dltrain
{

namespace
{

NetworkKind g_packetKind("packet", [](const NetworkParts& parts) -> std::unique_ptr<Transport> {
    return std::make_unique<NetworkTransport>(parts);
});

} // namespace

NetworkTransport::NetworkTransport(const NetworkParts& parts)
    : m_fabric(parts.fabric),
      m_collector(parts.collector),
      m_places(parts.places),
      m_connections(parts.fabric.GetConnections()),
      m_channelClass(parts.channelClass),
      m_hosts(parts.fabric.GetNEndpoints())
{
    if (ns3::NodeWindowRanks* ranks = Ranks::OfWindows())
    {
        m_reader = ranks->AddReader([this](uint32_t, const uint8_t* at, const uint8_t*) {
            Opened opened;
            std::memcpy(static_cast<void*>(&opened), at, sizeof(opened));
            Learn(opened);
        });
    }
}

void
NetworkTransport::AddUser(TransportUser& user)
{
    m_users.push_back(&user);
}

void
NetworkTransport::TellOpened(const Opened& opened)
{
    const uint32_t to = m_places.ToOf(opened.name);
    Ranks::OfWindows()->Post(m_fabric.GetRankOf(to), m_reader, &opened, sizeof(opened));
}

void
NetworkTransport::Learn(const Opened& opened)
{
    End end{};
    end.user = m_users.at(opened.user);
    end.cookie = opened.cookie;
    end.channel = opened.channel;
    end.name = opened.name;
    m_theirs.emplace(opened.channel, end);
    m_connections.Learn(MakeRequest(opened.name, opened.channel), opened.number);
}

ns3::RdmaConnectionRequest
NetworkTransport::MakeRequest(const ChannelName& name, ChannelId channel)
{
    ns3::RdmaConnectionRequest request;
    request.from = m_places.FromOf(name);
    request.to = m_places.ToOf(name);
    request.priority = m_channelClass.priority.value_or(name.priority);
    request.trafficClass = name.trafficClass ? name.trafficClass : m_channelClass.trafficClass;
    request.name = HashOf(name);
    request.user = this;
    request.data = channel;
    return request;
}

NetworkTransport::End&
NetworkTransport::Add(uint32_t endpoint, const End& end, bool accepted)
{
    const std::lock_guard<std::mutex> lock(m_opening);
    if (!m_hosts[endpoint])
    {
        m_hosts[endpoint] = std::make_unique<Host>();
    }
    Host& host = *m_hosts[endpoint];
    Host::Ends& ends = accepted ? host.accepted : host.opened;
    const uint32_t index = ends.Take();
    ends[index] = end;
    ends[index].channel = accepted ? end.channel : MakeChannel(endpoint, index);
    if (end.queuePair)
    {
        end.queuePair->cookie = CookieOf(ends[index], accepted);
        end.queuePair->SetUser(this);
    }
    return ends[index];
}

void
NetworkTransport::CarryCauses()
{
    m_carries = true;
}

CauseQueue*
NetworkTransport::TakeCauses()
{
    if (!m_carries)
    {
        return nullptr;
    }
    const std::lock_guard<std::mutex> lock(m_opening);
    if (m_idleCauses.empty())
    {
        return &m_causes.emplace_back();
    }
    CauseQueue* causes = m_idleCauses.back();
    m_idleCauses.pop_back();
    return causes;
}

ChannelId
NetworkTransport::Open(const ChannelName& name,
                       TransportUser& user,
                       uint64_t cookie,
                       uint64_t mostBps)
{
    const uint32_t from = m_places.FromOf(name);
    End& end = Add(from, {nullptr, &user, cookie, 0, name, TakeCauses()}, false);
    ns3::RdmaConnectionRequest request = MakeRequest(name, end.channel);
    request.maxRateBps = mostBps;
    end.queuePair = m_connections.Open(request);
    if (!end.queuePair)
    {
        const std::vector<std::string>& names = m_collector.GetEndpointNames();
        throw std::runtime_error(
            "more than " + std::to_string(m_connections.GetNumbers().MostSlots()) +
            " queue pairs from " + names[from] + " to " + names[m_places.ToOf(name)] +
            ": their numbers have 24 bits, for all " + std::to_string(m_fabric.GetNEndpoints()) +
            " NICs together");
    }
    end.queuePair->cookie = CookieOf(end, false);
    end.queuePair->SetUser(this);
    m_collector.BeginConnection(*end.queuePair,
                                m_places.IsGpu(name.from) ? name.from : reports::FlowRecord::NO_GPU,
                                m_places.IsGpu(name.to) ? name.to : reports::FlowRecord::NO_GPU);
    if (!m_users.empty() && !m_places.IsHere(name.to))
    {
        const auto number = std::find(m_users.begin(), m_users.end(), &user) - m_users.begin();
        // Its frames need it there.
        ns3::NodeWindows::NoteSoon<&NetworkTransport::TellOpened>(
            this,
            Opened{name,
                   end.queuePair->GetNumber(),
                   static_cast<uint32_t>(number),
                   cookie,
                   end.channel});
    }
    return end.channel;
}

void
NetworkTransport::OnAccepted(ns3::RdmaQueuePair* qp, uint64_t channel, int64_t)
{
    End end{qp, nullptr, 0, channel, {}, nullptr};
    {
        // The sender fills this entry before its first packet leaves and does not change it while
        // packets are in flight. The lock is for the container: the sender may be opening another
        // channel.
        const std::lock_guard<std::mutex> lock(m_opening);
        const auto learnt = m_theirs.find(channel);
        const End& theirs = learnt == m_theirs.end()
                                ? m_hosts[HostOf(channel)]->opened[IndexOf(channel)]
                                : learnt->second;
        end.user = theirs.user;
        end.cookie = theirs.cookie;
        end.name = theirs.name;
        end.causes = theirs.causes;
        if (learnt != m_theirs.end())
        {
            m_theirs.erase(learnt);
        }
    }
    Add(qp->GetNic()->GetEndpoint(), end, true);
    m_collector.OnAccepted(*qp);
}

void
NetworkTransport::Post(ChannelId channel, const TransportPost& post)
{
    ns3::RdmaSendRequest request(post.operation, post.bytes, post.id);
    request.hasImmediate = post.hasImmediate;
    request.immediate = post.immediate;
    const End& end = m_hosts[HostOf(channel)]->opened[IndexOf(channel)];
    if (end.causes)
    {
        end.causes->Add(post.cause);
    }
    end.queuePair->Post(request);
}

void
NetworkTransport::PrefetchPost(ChannelId channel, uint32_t depth) const
{
    const Host* host = m_hosts[HostOf(channel)].get();
    if (!host)
    {
        return;
    }
    if (depth == 0)
    {
        ns3::PrefetchLine(&host->opened);
        return;
    }
    if (depth == 1)
    {
        host->opened.Prefetch(IndexOf(channel));
        return;
    }
    const End& end = host->opened[IndexOf(channel)];
    if (end.queuePair && depth < 4)
    {
        ns3::RdmaNic::PrefetchPost(end.queuePair, depth - 2);
    }
    if (end.causes && depth == 2)
    {
        ns3::PrefetchLines(end.causes, end.causes + 1);
    }
}

void
NetworkTransport::Prefetch(const ns3::RdmaQueuePair* qp, uint32_t depth) const
{
    const End* end = EndOf(qp);
    if (depth == 0)
    {
        ns3::PrefetchLine(end); // none before its first message: OnAccepted will make it
        return;
    }
    if (!(qp->cookie & ACCEPTED) || !end->user)
    {
        return; // the sender is told of failed messages only
    }
    if (depth == 1)
    {
        end->user->Prefetch(end->cookie, nullptr, 0);
        if (end->causes)
        {
            ns3::PrefetchLines(end->causes, end->causes + 1);
        }
        return;
    }
    end->user->Prefetch(end->cookie, end->causes ? end->causes->Peek() : nullptr, 1);
}

void
NetworkTransport::Close(ChannelId channel)
{
    Host& host = *m_hosts[HostOf(channel)];
    End& end = host.opened[IndexOf(channel)];
    host.bytesBefore += end.queuePair->GetBytesRead();
    m_collector.EndConnection(*end.queuePair);
    m_connections.Close(end.queuePair);
    if (end.causes)
    {
        const std::lock_guard<std::mutex> lock(m_opening);
        m_idleCauses.push_back(end.causes);
    }
    end = {};
    host.opened.Give(IndexOf(channel));
}

void
NetworkTransport::Abort()
{
    for (const std::unique_ptr<Host>& host : m_hosts)
    {
        if (!host)
        {
            continue;
        }
        // As ibv_destroy_qp would, without completions: a closed end hears of none. These
        // queue pairs are not used for another connection.
        for (const End& end : host->opened.All())
        {
            if (end.queuePair)
            {
                m_collector.AbandonConnection(*end.queuePair);
                end.queuePair->Modify(ns3::RdmaQueuePair::State::RESET);
            }
        }
        for (const End& end : host->accepted.All())
        {
            if (end.queuePair)
            {
                end.queuePair->Modify(ns3::RdmaQueuePair::State::RESET);
            }
        }
    }
}

void
NetworkTransport::Expect(const ChannelName& name,
                         TransportUser& user,
                         uint64_t cookie,
                         const TransportPost& post,
                         int64_t at)
{
    const auto [known, isNew] =
        m_expected.try_emplace(std::make_tuple(name.from, name.to, name.lane, name.priority),
                               nullptr);
    if (isNew)
    {
        const uint32_t from = m_places.FromOf(name);
        const End& theirs = Add(from, {nullptr, &user, cookie, 0, name, nullptr}, false);
        known->second = m_connections.Expect(MakeRequest(name, theirs.channel));
        if (!known->second)
        {
            throw std::runtime_error("more queue pairs than numbers of 24 bits tell apart");
        }
    }
    if (post.operation != ns3::RdmaOperation::READ)
    {
        m_collector.ExpectMessage(*known->second, at, post.id, post.operation);
    }
}

std::optional<Transport::Way>
NetworkTransport::FindWay(const ChannelName& name) const
{
    const uint32_t from = m_places.FromOf(name);
    const uint32_t to = m_places.ToOf(name);
    const uint16_t port = rdma::RoceSourcePortOfName(HashOf(name), false);
    Way way;
    way.ends = m_fabric.GetEndsOfFlow(from, to, rdma::FlowHash({from, to, port}));
    if (way.ends.empty())
    {
        return std::nullopt;
    }
    way.links = m_fabric.GetLinksOf(way.ends);
    const uint16_t back = rdma::RoceSourcePortOfName(HashOf(name), true);
    way.back = m_fabric.GetEndsOfFlow(to, from, rdma::FlowHash({to, from, back}));
    return way;
}

uint16_t
NetworkTransport::GetSourcePort(ChannelId channel) const
{
    // As RdmaConnections has it, also where another rank has the queue pair.
    const ChannelName& name = m_hosts[HostOf(channel)]->opened[IndexOf(channel)].name;
    return rdma::RoceSourcePortOfName(HashOf(name), false);
}

std::string
NetworkTransport::Describe(ChannelId channel) const
{
    const ns3::RdmaQueuePair* sender = GetSender(channel);
    const std::vector<std::string>& names = m_collector.GetEndpointNames();
    return names[sender->GetNic()->GetEndpoint()] + "->" + names[sender->GetPeerEndpoint()] +
           " qp " + std::to_string(sender->GetNumber());
}

uint64_t
NetworkTransport::GetBytesArrived() const
{
    uint64_t bytes = 0;
    for (const std::unique_ptr<Host>& host : m_hosts)
    {
        if (!host)
        {
            continue;
        }
        bytes += host->bytesBefore;
        for (const End& end : host->accepted.All())
        {
            bytes += end.queuePair ? end.queuePair->GetBytesReceived() : 0;
        }
        for (const End& end : host->opened.All())
        {
            bytes += end.queuePair ? end.queuePair->GetBytesRead() : 0;
        }
    }
    return bytes;
}

void
NetworkTransport::OnMessage(ns3::RdmaQueuePair* qp, const ns3::RdmaMessage& message, int64_t now)
{
    End& own = *EndOf(qp);
    const End end = own; // a copy: its user may open others
    if (end.name.single)
    {
        Host& host = *m_hosts[qp->GetNic()->GetEndpoint()];
        host.bytesBefore += qp->GetBytesReceived();
        own = {};
        host.accepted.Give(host.accepted.NumberOf(&own));
        m_connections.CloseSingle(qp, now);
    }
    reports::PathRecord* cause = end.causes ? end.causes->Take() : nullptr;
    end.user->OnDelivered({end.name,
                           end.channel,
                           end.cookie,
                           message.immediate,
                           cause,
                           -1,
                           m_collector.PartsAt(qp->GetNic()->GetEndpoint())},
                          now);
}

void
NetworkTransport::OnCompletion(ns3::RdmaQueuePair* qp,
                               const ns3::RdmaWorkRequest& request,
                               ns3::RdmaStatus status,
                               int64_t now)
{
    const bool failed = status != ns3::RdmaStatus::SUCCESS;
    const End end = *EndOf(qp);
    const uint64_t id = request.id;
    if (request.operation == ns3::RdmaOperation::READ && !failed)
    {
        end.user->OnDelivered({end.name, end.channel, end.cookie, 0}, now); // no other listener
    }
    end.user->OnSent(end.channel, end.cookie, id, failed, now);
}

} // namespace dltrain
