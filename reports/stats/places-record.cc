/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/stats/places-record.h"

#include <optional>
#include <string>
#include <type_traits>

namespace reports
{

namespace
{

using scenario::PlacedSetting;
using scenario::PlacesAsRun;
using scenario::SwitchValues;
using scenario::TierAsRun;

/// A value that all switches of the tier have; else null.
template <class Of>
auto
Common(Of of)
{
    return [of](const TierAsRun& tier) {
        using Value = std::decay_t<decltype(of(*tier.values))>;
        return tier.values ? std::optional<Value>(of(*tier.values)) : std::nullopt;
    };
}

const Object<TierAsRun> TIER{
    {"tier: Name", &TierAsRun::name},
    {"switches (count): Switches", &TierAsRun::switches},
    {"rate_gbps (Gb/s): Rate of a link to the nodes below; null: they differ",
     [](const TierAsRun& t) {
         return t.rate ? std::optional(static_cast<double>(t.rate->bps) / 1e9) : std::nullopt;
     }},
    {"delay_us (us): Propagation of such a link, one way; null: they differ",
     [](const TierAsRun& t) {
         return t.delay ? std::optional(static_cast<double>(t.delay->ps) / 1e6) : std::nullopt;
     }},
    {"latency_us (us): Latency of a switch; null, as all keys below: the switches differ",
     Common([](const SwitchValues& s) { return static_cast<double>(s.latency.ps) / 1e6; })},
    {"pfc: Whether lossless priorities are paused", Common([](const auto& s) { return s.pfc; })},
    {"ecn: Whether switches mark packets", Common([](const auto& s) { return s.ecn; })},
    {"ecn_kmin_bytes (B): Queue from which on they mark",
     Common([](const auto& s) { return s.kmin; })},
    {"ecn_kmax_bytes (B): Queue from which on they mark everything",
     Common([](const auto& s) { return s.kmax; })},
    {"ecn_pmax (0 to 1): Probability of a mark just below that",
     Common([](const auto& s) { return s.pmax; })},
    {"ecn_per_100g: Whether these two are per 100 Gb/s of port rate",
     Common([](const auto& s) { return s.per100G; })},
    {"buffer_per_100g_bytes (B): Shared buffer per 100 Gb/s of port rate",
     Common([](const auto& s) { return s.buffer; })},
    {"buffer_bytes (B): Shared buffer of the whole switch; 0: per 100 Gb/s",
     Common([](const auto& s) { return s.ofSwitch; })}};

const Object<PlacedSetting> SETTING{
    {"place: Tier, node, pattern or port", &PlacedSetting::place},
    {"key: Setting, as given", &PlacedSetting::key},
    {"value: Value, as given", &PlacedSetting::text},
    {"attribute: ns-3 attribute that it sets", &PlacedSetting::attribute},
    {"as_run: Value of the attribute", &PlacedSetting::value},
    {"nodes (count): Nodes that it covers", [](const auto& s) { return s.nodes.size(); }},
    {"ports (count): Ports that it covers", [](const auto& s) { return s.ends.size(); }}};

} // namespace

const Object<PlacesAsRun>&
PlacesKeys()
{
    static const Object<PlacesAsRun> keys{
        {"tiers: Tiers, from the hosts up", &PlacesAsRun::tiers, TIER},
        {"set: Settings of places, in ascending precedence", &PlacesAsRun::set, SETTING}};
    return keys;
}

} // namespace reports
