/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "bundled-transport.h"

#include "contrib/dltrain/observers/trace-collector.h"
#include "contrib/rdma/core/flow-hash.h"

#include <algorithm>
#include <utility>

namespace dltrain
{

class BundledTransport::Listener : public TransportUser
{
  public:
    Listener(BundledTransport& transport, TransportUser& user)
        : m_transport(transport),
          m_user(user)
    {
    }

    void OnDelivered(const Delivery& delivery, int64_t now) override
    {
        m_transport.OnPart(m_user, delivery, now);
    }

    void OnSent(ChannelId channel, uint64_t cookie, uint64_t id, bool failed, int64_t now) override
    {
        m_transport.OnPartSent(m_user, channel, cookie, id, failed, now);
    }

  private:
    BundledTransport& m_transport;
    TransportUser& m_user;
};

std::size_t
BundledTransport::HashOfKey::operator()(const ArrivingKey& key) const
{
    return static_cast<std::size_t>(
        rdma::Mix64(key.places ^ rdma::Mix64(key.job ^ rdma::Mix64(key.lane))));
}

BundledTransport::BundledTransport(std::unique_ptr<Transport> below,
                                   const Places& places,
                                   const scenario::ConnectionSpec& spec)
    : m_below(std::move(below)),
      m_places(places),
      m_spec(spec),
      m_receiving(places.GetNHosts())
{
}

BundledTransport::~BundledTransport() = default;

BundledTransport::Listener&
BundledTransport::ListenerOf(TransportUser& user)
{
    const std::lock_guard<std::mutex> lock(m_mutex);
    std::unique_ptr<Listener>& listener = m_listeners[&user];
    if (!listener)
    {
        listener = std::make_unique<Listener>(*this, user);
    }
    return *listener;
}

BundledTransport::Bundle&
BundledTransport::BundleOf(ChannelId channel)
{
    const std::lock_guard<std::mutex> lock(m_mutex);
    return *m_bundles.at(channel);
}

void
BundledTransport::AddUser(TransportUser& user)
{
    m_below->AddUser(ListenerOf(user));
}

void
BundledTransport::CarryCauses()
{
    m_below->CarryCauses();
}

ChannelId
BundledTransport::Open(const ChannelName& name,
                       TransportUser& user,
                       uint64_t cookie,
                       uint64_t mostBps)
{
    Listener& listener = ListenerOf(user);
    const auto bundle = std::make_shared<Bundle>();
    const uint32_t n = m_spec.queuePairs;
    for (uint32_t i = 0; i < n; ++i)
    {
        ChannelName own = name;
        own.lane = name.lane * n + i;
        own.turn = static_cast<uint8_t>(name.turn * n + i);
        // In turns one of them may be alone for a while.
        const uint64_t most = m_spec.split ? (mostBps + n - 1) / n : mostBps;
        bundle->channels.push_back(m_below->Open(own, listener, cookie, most));
    }
    const std::lock_guard<std::mutex> lock(m_mutex);
    for (const ChannelId channel : bundle->channels)
    {
        m_bundles[channel] = bundle;
    }
    return bundle->channels.front();
}

void
BundledTransport::Post(ChannelId channel, const TransportPost& post)
{
    Bundle& bundle = BundleOf(channel);
    const uint64_t message = bundle.posted++;
    if (!m_spec.split)
    {
        m_below->Post(bundle.channels[message % m_spec.queuePairs], post);
        return;
    }
    bundle.sending.push_back({post.id, m_spec.queuePairs, false});
    for (uint32_t i = 0; i < m_spec.queuePairs; ++i)
    {
        TransportPost part = post;
        part.bytes = m_spec.PartOf(post.bytes, i);
        m_below->Post(bundle.channels[i], part);
    }
}

void
BundledTransport::OnPart(TransportUser& user, const Delivery& delivery, int64_t now)
{
    ChannelName name = delivery.name;
    const uint32_t queuePair = name.lane % m_spec.queuePairs;
    name.lane /= m_spec.queuePairs;
    const ArrivingKey key{uint64_t{name.from} << 32 | name.to,
                          uint64_t{name.job} << 32 | name.communicator,
                          uint64_t{name.lane} << 32 | uint64_t{name.rail} << 8 | name.priority};
    Receiving& receiving = m_receiving[m_places.ServerOf(name.to)];
    {
        Arriving& arriving = receiving[key];
        arriving.parts.resize(m_spec.queuePairs);
        arriving.parts[queuePair].push_back({delivery.immediate, delivery.cause});
        if (queuePair == 0)
        {
            arriving.channel = delivery.channel;
        }
    }
    const reports::MessageParts* parts = delivery.parts;
    for (;;)
    {
        Arriving& arriving = receiving[key]; // its user may have opened others
        const auto isThere = [](const std::deque<Part>& parts) { return !parts.empty(); };
        const uint32_t next = m_spec.split ? 0 : arriving.delivered % m_spec.queuePairs;
        if (m_spec.split ? !std::all_of(arriving.parts.begin(), arriving.parts.end(), isThere)
                         : arriving.parts[next].empty())
        {
            return;
        }
        const Part part = arriving.parts[next].front();
        for (uint32_t i = 0; i < m_spec.queuePairs; ++i)
        {
            if (m_spec.split || i == next)
            {
                arriving.parts[i].pop_front();
            }
        }
        ++arriving.delivered;
        user.OnDelivered({name,
                          arriving.channel,
                          delivery.cookie,
                          part.immediate,
                          part.cause,
                          delivery.posted,
                          std::exchange(parts, nullptr)}, // those behind it came earlier
                         now);
    }
}

void
BundledTransport::OnPartSent(TransportUser& user,
                             ChannelId channel,
                             uint64_t cookie,
                             uint64_t id,
                             bool failed,
                             int64_t now)
{
    Bundle& bundle = BundleOf(channel);
    const ChannelId own = bundle.channels.front();
    if (!m_spec.split)
    {
        user.OnSent(own, cookie, id, failed, now);
        return;
    }
    const auto sending = std::find_if(bundle.sending.begin(),
                                      bundle.sending.end(),
                                      [&](const Sending& s) { return s.id == id && s.left; });
    if (sending == bundle.sending.end())
    {
        return; // it has failed with another part
    }
    const bool first = failed && !sending->failed;
    sending->failed |= failed;
    const bool done = --sending->left == 0 && !sending->failed;
    while (!bundle.sending.empty() && bundle.sending.front().left == 0)
    {
        bundle.sending.pop_front();
    }
    if (done || first)
    {
        user.OnSent(own, cookie, id, failed, now);
    }
}

void
BundledTransport::Close(ChannelId channel)
{
    std::vector<ChannelId> channels;
    {
        const std::lock_guard<std::mutex> lock(m_mutex);
        channels = m_bundles.at(channel)->channels;
        for (const ChannelId below : channels)
        {
            m_bundles.erase(below);
        }
    }
    for (const ChannelId below : channels)
    {
        m_below->Close(below);
    }
}

void
BundledTransport::Abort()
{
    m_below->Abort();
}

std::string
BundledTransport::Describe(ChannelId channel) const
{
    return m_below->Describe(channel);
}

uint64_t
BundledTransport::GetBytesArrived() const
{
    return m_below->GetBytesArrived();
}

} // namespace dltrain
