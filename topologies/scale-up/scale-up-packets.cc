/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/scale-up/scale-up-packets.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace topo
{

namespace
{

constexpr int kPacketBits = 20; ///< behind the point, of times a flit or a byte

uint64_t
Fraction(double ps)
{
    return static_cast<uint64_t>(std::llround(ps * (uint64_t{1} << kPacketBits)));
}

int64_t
Whole(uint64_t count, uint64_t psEach)
{
    const unsigned __int128 ps = static_cast<unsigned __int128>(count) * psEach;
    return static_cast<int64_t>((ps + (uint64_t{1} << (kPacketBits - 1))) >> kPacketBits);
}

} // namespace

ScaleUpPackets::ScaleUpPackets(const ScaleUp& spec, uint32_t gpus, const ScaleUpFrames& frames)
    : m_gpus(gpus),
      m_rack(spec.rack == 0 ? gpus : std::min(spec.rack, gpus)),
      m_frames(frames)
{
    if (spec.kind != ScaleUp::kNvSwitch)
    {
        throw std::invalid_argument("ScaleUpPackets: links without a switch");
    }
    if (frames.flit.value == 0 || frames.payload.value == 0 || frames.frame.value == 0)
    {
        throw std::invalid_argument("ScaleUpPackets: frames of nothing");
    }
    m_psPerByte = 8e12 / (static_cast<double>(spec.perGpu.bps) * spec.efficiency);
    const int64_t wire = 2 * frames.linkDelay.ps + frames.switchDelay.ps;
    if (spec.latency.ps < wire)
    {
        const double part = static_cast<double>(spec.latency.ps) / static_cast<double>(wire);
        m_frames.linkDelay.ps = static_cast<int64_t>(part * frames.linkDelay.ps);
        m_frames.switchDelay.ps = static_cast<int64_t>(part * frames.switchDelay.ps);
    }
    m_wire = 2 * m_frames.linkDelay.ps + m_frames.switchDelay.ps;
    for (uint32_t gpu = 0; gpu < gpus; ++gpu)
    {
        AddLink(1, true);
    }
    for (uint32_t gpu = 0; gpu < gpus; ++gpu)
    {
        AddLink(1, false);
    }
    const uint32_t racks = (gpus + m_rack - 1) / m_rack;
    for (uint32_t i = 0; racks > 1 && i < 2 * racks; ++i)
    {
        AddLink(m_rack * spec.spineShare, true); // up, then down
    }
    m_queueOf.resize(m_links.size());
    m_pairOf.assign(9 * static_cast<std::size_t>(gpus) * gpus, kNone);
}

uint32_t
ScaleUpPackets::AddLink(double gpuRates, bool toSwitch)
{
    Link& link = m_links.emplace_back();
    const double perFrame = m_psPerByte * static_cast<double>(m_frames.frame.value) / gpuRates;
    const uint32_t flits = FlitsOf(m_frames.frame.value);
    link.psPerFlit = std::max<uint64_t>(1, Fraction(perFrame / flits));
    if (toSwitch)
    {
        // A round trip: the head to the output, the frame out of it, the credit back.
        const double bytes = static_cast<double>(flits) * static_cast<double>(m_frames.flit.value);
        const auto trip = static_cast<double>(m_wire) / perFrame * bytes + 2 * bytes;
        link.room = m_frames.buffer.value ? m_frames.buffer.value
                                          : static_cast<uint64_t>(std::ceil(2 * trip));
        link.room = std::max(link.room, static_cast<uint64_t>(bytes));
    }
    return static_cast<uint32_t>(m_links.size() - 1);
}

uint32_t
ScaleUpPackets::FlitsOf(uint64_t bytes) const
{
    const uint64_t flit = m_frames.flit.value;
    const uint64_t headers = (bytes + m_frames.payload.value - 1) / m_frames.payload.value;
    return static_cast<uint32_t>((bytes + flit - 1) / flit + std::max<uint64_t>(1, headers));
}

uint32_t
ScaleUpPackets::SourceAt(uint32_t link, uint32_t input)
{
    std::vector<uint32_t>& queues = m_queueOf[link];
    if (queues.empty())
    {
        queues.assign(m_links.size(), kNone);
    }
    uint32_t& source = queues[input];
    if (source == kNone)
    {
        source = static_cast<uint32_t>(m_sources.size());
        m_sources.emplace_back().input = input;
    }
    return source;
}

void
ScaleUpPackets::SetPath(Pair& pair, uint32_t number)
{
    const bool toSwitch = pair.to >= m_gpus;
    const bool fromSwitch = pair.from >= m_gpus;
    if (!fromSwitch)
    {
        pair.path.push_back(pair.from);
    }
    if (!fromSwitch && !toSwitch && pair.from / m_rack != pair.to / m_rack)
    {
        const uint32_t racks = (m_gpus + m_rack - 1) / m_rack;
        pair.path.push_back(2 * m_gpus + pair.from / m_rack);
        pair.path.push_back(2 * m_gpus + racks + pair.to / m_rack);
    }
    if (!toSwitch)
    {
        pair.path.push_back(m_gpus + pair.to);
    }
    pair.source = static_cast<uint32_t>(m_sources.size());
    m_sources.emplace_back().pair = number;
    for (std::size_t i = 1; i < pair.path.size(); ++i)
    {
        pair.sources.push_back(SourceAt(pair.path[i], pair.path[i - 1]));
    }
}

uint32_t
ScaleUpPackets::PairOf(uint32_t from, uint32_t to)
{
    uint32_t& number = m_pairOf[from * 3 * static_cast<std::size_t>(m_gpus) + to];
    if (number == kNone)
    {
        number = static_cast<uint32_t>(m_pairs.size());
        Pair& pair = m_pairs.emplace_back();
        pair.from = from;
        pair.to = to;
        SetPath(pair, number);
    }
    return number;
}

void
ScaleUpPackets::Post(uint32_t from,
                     uint32_t to,
                     rdma::Bytes bytes,
                     rdma::Duration sending,
                     rdma::Duration latency,
                     rdma::BitRate most,
                     rdma::TimePoint now,
                     uint64_t cookie)
{
    Advance(now.ps);
    ++m_underWay;
    if (from == to)
    {
        m_arrivals.push_back({now.ps, m_order++, cookie});
        std::push_heap(m_arrivals.begin(), m_arrivals.end());
        return;
    }
    const uint32_t number = PairOf(from, to);
    Pair& pair = m_pairs[number];
    Message message;
    message.cookie = cookie;
    message.latency = latency.ps;
    // A protocol's flags are data of the links, too.
    message.left =
        static_cast<uint64_t>(std::llround(static_cast<double>(sending.ps) / m_psPerByte));
    message.left = std::max<uint64_t>(message.left, bytes.value ? 1 : 0);
    if (most.bps != 0 && bytes.value != 0)
    {
        const double gap = 8e12 * static_cast<double>(bytes.value) /
                           (static_cast<double>(most.bps) * static_cast<double>(message.left));
        message.gapPs = gap > m_psPerByte ? Fraction(gap) : 0;
    }
    ++m_counters.messages;
    m_counters.data += message.left;
    pair.messages.push_back(message);
    if (!pair.active)
    {
        pair.active = true;
        m_active.push_back(number);
    }
    if (pair.messages.size() == 1)
    {
        Queue(pair.path[0], pair.source);
        Try(pair.path[0], now.ps);
    }
    m_bound = std::min(m_bound, BoundOf(pair, now.ps));
}

int64_t
ScaleUpPackets::BoundOf(const Pair& pair, int64_t now) const
{
    if (!pair.flying.empty())
    {
        // It is behind a queue once it could have been there.
        const int64_t least = pair.flying.front().latency - m_wire + m_frames.linkDelay.ps;
        return std::max(pair.idleArrival,
                        now + std::max<int64_t>(least, Whole(1, m_links[0].psPerFlit) + 1));
    }
    if (pair.messages.empty())
    {
        return kNeverPs;
    }
    const Message& first = pair.messages.front();
    // A little less, as frames' times are rounded.
    const double sending = 0.999 * m_psPerByte * static_cast<double>(first.left);
    return now + static_cast<int64_t>(sending) + std::max<int64_t>(1, first.latency);
}

void
ScaleUpPackets::Schedule(int64_t at, uint32_t link, bool arrives)
{
    if (!arrives)
    {
        if (m_links[link].event <= at)
        {
            return;
        }
        m_links[link].event = at;
    }
    m_events.push_back({at, m_order++, link, arrives});
    std::push_heap(m_events.begin(), m_events.end());
}

void
ScaleUpPackets::Advance(int64_t now)
{
    while (!m_events.empty() && m_events.front().at <= now)
    {
        const Event event = m_events.front();
        std::pop_heap(m_events.begin(), m_events.end());
        m_events.pop_back();
        if (event.arrives)
        {
            Hand(event.link, event.at);
        }
        else if (m_links[event.link].event == event.at)
        {
            m_links[event.link].event = kNeverPs;
            Try(event.link, event.at);
        }
    }
}

void
ScaleUpPackets::Queue(uint32_t number, uint32_t which)
{
    Source& source = m_sources[which];
    if (source.queued)
    {
        return;
    }
    source.queued = true;
    Link& link = m_links[number];
    if (link.turn == kNone)
    {
        source.next = which;
    }
    else
    {
        source.next = m_sources[link.turn].next;
        m_sources[link.turn].next = which;
    }
    link.turn = which; // the last one in turns
}

uint32_t
ScaleUpPackets::NextBytes(const Source& source) const
{
    return source.pair == kNone
               ? source.frames.front().bytes
               : static_cast<uint32_t>(
                     std::min(m_pairs[source.pair].messages.front().left, m_frames.frame.value));
}

uint32_t
ScaleUpPackets::Pick(const Link& link, int64_t now, int64_t* later) const
{
    // The one before it, in turns.
    uint32_t before = link.turn;
    do
    {
        const Source& source = m_sources[m_sources[before].next];
        const int64_t from = source.pair == kNone ? now : m_pairs[source.pair].notBefore;
        if (from <= now)
        {
            return before;
        }
        *later = std::min(*later, from);
        before = m_sources[before].next;
    } while (before != link.turn);
    return kNone;
}

bool
ScaleUpPackets::TakeCredits(Link& link, uint32_t bytes, int64_t now)
{
    while (!link.credits.empty() && link.credits.front().first <= now)
    {
        link.used -= link.credits.front().second;
        link.credits.pop_front();
    }
    if (link.room == 0)
    {
        return true;
    }
    if (link.used + bytes > link.room)
    {
        return false;
    }
    link.used += bytes;
    m_counters.deepest = std::max(m_counters.deepest, link.used);
    return true;
}

void
ScaleUpPackets::Try(uint32_t number, int64_t now)
{
    Link& link = m_links[number];
    if (link.turn == kNone)
    {
        return;
    }
    if (link.free > now)
    {
        Schedule(link.free, number, false);
        return;
    }
    int64_t later = kNeverPs;
    const uint32_t before = Pick(link, now, &later);
    if (before == kNone)
    {
        Schedule(later, number, false);
        return;
    }
    const uint32_t which = m_sources[before].next;
    const uint32_t flits = FlitsOf(NextBytes(m_sources[which]));
    if (!TakeCredits(link, flits * static_cast<uint32_t>(m_frames.flit.value), now))
    {
        if (link.waits == kNeverPs)
        {
            link.waits = now;
        }
        if (!link.credits.empty())
        {
            Schedule(link.credits.front().first, number, false);
        }
        return;
    }
    if (link.waits != kNeverPs)
    {
        m_counters.stalled += now - link.waits;
        link.waits = kNeverPs;
    }
    link.turn = before; // so that its turn is first, and behind it the next one's
    Send(number, which, now);
}

void
ScaleUpPackets::Send(uint32_t number, uint32_t which, int64_t now)
{
    Frame frame;
    bool empty = false;
    if (m_sources[which].pair == kNone)
    {
        Source& source = m_sources[which];
        frame = source.frames.front();
        source.frames.pop_front();
        empty = source.frames.empty();
    }
    else
    {
        Pair& pair = m_pairs[m_sources[which].pair];
        Message& message = pair.messages.front();
        frame.pair = m_sources[which].pair;
        frame.bytes = NextBytes(m_sources[which]);
        frame.flits = FlitsOf(frame.bytes);
        message.left -= frame.bytes;
        pair.notBefore = message.gapPs ? now + Whole(frame.bytes, message.gapPs) : 0;
        frame.last = message.left == 0;
        if (frame.last)
        {
            pair.flying.push_back(message);
            pair.messages.pop_front();
        }
        empty = pair.messages.empty();
        ++m_counters.frames;
        m_counters.flits += frame.flits;
    }
    Link& link = m_links[number];
    // The next one's turn; an empty one has none.
    if (empty)
    {
        m_sources[which].queued = false;
        if (link.turn == which)
        {
            link.turn = kNone;
        }
        else
        {
            m_sources[link.turn].next = m_sources[which].next;
        }
    }
    else
    {
        link.turn = which;
    }
    ++m_counters.hops;
    const int64_t takes = Whole(frame.flits, link.psPerFlit);
    link.free = now + takes;
    link.busy += takes;
    const uint32_t input = m_sources[which].input;
    if (input != kNone)
    {
        // Its room is free when its tail has left.
        Link& from = m_links[input];
        const int64_t back = link.free + m_frames.linkDelay.ps;
        auto at = from.credits.end();
        while (at != from.credits.begin() && std::prev(at)->first > back)
        {
            --at;
        }
        from.credits.insert(at, {back, frame.flits * static_cast<uint32_t>(m_frames.flit.value)});
        if (from.waits != kNeverPs)
        {
            Schedule(from.credits.front().first, input, false);
        }
    }
    Pair& pair = m_pairs[frame.pair];
    const int64_t tail = link.free + m_frames.linkDelay.ps;
    if (frame.hop + 1U == pair.path.size())
    {
        if (link.room != 0) // a switch that adds up takes it at once
        {
            link.credits.emplace_back(tail + m_frames.linkDelay.ps,
                                      frame.flits * static_cast<uint32_t>(m_frames.flit.value));
        }
        if (frame.last)
        {
            Deliver(pair, tail);
        }
    }
    else
    {
        const uint32_t next = pair.path[frame.hop + 1U];
        if (frame.last && frame.hop == 0 && pair.flying.size() == 1)
        {
            pair.idleArrival = link.free + pair.flying.front().latency;
        }
        const int64_t head = now + m_frames.linkDelay.ps;
        frame.ready = m_frames.switchDelay.ps +
                      std::max(head, tail - Whole(frame.flits, m_links[next].psPerFlit));
        ++frame.hop;
        link.flying.push_back(frame);
        if (link.flying.size() == 1)
        {
            Schedule(frame.ready, number, true);
        }
    }
    if (link.turn != kNone)
    {
        Schedule(link.free, number, false);
    }
}

void
ScaleUpPackets::Hand(uint32_t number, int64_t now)
{
    Link& link = m_links[number];
    const Frame frame = link.flying.front();
    link.flying.pop_front();
    if (!link.flying.empty())
    {
        Schedule(link.flying.front().ready, number, true);
    }
    const Pair& pair = m_pairs[frame.pair];
    const uint32_t source = pair.sources[frame.hop - 1U];
    const uint32_t next = pair.path[frame.hop];
    m_sources[source].frames.push_back(frame);
    Queue(next, source);
    Try(next, now);
}

void
ScaleUpPackets::Deliver(Pair& pair, int64_t tail)
{
    const Message message = pair.flying.front();
    pair.flying.pop_front();
    // Beyond the wire of one switch; to and from the switch a link is all of it.
    const int64_t wire = pair.path.size() == 1 ? m_frames.linkDelay.ps : m_wire;
    const int64_t at = tail + std::max<int64_t>(0, message.latency - wire);
    pair.lastArrival = std::max(pair.lastArrival, at);
    pair.idleArrival = pair.lastArrival;
    m_arrivals.push_back({pair.lastArrival, m_order++, message.cookie});
    std::push_heap(m_arrivals.begin(), m_arrivals.end());
}

rdma::TimePoint
ScaleUpPackets::NextWake()
{
    const int64_t known = m_arrivals.empty() ? kNeverPs : m_arrivals.front().at;
    return rdma::TimePoint(std::min(known, m_bound));
}

bool
ScaleUpPackets::Arrived(rdma::TimePoint now, uint64_t& cookie)
{
    Advance(now.ps);
    if (!m_arrivals.empty() && m_arrivals.front().at <= now.ps)
    {
        cookie = m_arrivals.front().cookie;
        std::pop_heap(m_arrivals.begin(), m_arrivals.end());
        m_arrivals.pop_back();
        --m_underWay;
        return true;
    }
    if (m_bound <= now.ps)
    {
        m_bound = kNeverPs;
        for (std::size_t i = m_active.size(); i-- > 0;)
        {
            Pair& pair = m_pairs[m_active[i]];
            if (pair.messages.empty() && pair.flying.empty())
            {
                pair.active = false;
                m_active[i] = m_active.back();
                m_active.pop_back();
                continue;
            }
            m_bound = std::min(m_bound, BoundOf(pair, now.ps));
        }
    }
    return false;
}

} // namespace topo
