/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/place-options.h"

#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/network.h"
#include "scenarios/network/network-kinds.h"
#include "scenarios/network/place-check.h"
#include "scenarios/network/place-words.h"
#include "scenarios/network/places.h"
#include "topologies/limits.h"
#include "topologies/names.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

namespace scenario
{

std::vector<Option>
PlaceOptionRows()
{
    return {Section{"/fabric", "Fabric"}
                .Only(when::Packets())
                .Entries("set",
                         "a setting of one place: a tier, a node, a pattern (leaf-*), a port "
                         "(leaf-0:3) or a link (leaf-0->spine-1); keys: options of switches, ports "
                         "and NICs, ns3::Class::Attribute, words of SONiC")
                .As(&asked::Fabric::set)
                .OfPlaces()
                .Otherwise("none")
                .Example("*:switch-latency=600ns")};
}

std::vector<Option>
TierOptionRows()
{
    const Section section{"/network", "Network"};
    return {
        section
            .List("tier-rate",
                  "rate of the links of a tier to the switches below; hosts' links have "
                  "--nic's")
            .As(&asked::Network::tierRate)
            .Shows("TIER:RATE,...")
            .Otherwise("--fabric-rate")
            .Example("tier-2:200Gbps"),
        section.List("tier-delay", "propagation of the links of a tier to the nodes below, one way")
            .As(&asked::Network::tierDelay)
            .Shows("TIER:TIME,...")
            .Otherwise("--link-delay")
            .Example("tier-1:2us")};
}

namespace
{

/// Settings by tier: "core:800Gbps", or of JSON "core=800Gbps".
class TierReader
{
  public:
    TierReader(Validation* v, topo::Topology* topology)
        : m_v(v),
          m_topology(topology),
          m_places(*topology)
    {
    }

    /// \param change a link; false: the value is not allowed
    /// \param toHosts whether links to hosts are changed too
    template <class T>
    void Read(Member option,
              const std::vector<std::string>& words,
              const std::function<std::optional<T>(const std::string&)>& parse,
              const std::string& allowed,
              bool toHosts,
              const std::function<void(topo::LinkId, T)>& change)
    {
        std::vector<uint8_t> seen;
        for (const std::string& word : words)
        {
            const std::size_t at = std::min(word.rfind(':'), word.rfind('='));
            const auto tier =
                at == std::string::npos ? std::nullopt : m_places.FindTier(word.substr(0, at));
            const auto value = at == std::string::npos ? std::nullopt : parse(word.substr(at + 1));
            if (!tier)
            {
                Fail(option,
                     word,
                     "is of no tier of this network; allowed: TIER:VALUE, tiers: " +
                         m_places.TierNames(),
                     Nearest(word.substr(0, at)));
                return;
            }
            if (!value)
            {
                Fail(option, word, "allowed: " + allowed, "");
                return;
            }
            if (std::find(seen.begin(), seen.end(), *tier) != seen.end())
            {
                Fail(option, word, "names a tier a second time", "");
                return;
            }
            seen.push_back(*tier);
            bool any = false;
            for (topo::LinkId l = 0; l < m_topology->Links().size(); ++l)
            {
                if (IsOf(l, *tier, toHosts))
                {
                    change(l, *value);
                    any = true;
                }
            }
            if (!any)
            {
                Fail(option,
                     word,
                     "changes no link: this tier has none to switches below; hosts' links have the "
                     "rate of " +
                         Spell(&asked::Fabric::nic),
                     "");
                return;
            }
        }
    }

  private:
    bool IsOf(topo::LinkId l, uint8_t tier, bool toHosts) const
    {
        const topo::Link& link = m_topology->Links()[l];
        const topo::Node& a = m_topology->Nodes()[link.a];
        const topo::Node& b = m_topology->Nodes()[link.b];
        const bool host = a.kind == topo::NodeKind::kHost || b.kind == topo::NodeKind::kHost;
        return std::max(a.tier, b.tier) == tier && (toHosts || !host);
    }

    std::string Nearest(const std::string& text) const
    {
        std::vector<std::string> names;
        for (const Places::Tier& tier : m_places.Tiers())
        {
            names.insert(names.end(), tier.names.begin(), tier.names.end());
        }
        return rdma::NearestName(text, names);
    }

    void Fail(Member option, const std::string& word, std::string problem, std::string nearest)
    {
        m_v->errors.push_back(
            {m_v->values.Where(option), word, std::move(problem), std::move(nearest)});
    }

    Validation* m_v;
    topo::Topology* m_topology;
    Places m_places;
};

} // namespace

void
ApplyTiers(Validation* v, topo::Topology* topology, FabricSpec* fabric)
{
    const Values& values = v->values;
    fabric->tierLinks =
        values.Given(&asked::Network::tierRate) || values.Given(&asked::Network::tierDelay);
    if (!fabric->tierLinks)
    {
        return;
    }
    TierReader reader(v, topology);
    reader.Read<rdma::BitRate>(
        &asked::Network::tierRate,
        values.Get(&asked::Network::tierRate),
        [](const std::string& text) {
            const auto rate = rdma::ParseBitRate(text);
            return rate && rate->bps >= topo::kSlowestLink.bps &&
                           rate->bps <= topo::kFastestLink.bps
                       ? rate
                       : std::nullopt;
        },
        "TIER:RATE, " + CanonicalRate(topo::kSlowestLink.bps) + " to " +
            CanonicalRate(topo::kFastestLink.bps),
        false,
        [topology](topo::LinkId l, rdma::BitRate rate) { topology->SetRate(l, rate); });
    reader.Read<rdma::Duration>(
        &asked::Network::tierDelay,
        values.Get(&asked::Network::tierDelay),
        [](const std::string& text) {
            const auto delay = rdma::ParseDuration(text);
            return delay && delay->ps <= topo::kLongestDelay.ps ? delay : std::nullopt;
        },
        std::string("TIER:TIME, 0 to ") + topo::kLongestDelayText,
        true,
        [topology](topo::LinkId l, rdma::Duration delay) { topology->SetDelay(l, delay); });
}

namespace
{

/// What a key of --set means.
class KeyReader
{
  public:
    using Attributes = std::vector<std::pair<std::string, std::string>>;

    KeyReader(const OptionTable& table, bool infiniBand)
        : m_table(table),
          m_infiniBand(infiniBand)
    {
    }

    /// \return attributes and values as ns-3 reads them; none: *error says why
    Attributes Read(const std::string& key,
                    const std::string& text,
                    const std::string& where,
                    Error* error) const
    {
        if (key.rfind("ns3::", 0) == 0)
        {
            if (key.find("::", 5) != std::string::npos)
            {
                return {{key, text}};
            }
            *error = {where,
                      key,
                      "'" + key + "' is no attribute; allowed: as ns3::RdmaSwitch::Alpha",
                      ""};
            return {};
        }
        for (const PlaceWord& word : PlaceWords())
        {
            if (topo::SameName(key, word.name))
            {
                Attributes read = word.read(text);
                if (read.empty())
                {
                    *error = {where, text, "allowed for " + word.name + ": " + word.allowed, ""};
                }
                return read;
            }
        }
        const Option* option = FindOption(key);
        if (!option)
        {
            Unknown(key, where, error);
            return {};
        }
        if (option->ofWhole)
        {
            *error = {where,
                      key,
                      "is one for the whole network; allowed: for all, --" + option->name + "=" +
                          text,
                      ""};
            return {};
        }
        if (m_infiniBand && IsOfEthernet(*option))
        {
            *error = {where, key, key + " has no effect with --fabric=ib", ""};
            return {};
        }
        Value value;
        if (!ParseValue(*option, text, where, &value, error))
        {
            return {};
        }
        Attributes read;
        const std::string other = m_infiniBand ? "ns3::RdmaSwitch::" : "ns3::IbSwitch::";
        for (const std::string& attribute : option->AttributesOfPlaces())
        {
            if (attribute.rfind(other, 0) != 0)
            {
                read.emplace_back(attribute, AttributeText(*option, value));
            }
        }
        if (read.empty())
        {
            *error = {where,
                      key,
                      key + " has no effect with --fabric=" + (m_infiniBand ? "ib" : "roce"),
                      ""};
        }
        return read;
    }

  private:
    /// Whether InfiniBand refuses the option itself.
    static bool IsOfEthernet(const Option& option)
    {
        return std::any_of(option.conditions.begin(),
                           option.conditions.end(),
                           [ethernet = when::Ethernet()](const Condition& condition) {
                               return condition.refuses && condition.when.needs == ethernet.needs;
                           });
    }

    const Option* FindOption(const std::string& key) const
    {
        for (const Option& option : m_table.options)
        {
            const auto meant = [&key](const std::string& name) {
                return topo::SameName(key, name);
            };
            const bool has = option.ofWhole || !option.AttributesOfPlaces().empty();
            if (has && (meant(option.name) ||
                        std::any_of(option.aliases.begin(), option.aliases.end(), meant)))
            {
                return &option;
            }
        }
        return nullptr;
    }

    void Unknown(const std::string& key, const std::string& where, Error* error) const
    {
        std::vector<std::string> names;
        std::string all;
        for (const NamedItem& item : PlaceKeyItems(m_table))
        {
            names.push_back(item.name);
            all += (all.empty() ? "" : ", ") + item.name;
        }
        std::string nearest = rdma::NearestName(key, names);
        nearest = nearest.empty() ? rdma::NearestByParts(key, names) : nearest;
        *error = {where,
                  key,
                  "'" + key + "' is no setting of a place; allowed: ns3::Class::Attribute, " + all,
                  nearest};
    }

    const OptionTable& m_table;
    bool m_infiniBand;
};

/// A topology file's setting as an entry of --set, but for the place, which is known.
struct FileSetting
{
    PlaceLevel level;
    std::string place;
    const topo::PlaceSetting* setting;
};

std::vector<FileSetting>
SettingsOfFile(const topo::Topology& topology)
{
    std::vector<FileSetting> settings;
    for (const topo::PlaceSetting& s : topology.About().settings)
    {
        settings.push_back(
            {s.ofEnd ? PlaceLevel::kPort : PlaceLevel::kName,
             s.ofEnd ? topology.LinkName(s.at / 2, s.at % 2 == 0) : topology.Nodes()[s.at].name,
             &s});
    }
    return settings;
}

} // namespace

std::vector<NamedItem>
PlaceKeyItems(const OptionTable& table)
{
    std::vector<NamedItem> items;
    for (const Option& option : table.options)
    {
        std::string attributes;
        for (const std::string& attribute : option.AttributesOfPlaces())
        {
            attributes += (attributes.empty() ? "" : ", ") + attribute;
        }
        if (!attributes.empty())
        {
            items.push_back({option.name, "as --" + option.name + ": " + attributes});
        }
    }
    for (const PlaceWord& word : PlaceWords())
    {
        items.push_back({word.name, "SONiC, " + word.means});
    }
    return items;
}

bool
SetsAtPlaces(const Validation& v, Member option)
{
    const Option* row = v.table.Find(option);
    const Entries& set = v.values.Get(&asked::Fabric::set);
    return row && std::any_of(set.begin(), set.end(), [row](const auto& entry) {
               const std::string& key = entry[1].second;
               const auto attributes = row->AttributesOfPlaces();
               return topo::SameName(key, row->name) ||
                      std::find(attributes.begin(), attributes.end(), key) != attributes.end();
           });
}

void
ApplyPlaces(Validation* v, const topo::Topology& topology, FabricSpec* fabric)
{
    fabric->places.clear(); // a network may be made again, of another size
    if (v->values.Given(&asked::Fabric::set) && !HasPackets(*fabric))
    {
        return; // the option's row has refused it
    }
    const KeyReader keys(v->table, fabric->infiniBand);
    const auto add = [&](PlacedSetting setting) {
        Error error;
        const auto attributes = keys.Read(setting.key, setting.text, setting.where, &error);
        if (attributes.empty())
        {
            error.value = setting.SaidThere();
            v->errors.push_back(std::move(error));
            return;
        }
        for (const auto& [attribute, value] : attributes)
        {
            setting.attribute = attribute;
            setting.value = value;
            fabric->places.push_back(setting);
        }
    };
    for (const FileSetting& of : SettingsOfFile(topology))
    {
        PlacedSetting setting;
        setting.where = of.setting->where;
        setting.place = of.place;
        setting.key = of.setting->key;
        setting.text = of.setting->value;
        setting.level = of.level;
        (of.setting->ofEnd ? setting.ends : setting.nodes).push_back(of.setting->at);
        add(std::move(setting));
    }
    const Places places(topology);
    for (const auto& entry : v->values.Get(&asked::Fabric::set))
    {
        PlacedSetting setting;
        setting.place = entry[0].second;
        setting.key = entry[1].second;
        setting.text = entry[2].second;
        setting.where = entry[3].second;
        std::string problem;
        std::string nearest;
        const auto place = places.Find(setting.place, &problem, &nearest);
        if (!place)
        {
            v->errors.push_back({setting.where,
                                 setting.SaidThere(),
                                 "'" + setting.place + "' " + problem,
                                 nearest});
            continue;
        }
        setting.level = place->level;
        setting.nodes = place->nodes;
        setting.ends = place->ends;
        add(std::move(setting));
    }
    std::stable_sort(
        fabric->places.begin(),
        fabric->places.end(),
        [](const PlacedSetting& a, const PlacedSetting& b) { return a.level < b.level; });
    if (!fabric->places.empty() && !HasPackets(*fabric))
    {
        v->errors.push_back({fabric->places.front().where,
                             fabric->places.front().SaidThere(),
                             "is of switches and ports, which there are only with --network=packet",
                             ""});
    }
    CheckPlaces(v, topology, *fabric);
}

} // namespace scenario
