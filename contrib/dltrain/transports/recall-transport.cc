/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "recall-transport.h"

#include "contrib/dltrain/observers/trace-collector.h"
#include "contrib/dltrain/transports/interconnect.h"

#include "ns3/node-windows.h"
#include "ns3/rdma-event.h"

#include <algorithm>

namespace dltrain
{

RecallTransport::RecallTransport(Interconnect& interconnect, const coll::RecallSettings& settings)
    : m_packets(interconnect.Between()),
      m_places(interconnect.GetPlaces()),
      m_fabric(interconnect.Fabric()),
      m_collector(interconnect.Collector()),
      m_loads(interconnect.GetRecalledLoads(settings)),
      m_book(settings, *this, m_loads.GetNetwork(), true),
      m_channels(m_places.GetNServers())
{
    m_loads.AddBook(m_book);
    for (uint32_t host = 0; host < m_places.GetNHosts(); ++host)
    {
        m_events.emplace_back(this);
    }
}

void
RecallTransport::AddUser(TransportUser& user)
{
    m_packets.AddUser(user);
}

ChannelId
RecallTransport::Open(const ChannelName& name,
                      TransportUser& user,
                      uint64_t cookie,
                      uint64_t mostBps)
{
    Channel& channel = m_channels[m_places.ServerOf(name.from)].emplace_back();
    channel.name = name;
    channel.user = &user;
    channel.cookie = cookie;
    channel.mostBps = mostBps;
    channel.inner = m_packets.Open(name, *this, reinterpret_cast<uintptr_t>(&channel), mostBps);
    return reinterpret_cast<uintptr_t>(&channel);
}

void
RecallTransport::Close(ChannelId channel)
{
    m_packets.Close(ChannelOf(channel)->inner);
}

std::string
RecallTransport::Describe(ChannelId channel) const
{
    return m_packets.Describe(ChannelOf(channel)->inner);
}

void
RecallTransport::Post(ChannelId id, const TransportPost& post)
{
    Channel& channel = *ChannelOf(id);
    Channel* const which = &channel;
    if (channel.underWay++ > 0)
    {
        if (channel.isHeld)
        {
            channel.later.push_back(post); // it must not come first
            return;
        }
        ns3::NodeWindows::NoteCall([this, which] { NoteBeside(*which); });
        m_packets.Post(channel.inner, post);
        return;
    }
    const int64_t now = ns3::RdmaClock::Now();
    const uint64_t bytes = post.bytes;
    const uint32_t episode = channel.episodes[bytes]++;
    const auto track = channel.tracks.find(bytes);
    const uint32_t round = m_loads.RoundOf(channel.name.from);
    const bool held = track != channel.tracks.end() &&
                      m_book.IsHeld(track->second, episode, track->second, round);
    if (held)
    {
        channel.isHeld = true;
        channel.post = post;
    }
    ns3::NodeWindows::NoteCall([this, which, bytes, episode, round, held, now] {
        NotePost(*which, bytes, episode, round, held, now);
    });
    if (!held)
    {
        m_packets.Post(channel.inner, post);
    }
}

uint32_t
RecallTransport::TrackOf(Channel& channel, uint64_t bytes)
{
    const auto known = channel.tracks.find(bytes);
    if (known != channel.tracks.end())
    {
        return known->second;
    }
    const auto way = m_packets.FindWay(channel.name);
    std::string shape = std::to_string(bytes) + ' ' + std::to_string(channel.mostBps);
    if (way)
    {
        for (const rdma::PathLink& link : way->links)
        {
            shape += ' ' + std::to_string(link.rate.bps) + '/' + std::to_string(link.delay.ps) +
                     '/' + std::to_string(link.pipeline.ps);
        }
    }
    else
    {
        shape += " channel " + std::to_string(reinterpret_cast<uintptr_t>(&channel));
    }
    const auto group = static_cast<uint32_t>(m_tracks.size());
    const ns3::RdmaFabric::MessageLoad load = m_fabric.GetLoadOfMessage(bytes, true);
    std::vector<coll::RecallLoad> loads;
    for (std::size_t i = 0; way && i < way->ends.size(); ++i)
    {
        const int64_t busy = coll::BusyOf(load.wireBytes, way->links[i].rate.bps);
        loads.push_back({way->ends[i], busy, false});
    }
    const uint32_t track = m_book.AddTrack(group, shape, 2, std::move(loads));
    m_tracks.push_back({&channel, way.value_or(Way()), load});
    channel.tracks.emplace(bytes, track);
    return track;
}

void
RecallTransport::NotePost(Channel& channel,
                          uint64_t bytes,
                          uint32_t episode,
                          uint32_t round,
                          bool held,
                          int64_t now)
{
    const uint32_t track = TrackOf(channel, bytes);
    if (!held)
    {
        channel.toArrive.push_back({track, episode});
        channel.toBeSent.push_back({track, episode});
    }
    m_book.OnLaunch(track, episode, 0, round, now, held);
    m_book.OnLaunch(track, episode, 1, round, now, held);
}

void
RecallTransport::NoteBeside(Channel& channel)
{
    // What is under way shares the channel from now on.
    for (std::deque<Episode>* messages : {&channel.toArrive, &channel.toBeSent})
    {
        for (Episode& one : *messages)
        {
            if (one.track != UINT32_MAX && messages == &channel.toBeSent)
            {
                m_book.Abandon(one.track, one.number);
            }
            one.track = UINT32_MAX;
        }
        messages->emplace_back();
    }
}

void
RecallTransport::NoteEnd(std::deque<Episode>& messages, uint32_t position, int64_t now)
{
    const Episode episode = messages.front();
    messages.pop_front();
    if (episode.track != UINT32_MAX)
    {
        m_book.OnEnd(episode.track, episode.number, position, now);
    }
}

void
RecallTransport::OnDelivered(const Delivery& delivery, int64_t now)
{
    Channel* const channel = ChannelOf(delivery.cookie);
    Delivery told = delivery;
    told.channel = reinterpret_cast<uintptr_t>(channel);
    told.cookie = channel->cookie;
    ns3::NodeWindows::NoteCall([this, channel, now] { NoteEnd(channel->toArrive, 1, now); });
    channel->user->OnDelivered(told, now);
}

void
RecallTransport::OnSent(ChannelId, uint64_t cookie, uint64_t id, bool failed, int64_t now)
{
    Channel* const channel = ChannelOf(cookie);
    --channel->underWay;
    ns3::NodeWindows::NoteCall([this, channel, now] { NoteEnd(channel->toBeSent, 0, now); });
    channel->user->OnSent(reinterpret_cast<uintptr_t>(channel), channel->cookie, id, failed, now);
}

void
RecallTransport::EndRecalled(uint32_t track, uint32_t episode, uint32_t position, int64_t at)
{
    Track& its = m_tracks[track];
    Channel& channel = *its.channel;
    const bool isNew = std::exchange(its.under, episode) != episode;
    EventPayload end{};
    end.kind = position == 0 ? EventKind::SENT : EventKind::ARRIVE;
    end.channel = &channel;
    end.immediate = channel.post.immediate;
    end.cause = channel.post.cause;
    end.id = channel.post.id;
    end.number = ++(position == 0 ? channel.sent : channel.arrives);
    const uint32_t server = m_places.ServerOf(position == 0 ? channel.name.from : channel.name.to);
    m_events[server].Schedule(at, m_places.ContextOfServer(server), end);
    if (!isNew)
    {
        return;
    }
    const int64_t now = ns3::RdmaClock::Now();
    m_loads.AddMessages(channel.post.bytes);
    for (const uint32_t out : its.way.ends)
    {
        m_loads.Add(out, its.load.wireBytes, its.load.frames, now, at);
    }
    for (const uint32_t out : its.way.back)
    {
        m_loads.Add(out, its.load.ackWireBytes, its.load.acks, now, at);
    }
    m_collector.GetLinkSampler().Arm();
}

void
RecallTransport::LaunchHeld(uint32_t track, uint32_t episode, uint32_t position, int64_t at)
{
    if (position == 1)
    {
        return; // the sender's launch is all
    }
    Channel& channel = *m_tracks[track].channel;
    channel.toArrive.push_back({track, episode});
    channel.toBeSent.push_back({track, episode});
    EventPayload launch{};
    launch.kind = EventKind::LAUNCH;
    launch.channel = &channel;
    const uint32_t server = m_places.ServerOf(channel.name.from);
    m_events[server].Schedule(at, m_places.ContextOfServer(server), launch);
}

void
RecallTransport::OnEvent(const EventPayload& e, int64_t now)
{
    Channel& channel = *e.channel;
    const auto number = reinterpret_cast<uintptr_t>(&channel);
    if (e.kind != EventKind::LAUNCH &&
        e.number != (e.kind == EventKind::SENT ? channel.sent : channel.arrives))
    {
        return; // it was told anew
    }
    if (e.kind == EventKind::ARRIVE)
    {
        channel.user->OnDelivered({channel.name, number, channel.cookie, e.immediate, e.cause},
                                  now);
        return;
    }
    channel.isHeld = false;
    if (e.kind == EventKind::LAUNCH)
    {
        m_packets.Post(channel.inner, channel.post);
    }
    // Messages that came meanwhile begin anew.
    std::deque<TransportPost> later;
    later.swap(channel.later);
    channel.underWay -= static_cast<uint32_t>(later.size()) + (e.kind == EventKind::SENT);
    for (const TransportPost& post : later)
    {
        Post(number, post);
    }
    if (e.kind == EventKind::SENT)
    {
        channel.user->OnSent(number, channel.cookie, e.id, false, now);
    }
}

} // namespace dltrain
