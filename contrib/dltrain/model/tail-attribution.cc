/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tail-attribution.h"

#include "contrib/rdma/core/units.h"
#include "results/human-text.h"
#include "results/line-log.h"

#include "ns3/rdma-port.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

namespace dltrain
{

namespace
{

constexpr std::size_t PARTS = static_cast<std::size_t>(TimeShare::COUNT);

constexpr std::size_t
At(TimeShare share)
{
    return static_cast<std::size_t>(share);
}

double
Us(int64_t ps)
{
    return static_cast<double>(ps) / 1e6;
}

std::string
Percent(int64_t part, int64_t whole)
{
    char text[32];
    std::snprintf(text,
                  sizeof(text),
                  "%.0f%%",
                  whole > 0 ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0.0);
    return text;
}

} // namespace

const char*
GetTimeShareName(TimeShare share)
{
    static const char* const names[PARTS] = {"backlog",
                                             "nic_turns",
                                             "nic_paused",
                                             "throttled",
                                             "window",
                                             "repeating",
                                             "serialization",
                                             "propagation",
                                             "queued",
                                             "paused",
                                             "host"};
    return names[At(share)];
}

const char*
GetTimeShareWords(TimeShare share, const rdma::LinkWords& link)
{
    switch (share)
    {
    case TimeShare::BACKLOG:
        return "waiting for earlier messages on the same connection";
    case TimeShare::NIC_TURNS:
        return "waiting while the NIC served other connections";
    case TimeShare::NIC_PAUSED:
        return link.heldInNic;
    case TimeShare::THROTTLED:
        return "throttled by congestion control";
    case TimeShare::WINDOW:
        return "waiting for acknowledgements, as the window was full";
    case TimeShare::REPEATING:
        return "repeating lost packets";
    case TimeShare::SERIALIZATION:
        return "sending its own bytes";
    case TimeShare::PROPAGATION:
        return "on cables and in switch pipelines";
    case TimeShare::QUEUED:
        return "queued in switches";
    case TimeShare::PAUSED:
        return link.heldInSwitch;
    case TimeShare::HOST:
    case TimeShare::COUNT:
        break;
    }
    return "in the limits of NICs";
}

TailAttribution::TailAttribution(const ns3::RdmaFabric& fabric,
                                 const std::vector<std::string>& endpointNames,
                                 const std::vector<std::string>& portNames,
                                 const PortIndex& portIndex,
                                 const std::vector<std::string>& tags)
    : m_link(fabric.GetLinkLayer().GetWords()),
      m_endpoints(endpointNames),
      m_ports(portNames),
      m_tags(tags),
      m_portIndex(portIndex),
      m_atPort(fabric.GetNEnds())
{
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        m_limits |= fabric.GetNic(e)->GetLimits() != nullptr;
    }
}

void
TailAttribution::Clear()
{
    m_slowest.clear();
    m_sums = {};
    m_sum = 0;
    m_known = m_unknown = 0;
    std::fill(m_atPort.begin(), m_atPort.end(), std::array<int64_t, 2>{});
}

void
TailAttribution::AddUnknown()
{
    ++m_unknown;
}

bool
TailAttribution::Slower(const Late& a, const Late& b)
{
    return a.Lost() != b.Lost() ? a.Lost() > b.Lost() : a.record.flow < b.record.flow;
}

const MessageParts&
TailAttribution::Divide(const ns3::RdmaJourney& journey, int64_t end)
{
    Parts& parts = m_divided.parts;
    parts = {};
    parts[At(TimeShare::BACKLOG)] = journey.backlog;
    parts[At(TimeShare::NIC_TURNS)] = journey.others;
    parts[At(TimeShare::NIC_PAUSED)] = journey.nicPaused;
    parts[At(TimeShare::THROTTLED)] = journey.throttled;
    parts[At(TimeShare::WINDOW)] = journey.window;
    parts[At(TimeShare::REPEATING)] = journey.repeating;
    parts[At(TimeShare::SERIALIZATION)] = journey.ownPackets;

    int64_t network = end - journey.started;
    int64_t lines = 0; // exact serialization on every link
    m_divided.hops.clear();
    const auto cross = [&](const ns3::RdmaPort* out, int64_t waited) {
        const int64_t way = out->GetDelayPs() + out->GetPeer()->GetReceiveLatencyPs();
        parts[At(TimeShare::PROPAGATION)] += way;
        network -= way;
        const int64_t line =
            rdma::SerializationTime(rdma::Bytes(journey.wireBytes), rdma::BitRate(out->GetRate()))
                .ps;
        lines += line;
        m_divided.hops.push_back({});
        m_divided.hops.back().port = m_portIndex.at(out);
        m_divided.hops.back().time = waited + line + way;
        m_divided.hops.back().waited = waited;
        return &m_divided.hops.back();
    };
    MessageParts::Hop* nic =
        cross(journey.nic, journey.started - journey.posted - journey.ownPackets);
    nic->time += journey.ownPackets;
    nic->paused = journey.nicPaused;
    int64_t most = 0;
    for (std::size_t i = 0; i < At(TimeShare::SERIALIZATION); ++i)
    {
        if (parts[i] > most)
        {
            most = parts[i];
            nic->why = static_cast<TimeShare>(i);
        }
    }
    for (const ns3::RdmaJourney::Hop& hop : journey.hops)
    {
        const int64_t waited = hop.queued + hop.paused;
        MessageParts::Hop* here = cross(hop.egress, waited);
        here->paused = hop.paused;
        here->behind = hop.behind;
        here->why = hop.paused > hop.queued ? TimeShare::PAUSED : TimeShare::QUEUED;
        parts[At(TimeShare::QUEUED)] += hop.queued;
        parts[At(TimeShare::PAUSED)] += hop.paused;
        network -= waited;
    }
    // What is left are the lines; with limits of NICs the host's side as well.
    const int64_t host = m_limits ? network - lines : 0;
    parts[At(TimeShare::HOST)] = host;
    parts[At(TimeShare::SERIALIZATION)] += network - host;
    return m_divided;
}

void
TailAttribution::Add(const results::FlowRecord& record, const MessageParts& divided)
{
    Late late;
    late.record = record;
    const Parts& parts = divided.parts;
    late.parts = parts;
    for (std::size_t i = 1; i < divided.hops.size(); ++i)
    {
        const MessageParts::Hop& hop = divided.hops[i];
        m_atPort[hop.port][0] += hop.waited - hop.paused;
        m_atPort[hop.port][1] += hop.paused;
        if (hop.waited > late.atPort)
        {
            late.port = hop.port;
            late.atPort = hop.waited;
            late.pausedThere = hop.paused;
            late.behind = hop.behind;
        }
    }

    ++m_known;
    m_sum += record.end - record.start;
    for (std::size_t i = 0; i < PARTS; ++i)
    {
        m_sums[i] += parts[i];
    }
    if (m_slowest.size() < SLOWEST)
    {
        m_slowest.push_back(late);
        std::push_heap(m_slowest.begin(), m_slowest.end(), Slower);
    }
    else if (Slower(late, m_slowest.front()))
    {
        std::pop_heap(m_slowest.begin(), m_slowest.end(), Slower);
        m_slowest.back() = late;
        std::push_heap(m_slowest.begin(), m_slowest.end(), Slower);
    }
}

std::vector<TailAttribution::Late>
TailAttribution::Sorted() const
{
    std::vector<Late> sorted = m_slowest;
    std::sort(sorted.begin(), sorted.end(), Slower);
    return sorted;
}

std::string
TailAttribution::Why(const Late& late) const
{
    const int64_t whole = late.record.end - late.record.start;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < PARTS; ++i)
    {
        order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return late.parts[a] > late.parts[b];
    });
    std::string text;
    for (std::size_t i = 0; i < 3; ++i)
    {
        const TimeShare share = static_cast<TimeShare>(order[i]);
        const int64_t part = late.parts[order[i]];
        if (part * 20 < whole) // below 5% is not worth a word
        {
            break;
        }
        text += (text.empty() ? "" : ", ") + Percent(part, whole) + " ";
        text += GetTimeShareWords(share, m_link);
        if (share == TimeShare::QUEUED && late.atPort > late.pausedThere)
        {
            text += ", most at " + m_ports[late.port];
            const ns3::RdmaJourney::Flow& f = late.behind;
            if (f.known && f.src == late.record.src && f.dst == late.record.dst)
            {
                text += " behind its own packets";
            }
            else if (f.known)
            {
                text += " behind " + m_endpoints[f.src] + "->" + m_endpoints[f.dst];
                if (f.tag < m_tags.size())
                {
                    text += " (" + m_tags[f.tag] + ")";
                }
            }
        }
        else if (share == TimeShare::PAUSED && late.pausedThere)
        {
            const std::string& link = m_ports[late.port];
            text += ", most at " + link + " by " + link.substr(link.find("->") + 2);
        }
    }
    return text;
}

std::vector<std::string>
TailAttribution::InWords(std::size_t most) const
{
    std::vector<std::string> lines;
    std::set<std::array<uint32_t, 3>> told;
    for (const Late& late : Sorted())
    {
        if (!told.insert({late.record.src, late.record.dst, late.record.tag}).second)
        {
            continue; // messages of one flow are late for one reason
        }
        if (lines.size() >= most || late.Lost() <= 0)
        {
            break;
        }
        const results::FlowRecord& r = late.record;
        lines.push_back(m_endpoints[r.src] + "->" + m_endpoints[r.dst] + ", " + m_tags[r.tag] +
                        ": " + results::HumanTime(Us(r.end - r.start)) + ", alone " +
                        results::HumanTime(Us(r.ideal)) + ": " + Why(late));
    }
    return lines;
}

nlohmann::ordered_json
TailAttribution::ToJson() const
{
    nlohmann::ordered_json j;
    j["messages"] = m_known;
    j["messages_unknown"] = m_unknown;
    j["share"] = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < PARTS; ++i)
    {
        j["share"][GetTimeShareName(static_cast<TimeShare>(i))] =
            m_sum > 0 ? static_cast<double>(m_sums[i]) / static_cast<double>(m_sum) : 0.0;
    }
    std::vector<uint32_t> ports;
    for (uint32_t p = 0; p < m_atPort.size(); ++p)
    {
        if (m_atPort[p][0] + m_atPort[p][1] > 0)
        {
            ports.push_back(p);
        }
    }
    std::stable_sort(ports.begin(), ports.end(), [this](uint32_t a, uint32_t b) {
        return m_atPort[a][0] + m_atPort[a][1] > m_atPort[b][0] + m_atPort[b][1];
    });
    ports.resize(std::min(ports.size(), TOLD));
    j["ports"] = nlohmann::ordered_json::array();
    for (const uint32_t p : ports)
    {
        j["ports"].push_back({{"link", m_ports[p]},
                              {"queued_us", Us(m_atPort[p][0])},
                              {"paused_us", Us(m_atPort[p][1])}});
    }
    j["slowest"] = InWords(TOLD);
    return j;
}

void
TailAttribution::Write(const std::string& path) const
{
    results::LineLog file(path);
    std::string line = "flow,src,dst,bytes,tag,fct_us,ideal_fct_us,lost_us";
    for (std::size_t i = 0; i < PARTS; ++i)
    {
        line += std::string(",") + GetTimeShareName(static_cast<TimeShare>(i)) + "_us";
    }
    file.Write(line + ",why");
    for (const Late& late : Sorted())
    {
        const results::FlowRecord& r = late.record;
        line.clear();
        results::AppendInteger(line, r.flow);
        line += ',';
        results::AppendField(line, m_endpoints[r.src]);
        line += ',';
        results::AppendField(line, m_endpoints[r.dst]);
        line += ',';
        results::AppendInteger(line, r.bytes);
        line += ',';
        results::AppendField(line, m_tags[r.tag]);
        std::vector<int64_t> times{r.end - r.start, r.ideal, late.Lost()};
        times.insert(times.end(), late.parts.begin(), late.parts.end());
        for (const int64_t ps : times)
        {
            line += ',';
            results::AppendMicroseconds(line, ps);
        }
        line += ',';
        results::AppendField(line, Why(late));
        file.Write(line);
    }
    file.Close();
}

} // namespace dltrain
