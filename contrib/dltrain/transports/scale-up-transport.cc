/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scale-up-transport.h"

#include "contrib/dltrain/observers/scale-up-tally.h"
#include "reports/attribution/collective-paths.h"

#include "ns3/assert.h"
#include "ns3/prefetch-line.h"
#include "ns3/rdma-event.h"

namespace dltrain
{

ScaleUpTransport::Server::Server(const Places& places,
                                 uint32_t number,
                                 const topo::ServerSpec& server,
                                 const topo::ScaleUpFrames* frames)
    : number(number),
      context(places.ContextOfServer(number)),
      wakeContext(places.ContextOfTurn(number, Places::Turn::INSIDE)),
      event(new WakeEvent(this), false),
      model(server.scaleUp, server.gpus, &server.library),
      packets(frames ? std::make_unique<topo::ScaleUpPackets>(server.scaleUp, server.gpus, *frames)
                     : nullptr)
{
    if (ns3::NodeWindows* windows = ns3::NodeWindows::Active())
    {
        windows->AddAhead(context, this);
    }
}

ScaleUpTransport::Server::~Server()
{
    event->Disown();
    if (ns3::NodeWindows* windows = ns3::NodeWindows::Active())
    {
        windows->RemoveAhead(context, this);
    }
}

ScaleUpTransport::ScaleUpTransport(const Places& places,
                                   const scenario::ClusterSpec& cluster,
                                   ScaleUpTally& tally)
    : m_places(places),
      m_gpus(cluster.server.gpus),
      m_cluster(cluster),
      m_tally(tally)
{
    for (uint32_t s = 0; s < places.GetNServers(); ++s)
    {
        m_servers.push_back(places.IsServerHere(s)
                                ? std::make_unique<Server>(places,
                                                           s,
                                                           cluster.ServerOf(s),
                                                           cluster.scaleUpFrames.get())
                                : nullptr);
        if (m_servers.back() && m_servers.back()->packets)
        {
            m_tally.Add(m_servers.back()->packets.get());
        }
    }
}

ScaleUpTransport::~ScaleUpTransport()
{
    for (const auto& server : m_servers)
    {
        if (server && server->packets)
        {
            m_tally.Remove(server->packets.get());
        }
    }
}

rdma::TimePoint
ScaleUpTransport::Server::NextWake()
{
    return packets ? packets->NextWake() : model.NextWake();
}

bool
ScaleUpTransport::Server::Arrived(int64_t now, uint64_t& message)
{
    return packets ? packets->Arrived(rdma::TimePoint(now), message)
                   : model.Arrived(rdma::TimePoint(now), message);
}

void
ScaleUpTransport::Server::Post(const Channel& on,
                               const TransportPost& post,
                               int64_t now,
                               uint32_t message)
{
    if (!packets)
    {
        model.Post(on.fromGpu,
                   on.toGpu,
                   rdma::Bytes(post.bytes),
                   rdma::TimePoint(now),
                   message,
                   post.parts,
                   post.how,
                   rdma::BitRate(post.mostBps));
        return;
    }
    const topo::ScaleUpModel::Timing alone =
        model.TimingOf(rdma::Bytes(post.bytes), post.parts, post.how);
    packets->Post(on.fromGpu,
                  on.toGpu,
                  rdma::Bytes(post.bytes),
                  rdma::Duration(alone.sending),
                  rdma::Duration(alone.latency),
                  rdma::BitRate(post.mostBps),
                  rdma::TimePoint(now),
                  message);
}

uint16_t
ScaleUpTransport::PortOf(uint32_t place, uint32_t lane) const
{
    const uint32_t port = m_places.GpuOf(place);
    if (port < m_gpus)
    {
        return static_cast<uint16_t>(port);
    }
    // Messages through the switch for different lanes, and copies, share a GPU's port like messages
    // to different GPUs.
    return static_cast<uint16_t>(m_gpus + (port - m_gpus) * m_gpus + lane % m_gpus);
}

ChannelId
ScaleUpTransport::Open(const ChannelName& name, TransportUser& user, uint64_t cookie, uint64_t)
{
    const uint32_t server = m_places.ServerOf(name.from);
    Slots<Channel>& channels = m_servers[server]->channels;
    const uint32_t channel = channels.Take();
    channels[channel] = {&user,
                         cookie,
                         name,
                         PortOf(name.from, name.lane),
                         PortOf(name.to, name.lane)};
    return MakeChannel(server, channel);
}

void
ScaleUpTransport::Close(ChannelId channel)
{
    m_servers[ServerOf(channel)]->channels.Give(IndexOf(channel));
}

void
ScaleUpTransport::Post(ChannelId channel, const TransportPost& post)
{
    const int64_t now = ns3::RdmaClock::Now();
    Server& server = *m_servers[ServerOf(channel)];
    if (server.borrower)
    {
        server.borrower->GiveBack(now);
    }
    if (server.held)
    {
        EndHold(server, server.channels[IndexOf(channel)].fromGpu, now);
        EndHold(server, server.channels[IndexOf(channel)].toGpu, now);
    }
    const uint32_t message = server.messages.Take();
    const Channel& on = server.channels[IndexOf(channel)];
    Message& sent = server.messages[message]; // part by part: read soon
    sent.channel = IndexOf(channel);
    sent.immediate = post.immediate;
    sent.bytes = post.bytes;
    sent.posted = now;
    sent.cause = post.cause;
    sent.user = on.user;
    sent.id = post.id;
    sent.cookie = on.cookie;
    server.Post(on, post, now, message);
    on.user->Prefetch(on.cookie, nullptr, 0); // it may arrive within this very window
    if (!server.awake)
    {
        server.ScheduleWake();
    }
}

void
ScaleUpTransport::PrefetchPost(ChannelId channel, uint32_t depth) const
{
    if (depth == 0)
    {
        m_servers[ServerOf(channel)]->channels.Prefetch(IndexOf(channel));
    }
}

void
ScaleUpTransport::WakeEvent::Notify()
{
    if (m_server)
    {
        m_server->OnWake();
    }
}

void
ScaleUpTransport::Server::ScheduleWake()
{
    const rdma::TimePoint at = NextWake();
    // One that comes earlier sees to this one too.
    if (at != topo::ScaleUpModel::kNever && (wakes.empty() || at.ps < wakes.back()))
    {
        wakes.push_back(at.ps);
        event->Ref(); // the event set's
        if (ns3::NodeWindows* windows = ns3::NodeWindows::Active())
        {
            windows->Schedule(
                windows->UnitOf(context),
                ns3::RdmaClock::TickAt(at.ps),
                wakeContext,
                reinterpret_cast<uintptr_t>(static_cast<ns3::EventImpl*>(ns3::PeekPointer(event))));
            return;
        }
        ns3::Simulator::ScheduleWithContext(wakeContext,
                                            ns3::RdmaClock::At(at.ps) - ns3::Simulator::Now(),
                                            ns3::PeekPointer(event));
    }
}

void
ScaleUpTransport::Server::OnWake()
{
    const int64_t now = wakes.back();
    NS_ASSERT(ns3::RdmaClock::TickAt(now) == ns3::RdmaClock::TickAt(ns3::RdmaClock::Now()));
    wakes.pop_back();
    awake = true;
    uint64_t index = 0;
    while (Arrived(now, index))
    {
        const Message message = messages[index];
        messages[index].user = nullptr;
        messages.Give(static_cast<uint32_t>(index));
        bytesArrived += message.bytes;
        const Channel on = channels[message.channel]; // a copy: its user may open others
        const ChannelId channel = MakeChannel(number, message.channel);
        on.user->OnDelivered(
            {on.name, channel, on.cookie, message.immediate, message.cause, message.posted},
            now);
        // Nothing acknowledges a store: what has arrived is sent.
        on.user->OnSent(channel, on.cookie, message.id, false, now);
    }
    awake = false;
    ScheduleWake();
}

void
ScaleUpTransport::Server::Prefetch(int64_t ticks, uint32_t depth) const
{
    const int64_t until =
        ticks == ns3::NodeWindows::NEVER ? ticks : ns3::RdmaClock::TicksToPs(ticks);
    if (depth > 0 && borrower)
    {
        borrower->Prefetch(until, depth - 1);
        return; // there is nothing to arrive
    }
    switch (depth)
    {
    case 0:
        ns3::PrefetchLines(this, this + 1);
        return;
    case 1:
        ns3::PrefetchLine(wakes.data());
        ns3::PrefetchLine(ns3::PeekPointer(event));
        messages.PrefetchFree();
        break;
    case 2:
        model.ForEachArrival(until, [this](uint32_t message) { messages.Prefetch(message); });
        break;
    case 3:
        model.ForEachArrival(until, [this](uint32_t which) {
            const Message& message = messages[which];
            channels.Prefetch(message.channel);
            message.user->Prefetch(message.cookie, message.cause, 0);
        });
        break;
    default:
        model.ForEachArrival(until, [this](uint32_t which) {
            const Message& message = messages[which];
            const bool copied = message.cause && !message.cause->inside;
            message.user->Prefetch(message.cookie, copied ? message.cause : nullptr, 1);
        });
        return;
    }
    model.Prefetch(until, depth - 1, ns3::PrefetchLines);
}

ScaleUpTransport::Lent
ScaleUpTransport::LentOf(const Server& server, uint32_t message)
{
    const Message& one = server.messages[message];
    return {MakeChannel(server.number, one.channel),
            one.user,
            server.channels[one.channel].name.lane,
            one.cookie,
            one.immediate,
            one.bytes,
            one.id,
            one.posted,
            one.cause,
            topo::ScaleUpModel::kNever.ps,
            topo::ScaleUpModel::kNever.ps};
}

bool
ScaleUpTransport::Lend(uint32_t number,
                       int64_t now,
                       ScaleUpBorrower& borrower,
                       std::vector<Lent>* lent)
{
    Server& server = *m_servers[number];
    std::vector<topo::ScaleUpModel::Lent> taken;
    if (server.packets || server.borrower || server.held || server.awake ||
        !server.model.Lend(rdma::TimePoint(now), &taken))
    {
        return false;
    }
    for (const topo::ScaleUpModel::Lent& one : taken)
    {
        const auto message = static_cast<uint32_t>(one.cookie);
        lent->push_back(LentOf(server, message));
        lent->back().finish = one.finish;
        lent->back().arrival = one.arrival;
        server.messages[message].user = nullptr;
        server.messages.Give(message);
    }
    server.borrower = &borrower;
    return true;
}

uint32_t
ScaleUpTransport::Keep(Server& server, const Lent& message)
{
    const uint32_t place = server.messages.Take();
    const Channel& on = server.channels[IndexOf(message.channel)];
    server.messages[place] = {IndexOf(message.channel),
                              message.immediate,
                              message.bytes,
                              message.posted,
                              message.cause,
                              on.user,
                              message.id,
                              on.cookie};
    return place;
}

void
ScaleUpTransport::PutBack(uint32_t number,
                          int64_t now,
                          const std::vector<Lent>& lent,
                          const TransportPost& like,
                          uint64_t posted,
                          uint64_t arrived)
{
    Server& server = *m_servers[number];
    server.borrower = nullptr;
    server.bytesArrived += arrived;
    server.model.CountPosted(rdma::Bytes(posted));
    for (const Lent& one : lent)
    {
        const uint32_t place = Keep(server, one);
        const Channel& on = server.channels[IndexOf(one.channel)];
        server.model.PutBack(on.fromGpu,
                             on.toGpu,
                             rdma::Bytes(one.bytes),
                             rdma::TimePoint(now),
                             like.parts,
                             like.how,
                             {place, one.finish, one.arrival});
    }
    if (!server.awake)
    {
        server.ScheduleWake();
    }
}

void
ScaleUpTransport::EndHold(Server& server, uint32_t gpu, int64_t now)
{
    if (gpu < server.holders.size() && server.holders[gpu])
    {
        server.holders[gpu]->GiveBack(now);
    }
}

bool
ScaleUpTransport::Hold(uint32_t number,
                       int64_t now,
                       const std::vector<uint32_t>& gpus,
                       ScaleUpBorrower& borrower)
{
    Server& server = *m_servers[number];
    if (server.packets || server.awake)
    {
        return false;
    }
    if (server.borrower)
    {
        server.borrower->GiveBack(now); // as for a post
    }
    server.holders.resize(m_gpus, nullptr);
    for (const uint32_t gpu : gpus)
    {
        if (server.holders[gpu])
        {
            return false;
        }
    }
    if (server.model.UnderWay())
    {
        for (uint32_t i = 0; i < server.messages.All().size(); ++i)
        {
            if (!server.messages[i].user)
            {
                continue;
            }
            const Channel& on = server.channels[server.messages[i].channel];
            for (const uint32_t gpu : gpus)
            {
                if (gpu == on.fromGpu || gpu == on.toGpu)
                {
                    return false;
                }
            }
        }
    }
    for (const uint32_t gpu : gpus)
    {
        server.holders[gpu] = &borrower;
    }
    server.held += static_cast<uint32_t>(gpus.size());
    return true;
}

void
ScaleUpTransport::LetGo(uint32_t number,
                        const std::vector<uint32_t>& gpus,
                        uint64_t posted,
                        uint64_t arrived)
{
    Server& server = *m_servers[number];
    for (const uint32_t gpu : gpus)
    {
        server.holders[gpu] = nullptr;
    }
    server.held -= static_cast<uint32_t>(gpus.size());
    server.bytesArrived += arrived;
    server.model.CountPosted(rdma::Bytes(posted));
}

topo::ScaleUpModel
ScaleUpTransport::MakeModel(uint32_t number) const
{
    const topo::ServerSpec& server = m_cluster.ServerOf(number);
    return topo::ScaleUpModel(server.scaleUp, server.gpus, &server.library);
}

void
ScaleUpTransport::TakeOver(uint32_t number,
                           int64_t now,
                           topo::ScaleUpModel& apart,
                           const std::vector<Lent>& messages)
{
    Server& server = *m_servers[number];
    server.model.TakeOver(apart, rdma::TimePoint(now), [&](uint64_t cookie) {
        return uint64_t{Keep(server, messages[cookie])};
    });
    if (!server.awake)
    {
        server.ScheduleWake();
    }
}

ScaleUpTransport::Ports
ScaleUpTransport::PortsOf(ChannelId channel) const
{
    const Channel& on = m_servers[ServerOf(channel)]->channels[IndexOf(channel)];
    return {on.fromGpu, on.toGpu};
}

bool
ScaleUpTransport::IsPlain(ChannelId channel) const
{
    const Server& server = *m_servers[ServerOf(channel)];
    const Channel& on = server.channels[IndexOf(channel)];
    return !server.packets && on.fromGpu != on.toGpu && on.fromGpu < m_gpus && on.toGpu < m_gpus &&
           server.model.IsPlain(on.fromGpu, on.toGpu);
}

topo::ScaleUpModel::Timing
ScaleUpTransport::TimingOf(ChannelId channel, const TransportPost& post) const
{
    return m_servers[ServerOf(channel)]->model.TimingOf(rdma::Bytes(post.bytes),
                                                        post.parts,
                                                        post.how);
}

int64_t
ScaleUpTransport::LastArrival(ChannelId channel) const
{
    Server& server = *m_servers[ServerOf(channel)];
    const Channel& on = server.channels[IndexOf(channel)];
    return server.model.LastArrival(on.fromGpu, on.toGpu);
}

std::string
ScaleUpTransport::Describe(ChannelId channel) const
{
    const Channel& on = m_servers[ServerOf(channel)]->channels[IndexOf(channel)];
    return "server " + std::to_string(ServerOf(channel)) + ", GPU " + std::to_string(on.fromGpu) +
           " to GPU " + std::to_string(on.toGpu);
}

uint64_t
ScaleUpTransport::GetBytesArrived() const
{
    uint64_t bytes = 0;
    for (const auto& server : m_servers)
    {
        bytes += server ? server->bytesArrived : 0;
    }
    return bytes;
}

} // namespace dltrain
