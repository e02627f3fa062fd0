/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/dimensions.h"

#include "contrib/rdma/core/unit-strings.h"
#include "topologies/error.h"
#include "topologies/limits.h"
#include "topologies/names.h"
#include "topologies/parameter.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace topo
{

namespace
{

struct KindName
{
    DimensionKind kind;
    const char* name;
    const char* several; ///< shorthand for dimensions alike: "torus"
    const char* astra;
};

const std::vector<KindName>&
KindNames()
{
    static const std::vector<KindName> names = {
        {DimensionKind::kRing, "ring", "torus", "Ring"},
        {DimensionKind::kLine, "line", "mesh", nullptr},
        {DimensionKind::kFull, "fc", nullptr, "FullyConnected"},
        {DimensionKind::kSwitch, "switch", nullptr, "Switch"},
    };
    return names;
}

std::vector<std::string>
AllNames()
{
    std::vector<std::string> all;
    for (const KindName& one : KindNames())
    {
        all.push_back(one.name);
    }
    for (const KindName& one : KindNames())
    {
        if (one.several)
        {
            all.push_back(one.several);
        }
    }
    return all;
}

std::string
WhyNoRate(rdma::BitRate rate)
{
    return rate < kSlowestLink || rate > kFastestLink
               ? "has a rate of " + rdma::ToString(rate) + "; allowed: " + RateLimitsText()
               : "";
}

std::string
WhyNoDelay(rdma::Duration delay)
{
    return delay.ps < 0 || delay > kLongestDelay
               ? "has a delay of " + rdma::ToString(delay) + "; allowed: 0 to " + kLongestDelayText
               : "";
}

/// "2400Gbps,50ns" into the dimension. \return what is wrong, or ""
std::string
ReadLink(const std::string& text, Dimension* dimension)
{
    const std::vector<std::string> parts = PartsOf(text, ',');
    if (parts.size() > 2)
    {
        return "has more than a rate and a delay behind @: " + Quoted(text);
    }
    const auto rate = rdma::ParseBitRate(parts[0]);
    if (!rate)
    {
        return "has no rate behind @: " + Quoted(parts[0]) + "; allowed: " + rdma::kBitRateHelp;
    }
    dimension->rate = *rate;
    std::string why = WhyNoRate(*rate);
    if (why.empty() && parts.size() == 2)
    {
        dimension->delay = rdma::ParseDuration(parts[1]);
        why = dimension->delay ? WhyNoDelay(*dimension->delay)
                               : "has no delay behind the rate: " + Quoted(parts[1]) +
                                     "; allowed: " + rdma::kDurationHelp;
    }
    return why;
}

/// "ring:4@100Gbps" or "torus:4x4" appended to *all. \return what is wrong, or ""
std::string
ReadPart(const std::string& part, std::vector<Dimension>* all)
{
    const std::size_t at = part.find('@');
    const std::string what = part.substr(0, at);
    const std::size_t colon = what.find(':');
    const std::string name = what.substr(0, colon);
    const auto& names = KindNames();
    const auto found = std::find_if(names.begin(), names.end(), [&](const KindName& one) {
        return SameName(name, one.name) || (one.several && SameName(name, one.several));
    });
    if (found == names.end())
    {
        return "names no kind of dimension: " + Quoted(name) + DidYouMean(name, AllNames()) +
               "; allowed: " + JoinNames(AllNames());
    }
    if (colon == std::string::npos)
    {
        return "has no size: " + Quoted(part) + "; allowed: " + kDimensionsHelp;
    }
    const std::string sizesText = what.substr(colon + 1);
    const auto sizes = ParseSizes(sizesText, 1);
    const bool several = found->several && SameName(name, found->several);
    if (!sizes || (!several && sizes->size() > 1))
    {
        return Quoted(sizesText) + " is no size of a " + name + "; allowed: " +
               (several ? std::string(kSizesFromOneHelp) : "a number from 1 to 65535");
    }
    Dimension dimension;
    dimension.kind = found->kind;
    if (at != std::string::npos)
    {
        const std::string why = ReadLink(part.substr(at + 1), &dimension);
        if (!why.empty())
        {
            return why;
        }
    }
    for (const uint32_t size : *sizes)
    {
        dimension.size = size;
        all->push_back(dimension);
    }
    return "";
}

/// As people write it, unless that would round it.
std::string
Exactly(rdma::BitRate rate)
{
    const std::string text = rdma::ToString(rate);
    const auto back = rdma::ParseBitRate(text);
    return back && back->bps == rate.bps ? text : std::to_string(rate.bps) + "bps";
}

std::string
Exactly(rdma::Duration time)
{
    const std::string text = rdma::ToString(time);
    const auto back = rdma::ParseDuration(text);
    return back && back->ps == time.ps ? text : std::to_string(time.ps) + "ps";
}

/// \param rate,time how they are written
template <class Rate, class Time>
std::string
TextOf(const std::vector<Dimension>& dimensions, const Rate& rate, const Time& time)
{
    std::string text;
    for (const Dimension& one : dimensions)
    {
        text += text.empty() ? "" : "+";
        text += std::string(KindText(one.kind)) + ":" + std::to_string(one.size);
        if (one.rate.bps)
        {
            text += "@" + rate(one.rate);
            text += one.delay ? "," + time(*one.delay) : "";
        }
    }
    return text;
}

/// A number of a list of ASTRA-sim's.
std::optional<double>
NumberOf(const std::string& text)
{
    char* end = nullptr;
    errno = 0;
    const double number = std::strtod(text.c_str(), &end);
    const bool whole = !text.empty() && *end == '\0' && errno == 0;
    return whole && std::isfinite(number) ? std::optional<double>(number) : std::nullopt;
}

} // namespace

const char* const kDimensionsHelp =
    "dimensions with a + between them, each kind:size@rate,delay with ring, line, fc, switch, or "
    "torus:4x4, mesh:4x4, such as ring:4@2400Gbps,50ns+switch:8@400Gbps,1us";

uint32_t
Dimension::Ports() const
{
    if (size < 2)
    {
        return 0;
    }
    switch (kind)
    {
    case DimensionKind::kRing:
    case DimensionKind::kLine:
        return size == 2 ? 1 : 2;
    case DimensionKind::kFull:
        return size - 1;
    case DimensionKind::kSwitch:
        break;
    }
    return 1;
}

const char*
KindText(DimensionKind kind)
{
    return KindNames()[static_cast<std::size_t>(kind)].name;
}

std::vector<std::string>
PartsOf(const std::string& text, char between)
{
    std::vector<std::string> parts(1);
    for (const char c : text)
    {
        if (c == between)
        {
            parts.emplace_back();
        }
        else
        {
            parts.back() += c;
        }
    }
    return parts;
}

std::optional<std::vector<Dimension>>
ParseDimensions(const std::string& text, std::string* problem)
{
    std::vector<Dimension> all;
    for (const std::string& part : PartsOf(text, '+'))
    {
        *problem = ReadPart(part, &all);
        if (problem->empty() && all.size() > kMostDimensions)
        {
            *problem = "has more than " + std::to_string(kMostDimensions) + " dimensions";
        }
        if (!problem->empty())
        {
            return std::nullopt;
        }
    }
    return all;
}

std::string
DimensionsText(const std::vector<Dimension>& dimensions)
{
    return TextOf(
        dimensions,
        [](rdma::BitRate rate) { return Exactly(rate); },
        [](rdma::Duration time) { return Exactly(time); });
}

std::string
DimensionsName(const std::vector<Dimension>& dimensions)
{
    return TextOf(
        dimensions,
        [](rdma::BitRate rate) { return rdma::ToString(rate); },
        [](rdma::Duration time) { return rdma::ToString(time); });
}

std::string
DimensionSizes(const std::vector<Dimension>& dimensions)
{
    std::vector<uint32_t> sizes;
    for (const Dimension& one : dimensions)
    {
        sizes.push_back(one.size);
    }
    return SizesText(sizes);
}

uint64_t
NodesOf(const std::vector<Dimension>& dimensions)
{
    uint64_t nodes = 1;
    for (const Dimension& one : dimensions)
    {
        nodes *= one.size;
        if (nodes > UINT32_MAX)
        {
            return UINT64_MAX;
        }
    }
    return nodes;
}

bool
IsAstraWords(const std::string& text)
{
    const auto parts = PartsOf(text, '_');
    return std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
        const auto& names = KindNames();
        return std::any_of(names.begin(), names.end(), [&](const KindName& one) {
            return one.astra && part == one.astra;
        });
    });
}

std::optional<std::vector<Dimension>>
DimensionsOf(const AstraWords& words, std::string* problem)
{
    const std::size_t count = words.topology.size();
    const auto as = [&](const char* what, const std::vector<std::string>& list) {
        if (list.size() != count)
        {
            *problem = std::string(what) + " has " + std::to_string(list.size()) + " of " +
                       Counted(count, "dimension");
        }
        return list.size() == count;
    };
    if (count == 0 || count > kMostDimensions)
    {
        *problem = "has " + std::to_string(count) + " dimensions; allowed: 1 to " +
                   std::to_string(kMostDimensions);
        return std::nullopt;
    }
    if (!as("npus_count", words.npus) || !as("bandwidth", words.bandwidths) ||
        !as("latency", words.latencies))
    {
        return std::nullopt;
    }
    std::vector<Dimension> all;
    for (std::size_t d = 0; d < count; ++d)
    {
        const auto& names = KindNames();
        const auto found = std::find_if(names.begin(), names.end(), [&](const KindName& one) {
            return one.astra && words.topology[d] == one.astra;
        });
        const auto npus = NumberOf(words.npus[d]);
        const auto bandwidth = NumberOf(words.bandwidths[d]);
        const auto latency = NumberOf(words.latencies[d]);
        Dimension one;
        if (found == names.end())
        {
            *problem = "topology has " + Quoted(words.topology[d]) +
                       "; allowed: Ring, FullyConnected, Switch";
        }
        else if (!npus || *npus < 1 || *npus > 65535 || std::floor(*npus) != *npus)
        {
            *problem = "npus_count has " + Quoted(words.npus[d]) + "; allowed: 1 to 65535";
        }
        else if (!bandwidth || *bandwidth <= 0 || *bandwidth > 1e5)
        {
            *problem = "bandwidth has " + Quoted(words.bandwidths[d]) +
                       "; allowed: GB/s (2^30 bytes) above 0, at most 100000";
        }
        else if (!latency || *latency < 0 || *latency > 1e10)
        {
            *problem = "latency has " + Quoted(words.latencies[d]) +
                       "; allowed: nanoseconds from 0 to 10000000000";
        }
        else
        {
            one.kind = found->kind;
            one.size = static_cast<uint32_t>(*npus);
            one.rate = rdma::BitRate(std::llround(*bandwidth * 8 * (1UL << 30)));
            one.delay = rdma::Duration(std::llround(*latency * 1e3));
            const std::string why = WhyNoRate(one.rate);
            *problem = why.empty() ? "" : "bandwidth " + why;
        }
        if (!problem->empty())
        {
            return std::nullopt;
        }
        all.push_back(one);
    }
    return all;
}

} // namespace topo
