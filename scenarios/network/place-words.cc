/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/place-words.h"

#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/network/shaper-options.h"
#include "scenarios/options/options-detail.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

namespace scenario
{

namespace
{

using PlaceValues = std::vector<std::pair<std::string, std::string>>;

std::optional<int>
WholeWithin(const std::string& text, int least, int most)
{
    int number = 0;
    const char* const end = text.data() + text.size();
    const auto [after, bad] = std::from_chars(text.data(), end, number);
    return bad == std::errc() && after == end && number >= least && number <= most
               ? std::optional(number)
               : std::nullopt;
}

PlaceValues
ReadBytes(const char* attribute, const std::string& text)
{
    const auto bytes = rdma::ParseBytes(text);
    return bytes ? PlaceValues{{attribute, std::to_string(bytes->value)}} : PlaceValues{};
}

/// A threshold of WRED_PROFILE is bytes of a queue, whatever the port's rate.
PlaceValues
ReadThreshold(const char* attribute, const std::string& text)
{
    PlaceValues read = ReadBytes(attribute, text);
    if (!read.empty())
    {
        read.emplace_back("ns3::RdmaSwitch::EcnPer100G", "false");
    }
    return read;
}

PlaceValues
ReadMask(const std::string& text)
{
    uint32_t mask = 0;
    for (std::size_t at = 0; at <= text.size();)
    {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const auto priority = WholeWithin(text.substr(at, comma - at), 0, 7);
        if (!priority)
        {
            return {};
        }
        mask |= 1U << *priority;
        at = comma + 1;
    }
    return {{"ns3::RdmaSwitch::LosslessPriorities", std::to_string(mask)}};
}

PlaceValues
ReadNumber(const char* attribute, const std::string& text, int most)
{
    const auto number = WholeWithin(text, 0, most);
    return number ? PlaceValues{{attribute, std::to_string(*number)}} : PlaceValues{};
}

} // namespace

const std::vector<PlaceWord>&
PlaceWords()
{
    static const std::vector<PlaceWord> words = {
        {"green_min_threshold",
         "WRED_PROFILE: queue at which marking begins, bytes of the port as they are",
         "bytes, as 1048576",
         [](const std::string& t) { return ReadThreshold("ns3::RdmaSwitch::EcnKmin", t); }},
        {"green_max_threshold",
         "WRED_PROFILE: queue from which everything is marked, bytes of the port as they are",
         "bytes, as 3145728",
         [](const std::string& t) { return ReadThreshold("ns3::RdmaSwitch::EcnKmax", t); }},
        {"green_drop_probability",
         "WRED_PROFILE: marking probability just below the maximum, percent",
         "0 to 100",
         [](const std::string& t) {
             const auto percent = WholeWithin(t, 0, 100);
             return percent ? PlaceValues{{"ns3::RdmaSwitch::EcnPmax",
                                           detail::RealText(*percent / 100.)}}
                            : PlaceValues{};
         }},
        {"size",
         "BUFFER_POOL: shared buffer of the whole switch",
         "bytes, as 33554432",
         [](const std::string& t) { return ReadBytes("ns3::RdmaSwitch::BufferBytes", t); }},
        {"dynamic_th",
         "BUFFER_PROFILE of a lossless priority: alpha is 2 to this power",
         "-13 to 6",
         [](const std::string& t) {
             const auto power = WholeWithin(t, -13, 6);
             return power ? PlaceValues{{"ns3::RdmaSwitch::Alpha",
                                         detail::RealText(std::exp2(*power))}}
                          : PlaceValues{};
         }},
        {"pir",
         "SCHEDULER: rate that a queue may not exceed, bytes per second, and pbs bytes at once",
         "a list of QUEUE:PIR or QUEUE:PIR:PBS, as 3:1250000000:8192",
         ReadPir},
        {"xon_offset",
         "BUFFER_PROFILE: a paused port resumes this far below its threshold",
         "bytes, as 2288",
         [](const std::string& t) { return ReadBytes("ns3::RdmaSwitch::XonOffset", t); }},
        {"pfc_enable", "PORT_QOS_MAP: lossless priorities", "priorities 0 to 7, as 3,4", ReadMask},
        {"ecmp_hash_seed",
         "SWITCH: seed of the ECMP hash",
         "1 to 2147483647",
         [](const std::string& t) {
             return ReadNumber("ns3::EcmpLoadBalancer::HashSeed", t, 2147483647);
         }},
        {"ecmp_hash_offset",
         "SWITCH: bits by which the ECMP hash is rotated",
         "0 to 31",
         [](const std::string& t) {
             return ReadNumber("ns3::EcmpLoadBalancer::HashOffset", t, 31);
         }},
    };
    return words;
}

} // namespace scenario
