/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/compared/band.h"

#include "scenarios/models/zoo-files.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace compared
{

namespace
{

Band
BandFrom(const nlohmann::ordered_json& text)
{
    Band band;
    band.metric = text.at("metric");
    for (const auto& [facet, value] : text.at("of").items())
    {
        band.of.emplace_back(facet, value);
    }
    band.rows = text.at("rows");
    band.sources = text.at("sources");
    band.unit = text.at("unit");
    band.least = text.at("least");
    band.most = text.at("most");
    band.share = text.at("share");
    if (!text.at("held").is_null())
    {
        band.held = text.at("held").get<double>();
    }
    return band;
}

} // namespace

std::string
FacetOf(const Kind& kind, std::string_view facet)
{
    const auto found = std::find_if(kind.begin(), kind.end(), [facet](const auto& each) {
        return each.first == facet;
    });
    return found == kind.end() ? "" : found->second;
}

std::string
KindText(const Kind& kind)
{
    std::string text;
    for (const auto& [facet, value] : kind)
    {
        text += (text.empty() || value.empty() ? "" : ", ") + value;
    }
    return text;
}

const std::vector<Band>&
Bands()
{
    static const std::vector<Band> bands = [] {
        std::vector<Band> all;
        const auto text = nlohmann::ordered_json::parse(training::ZooFiles().at("bands.json"));
        for (const auto& each : text.at("bands"))
        {
            all.push_back(BandFrom(each));
        }
        return all;
    }();
    return bands;
}

const Band*
FindBand(std::string_view metric, const Kind& kind, const std::vector<Band>& groups)
{
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const Band& band) {
        return band.metric == metric &&
               std::all_of(band.of.begin(), band.of.end(), [&kind](const auto& facet) {
                   return FacetOf(kind, facet.first) == facet.second;
               });
    });
    return found == groups.end() ? nullptr : &*found;
}

} // namespace compared
