/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/shaper-options.h"

#include "contrib/rdma/core/class-shapers.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/modes.h"
#include "scenarios/network/transport-options.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace scenario
{

namespace
{

constexpr const char* kShaperAttribute = "ns3::RdmaSwitch::Shaper";

/// \return the end of the number; null: there is none
const char*
ReadWhole(const char* at, const char* end, uint64_t* number)
{
    const auto [after, bad] = std::from_chars(at, end, *number);
    return bad == std::errc() ? after : nullptr;
}

} // namespace

std::vector<Option>
ShaperOptionRows()
{
    return {
        Section{"/fabric", "Fabric"}
            .Only(when::Packets())
            .Only(when::Ethernet())
            .List("shaper",
                  "rates that priorities of switches' ports may not exceed, by token buckets; "
                  "BURST, 8 KB, may go at once")
            .As(&asked::Fabric::shaper)
            .Shows("P:RATE[:BURST],...")
            .Otherwise("none")
            .Example("3:25Gbps")
            .Sets(kShaperAttribute),
    };
}

bool
IsShaper(const std::string& attribute)
{
    return attribute == kShaperAttribute || attribute == "ns3::RdmaPort::Shaper";
}

std::string
WhyNoShaper(const std::string& transport, const std::string& text)
{
    if (!rdma::ParseShapers(text))
    {
        return std::string("allowed: ") + rdma::kShapersAllowed;
    }
    if (IsTrimming(transport) && !text.empty() && text != rdma::kNoShapers)
    {
        return "cannot be combined with --transport=" + transport +
               ": switches that trim packets have queues of their own; allowed with it: none";
    }
    return {};
}

std::string
ApplyShapers(Validation* v)
{
    const Values& values = v->values;
    if (!values.Given(&asked::Fabric::shaper))
    {
        return {};
    }
    const std::string text = Join(values.Get(&asked::Fabric::shaper), ",");
    const std::string why = WhyNoShaper(values.Get(&asked::Fabric::transport), text);
    if (!why.empty())
    {
        v->Fail(&asked::Fabric::shaper, why);
    }
    return text == rdma::kNoShapers ? "" : text;
}

std::vector<std::pair<std::string, std::string>>
ReadPir(const std::string& text)
{
    std::string shapers;
    for (std::size_t at = 0; at <= text.size();)
    {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const char* const end = text.data() + comma;
        uint64_t queue = 0;
        uint64_t rate = 0;
        uint64_t burst = rdma::kShaperBurst.value;
        const char* next = ReadWhole(text.data() + at, end, &queue);
        next = next && next != end && *next == ':' ? ReadWhole(next + 1, end, &rate) : nullptr;
        next = next && next != end && *next == ':' ? ReadWhole(next + 1, end, &burst) : next;
        if (next != end || rate > UINT64_MAX / 8)
        {
            return {};
        }
        shapers += (shapers.empty() ? "" : ",") + std::to_string(queue) + ":" +
                   std::to_string(8 * rate) + "bps:" + std::to_string(burst) + "B";
        at = comma + 1;
    }
    return rdma::ParseShapers(shapers)
               ? std::vector{std::pair(std::string(kShaperAttribute), shapers)}
               : std::vector<std::pair<std::string, std::string>>{};
}

} // namespace scenario
