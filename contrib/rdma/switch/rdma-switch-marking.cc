/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of an Ethernet switch that marks: by its own law, which the common case asks one
 * comparison for (RdmaSwitch::OnDequeue), or by markers.
 */
#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/shown-text.h"
#include "contrib/rdma/core/unit-strings.h"
#include "rdma-switch.h"

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/rdma-named-class.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaSwitchMarking");

std::string
RdmaSwitch::CheckEcn() const
{
    NS_LOG_FUNCTION(this);
    if (!m_ecn)
    {
        return {};
    }
    if (m_ecnKmin > m_ecnKmax)
    {
        return "ns3::RdmaSwitch::EcnKmin: " + std::to_string(m_ecnKmin) + " is above EcnKmax, " +
               std::to_string(m_ecnKmax);
    }
    if (m_markBySojourn && m_markOnEnqueue)
    {
        return "ns3::RdmaSwitch::EcnBySojourn: a frame's time in the queue is not known when it "
               "joins it; allowed: only without EcnMarkOnEnqueue";
    }
    if (m_markBySojourn && !m_ecnPer100G)
    {
        return "ns3::RdmaSwitch::EcnBySojourn: its thresholds are times, the same at every rate; "
               "allowed: only with EcnPer100G";
    }
    PriorityCurves curves;
    const std::string error = ReadCurves(curves);
    if (!error.empty() || m_marker.empty())
    {
        return error;
    }
    const char* const own = m_markOnEnqueue   ? "EcnMarkOnEnqueue"
                            : m_markBySojourn ? "EcnBySojourn"
                            : m_markBehind    ? "EcnBehind"
                                              : nullptr;
    if (own)
    {
        return std::string("ns3::RdmaSwitch::") + own +
               ": is of the marking by EcnKmin, and a marker has its own way; allowed: only "
               "without "
               "Marker, or Marker: empty";
    }
    for (const PriorityCurve& curve : curves)
    {
        if (curve.given && !curve.off)
        {
            return "ns3::RdmaSwitch::EcnOfPriority: '" + rdma::Shown(m_ecnOfPriority, 60) +
                   "': thresholds are of the marking by EcnKmin; allowed with Marker: off";
        }
    }
    return {};
}

std::string
RdmaSwitch::ReadCurves(PriorityCurves& curves) const
{
    const auto wrong = [this] {
        return "ns3::RdmaSwitch::EcnOfPriority: '" + rdma::Shown(m_ecnOfPriority, 60) +
               "'; allowed: a list of priority:Kmin-Kmax, priority:Kmin-Kmax-Pmax or "
               "priority:off as 3:400KB-1.6MB,4:off, priorities 0 to 7, Kmin at most Kmax, at most "
               "1 TB, per 100 Gb/s, Pmax 0 to 1";
    };
    std::size_t at = 0;
    while (at < m_ecnOfPriority.size())
    {
        const std::size_t end = std::min(m_ecnOfPriority.find(',', at), m_ecnOfPriority.size());
        const std::string word = m_ecnOfPriority.substr(at, end - at);
        at = end + 1;
        if (word.size() < 3 || word[0] < '0' || word[0] > '7' || word[1] != ':' ||
            curves[word[0] - '0'].given || at == m_ecnOfPriority.size())
        {
            return wrong();
        }
        PriorityCurve& curve = curves[word[0] - '0'];
        curve.given = true;
        curve.off = word.substr(2) == "off";
        if (curve.off)
        {
            continue;
        }
        const std::size_t dash = word.find('-');
        const std::size_t second = dash == std::string::npos ? dash : word.find('-', dash + 1);
        const auto kmin = rdma::ParseBytes(word.substr(2, dash - std::min<std::size_t>(dash, 2)));
        const auto kmax = dash == std::string::npos
                              ? std::optional<rdma::Bytes>()
                              : rdma::ParseBytes(word.substr(dash + 1, second - dash - 1));
        curve.pmax = m_ecnPmax;
        char* rest = nullptr;
        if (second != std::string::npos)
        {
            curve.pmax = std::strtod(word.c_str() + second + 1, &rest);
        }
        if (!kmin || !kmax || kmin->value > kmax->value || kmax->value > MAX_THRESHOLD ||
            !(curve.pmax >= 0 && curve.pmax <= 1) ||
            (rest && (*rest || rest == word.c_str() + second + 1)))
        {
            return wrong();
        }
        curve.kmin = kmin->value;
        curve.kmax = kmax->value;
    }
    return {};
}

rdma::EcnLaw
RdmaSwitch::MakeEcnLaw(rdma::BitRate rate, const PriorityCurve& curve) const
{
    if (!m_ecn || curve.off)
    {
        return {};
    }
    // The attributes are for 100 Gb/s, where a byte takes 80 ps.
    if (m_markBySojourn)
    {
        return {rdma::Duration(static_cast<int64_t>(80 * curve.kmin)),
                rdma::Duration(static_cast<int64_t>(80 * curve.kmax)),
                curve.pmax};
    }
    rate = m_ecnPer100G ? rate : rdma::Gbps(100);
    return rdma::EcnLaw({rdma::ScaleToRate(rdma::Bytes(curve.kmin), rdma::Gbps(100), rate),
                         rdma::ScaleToRate(rdma::Bytes(curve.kmax), rdma::Gbps(100), rate),
                         curve.pmax});
}

void
RdmaSwitch::ApplyEcn()
{
    NS_LOG_FUNCTION(this);
    std::string error = CheckEcn();
    NS_ABORT_MSG_IF(!error.empty(), GetName() << ": " << error);
    const bool runs = IsRunning();
    m_markWithout = m_markBehind ? UINT32_MAX : 0;
    m_leastKmin = UINT64_MAX;
    m_ecnLaws.clear();
    m_priorityLaws.clear();
    m_unmarked = 0;
    const PriorityCurve ofAll{false, false, m_ecnKmin, m_ecnKmax, m_ecnPmax};
    PriorityCurves curves;
    error = m_ecn ? ReadCurves(curves) : "";
    for (const auto& port : m_ports)
    {
        const rdma::BitRate rate(port->GetRate());
        m_ecnLaws.push_back(MakeEcnLaw(rate, ofAll));
        if (m_ecnOfPriority.empty())
        {
            m_leastKmin = std::min(m_leastKmin, m_ecnLaws.back().Kmin());
            continue;
        }
        for (uint8_t p = 0; p < RdmaPort::PRIORITIES; ++p)
        {
            m_priorityLaws.push_back(MakeEcnLaw(rate, curves[p].given ? curves[p] : ofAll));
            m_leastKmin = std::min(m_leastKmin, m_priorityLaws.back().Kmin());
            m_unmarked |= curves[p].off ? 1U << p : 0;
        }
    }
    m_marksJoining = m_markOnEnqueue;
    m_looksAtJoins = m_marksJoining || !m_lotteries.empty();
    if (m_markers.empty())
    {
        return;
    }
    if (runs) // by the curve as it is now
    {
        error = StartMarkers();
        NS_ABORT_MSG_IF(!error.empty(), GetName() << ": " << error);
    }
    m_marksJoining = m_ecn;
    m_looksAtJoins = m_marksJoining || !m_lotteries.empty();
    m_leastKmin = UINT64_MAX;
    for (const auto& marker : m_markers)
    {
        m_leastKmin = m_ecn ? std::min(m_leastKmin, marker->GetLeast()) : UINT64_MAX;
    }
}

std::string
RdmaSwitch::MakeMarkers()
{
    m_markers.clear();
    if (m_marker.empty())
    {
        return {};
    }
    ObjectFactory factory;
    const std::string error =
        RdmaFindClass<RdmaMarker>("ns3::RdmaSwitch::Marker", m_marker, {}, factory);
    for (std::size_t i = 0; error.empty() && i < m_ports.size(); ++i)
    {
        m_markers.push_back(factory.Create<RdmaMarker>());
    }
    return error;
}

std::string
RdmaSwitch::StartMarkers()
{
    for (std::size_t i = 0; i < m_markers.size(); ++i)
    {
        const RdmaPort& port = *m_ports[i];
        const rdma::BitRate rate(m_ecnPer100G ? rdma::BitRate(port.GetRate()) : rdma::Gbps(100));
        const rdma::EcnParameters curve{
            rdma::ScaleToRate(rdma::Bytes(m_ecnKmin), rdma::Gbps(100), rate),
            rdma::ScaleToRate(rdma::Bytes(m_ecnKmax), rdma::Gbps(100), rate),
            m_ecnPmax};
        // Apart from the draws of its own law.
        const uint64_t seed = rdma::Mix64(~(m_drawSeed | i));
        const std::string error = m_markers[i]->Start(port, curve, seed);
        if (!error.empty())
        {
            return error;
        }
    }
    return {};
}

void
RdmaSwitch::MarkJoining(RdmaPort* port, RdmaFrame* frame, uint64_t queueBytes, int64_t now)
{
    const uint16_t index = port->GetPortIndex();
    const bool marks = m_markers.empty()
                           ? (frame->flags & RdmaFrame::ECT) && Marks(index, *frame, queueBytes)
                           : !(m_unmarked >> frame->priority & 1) &&
                                 m_markers[index]->OnEnqueue(*frame, queueBytes, now);
    if (marks && (frame->flags & RdmaFrame::ECT))
    {
        Mark(port, frame, queueBytes, now);
    }
}

void
RdmaSwitch::MarkLeaving(RdmaPort* port,
                        RdmaFrame* frame,
                        uint64_t queueBytes,
                        uint64_t length,
                        int64_t now)
{
    const uint16_t index = port->GetPortIndex();
    bool marks;
    if (m_markers.empty())
    {
        marks = !m_markOnEnqueue && (frame->flags & RdmaFrame::ECT) && Marks(index, *frame, length);
    }
    else
    {
        // At a resolution coarser than ps a frame may be sent a moment "before" it came.
        const int64_t sojourn = std::max<int64_t>(0, now - frame->time);
        marks = !(m_unmarked >> frame->priority & 1) &&
                m_markers[index]->OnDequeue(*frame, queueBytes, sojourn, now);
    }
    if (marks && (frame->flags & RdmaFrame::ECT))
    {
        Mark(port, frame, queueBytes, now);
    }
}

void
RdmaSwitch::RestartDraws()
{
    RdmaSwitchBase::RestartDraws();
    for (std::size_t port = 0; port < m_draws.size(); ++port)
    {
        m_draws[port] = rdma::Mix64(m_drawSeed | port);
    }
    for (const auto& marker : m_markers)
    {
        marker->RestartDraws();
    }
    m_lotteries.clear();
    m_looksAtJoins = m_marksJoining;
}

} // namespace ns3
