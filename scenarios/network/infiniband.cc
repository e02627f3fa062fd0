/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/infiniband.h"

#include "contrib/rdma/core/ib/ib-credit-reach.h"
#include "contrib/rdma/core/ib/ib-devices.h"
#include "contrib/rdma/core/ib/ib-link.h"
#include "contrib/rdma/core/ib/ib-routing.h"
#include "contrib/rdma/core/ib/ib-sizes.h"
#include "contrib/rdma/core/ib/ib-vl-arbiter.h"
#include "contrib/rdma/core/regular-file.h"
#include "contrib/rdma/core/shown-text.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/network.h"
#include "scenarios/asked/run.h"
#include "scenarios/network/nic-names.h"
#include "scenarios/options/options-detail.h"
#include "topologies/family.h"
#include "topologies/names.h"
#include "topologies/scale-up/scale-up-packets.h"

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <map>

namespace scenario
{

namespace
{

constexpr const char* kScaleUpFabric = "scale-up";
/// Buffer of a lane of links with flits, assumed: 2 us at 4 Tb/s.
constexpr rdma::Bytes kFlitLane{1 << 20};

/// Powers of two that a credit block is larger than 64 B.
uint32_t
CreditShift(uint32_t creditBlock)
{
    return static_cast<uint32_t>(__builtin_ctz(creditBlock / rdma::kIbBlockBytes));
}

} // namespace

std::vector<NamedItem>
InfiniBandNicItems()
{
    std::vector<NamedItem> items;
    for (const char* name :
         {"SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR100", "HDR", "NDR200", "NDR", "XDR"})
    {
        const rdma::IbLink link = *rdma::ParseIbLink(name);
        items.push_back({name,
                         "InfiniBand, " + std::to_string(link.width) + " lanes, " +
                             rdma::ToString(link.Rate())});
    }
    return items;
}

std::vector<NamedItem>
IbSwitchItems()
{
    std::vector<NamedItem> items;
    for (const auto& device : rdma::IbSwitches())
    {
        items.push_back({device.name, device.source});
    }
    return items;
}

std::vector<NamedItem>
IbFecItems()
{
    std::vector<NamedItem> items;
    for (const rdma::IbFecName& code : rdma::kIbFecNames)
    {
        items.push_back({code.name, code.fec.name});
    }
    return items;
}

std::vector<NamedItem>
IbRoutingItems()
{
    std::vector<NamedItem> items;
    for (const auto& engine : rdma::IbRoutingEngines())
    {
        items.push_back({engine.name, engine.description});
    }
    return items;
}

namespace
{

/// What networks from files are routed by: shortest paths, if the lanes are enough.
constexpr const char* kFileRouting = "ftree,dfsssp,updn";

/// "ftree,updn; torus,updn on a torus": what each family's networks are routed by.
std::string
RoutingNote()
{
    const std::string usual = topo::kUsualRouting;
    std::vector<std::string> engines; // in the order of the families
    for (const auto& family : topo::Families())
    {
        if (family.routing != usual &&
            std::find(engines.begin(), engines.end(), family.routing) == engines.end())
        {
            engines.push_back(family.routing);
        }
    }
    std::string text = usual;
    for (const auto& engine : engines)
    {
        std::vector<std::string> names;
        for (const auto& family : topo::Families())
        {
            if (family.routing == engine)
            {
                names.push_back(family.name);
            }
        }
        text += "; " + engine + " on a " + topo::JoinNames(names);
    }
    text += std::string("; ") + kFileRouting + " on a file's";
    return text;
}

/// "1; 2 on a dragonfly or hyperx"
std::string
LanesNote()
{
    std::map<uint32_t, std::vector<std::string>> names;
    for (const auto& family : topo::Families())
    {
        if (family.lanes != 1)
        {
            names[family.lanes].push_back(family.name);
        }
    }
    std::string text = "1";
    for (const auto& [lanes, of] : names)
    {
        text += "; " + std::to_string(lanes) + " on a " + topo::JoinNames(of);
    }
    return text;
}

} // namespace

std::vector<Option>
InfiniBandOptionRows()
{
    const Section section = Section{"/fabric", "InfiniBand (--fabric=ib)"}.Only(when::InfiniBand());
    const Section packets = section.Only(when::Packets());
    const When severalLanes = when::Above("vls", 1);
    const std::string table = "virtual lanes and their weights in 64 B, 0:64,1:128";
    return {
        section.Name("link-frames", "frames on links with credits")
            .As(&asked::Fabric::linkFrames)
            .Names("frames",
                   {{"ib", "InfiniBand's packets"},
                    {"flits",
                     "of links between GPUs: flits of 16 B, one of header for each 256 B, one to "
                     "answer a message; no verbs (--fabric=scale-up)"}})
            .Otherwise("ib")
            .Example("flits"),
        section.Name("ib-switch", "generation of the switches: latency and buffer")
            .As(&asked::Fabric::ibSwitch)
            .Names("InfiniBand switch", IbSwitchItems)
            .Otherwise("the first that is as fast as the NIC")
            .Example("quantum")
            .To(&IbSpec::switchName),
        section
            .Text("ib-routing",
                  "engine of the subnet manager; of several the first that can route the network")
            .As(&asked::Fabric::ibRouting)
            .Otherwise(RoutingNote())
            .Example("minhop"),
        section
            .File("ib-lfts",
                  "forwarding tables instead of an engine's, as OpenSM or ibroute writes them "
                  "(--ib-dump)")
            .As(&asked::Fabric::ibLfts)
            .Otherwise("none"),
        section
            .Flag("ib-dump", "write the tables as OpenSM does: opensm-lfts.dump, opensm-sl2vl.dump")
            .As(&asked::Fabric::ibDump)
            .Otherwise("0")
            .To(&IbSpec::dump),
        section
            .Integer("lmc",
                     "every NIC has 2^N LIDs, each with a path of its own where there are several")
            .As(&asked::Fabric::lmc)
            .Otherwise("0")
            .Range(0, 7)
            .Example("2")
            .To(&IbSpec::lmc),
        packets.Integer("vls", "data virtual lanes")
            .As(&asked::Fabric::vls)
            .Otherwise(LanesNote())
            .OneOf({1, 2, 4, 8})
            .Example("2")
            .To(&IbSpec::lanes),
        packets
            .Bytes("vl-buffer",
                   "receive buffer of a lane at each port, at most what credits can tell, 2048 x "
                   "--credit-block")
            .As(&asked::Fabric::vlBuffer)
            .Otherwise("the switch's, shared alike")
            .Range(64, static_cast<double>(rdma::IbMostLaneBytes(rdma::kIbMostCreditShift)))
            .Example("64KiB")
            .To(&IbSpec::laneBuffer),
        packets
            .Bytes("credit-block",
                   "unit of credits; larger ones fill longer links (US patent 9,584,429)")
            .As(&asked::Fabric::creditBlock)
            .Default("64B")
            .OneOf({64, 128, 256, 512, 1024, 2048, 4096})
            .Example("128B")
            .To(&IbSpec::creditBlock),
        section
            .Name("ib-fec",
                  "error correction of all links, as mlxlink calls it; it adds to their delay")
            .As(&asked::Fabric::ibFec)
            .Names("error correction", IbFecItems)
            .Otherwise("what links of their rate and width have")
            .Example("RS-544")
            .To(&IbSpec::fec),
        packets.Text("vl-high", "arbitration, high priority: " + table)
            .As(&asked::Fabric::vlHigh)
            .Otherwise("none")
            .Example("0:64")
            .IdleUnless(severalLanes),
        packets.Text("vl-low", "arbitration, low priority")
            .As(&asked::Fabric::vlLow)
            .Otherwise("all lanes alike")
            .Example("0:64")
            .IdleUnless(severalLanes),
        packets
            .Integer("vl-high-limit",
                     "4 KiB of high priority that may pass before low priority gets a turn; 255: "
                     "no limit")
            .As(&asked::Fabric::vlHighLimit)
            .Otherwise("255")
            .Range(0, 255)
            .Example("16")
            .IdleUnless(severalLanes)
            .To(&IbSpec::highLimit),
        packets
            .Integer("fecn-threshold",
                     "queue from which switches mark packets: 15 short, 1 long, 0 never")
            .As(&asked::Fabric::fecnThreshold)
            .Otherwise("15, or 0 with --cc=none")
            .Range(0, 15)
            .Example("8")
            .Sets("ns3::IbSwitch::CongestionThreshold")
            .To(&IbSpec::fecnThreshold),
        packets
            .Flag("static-rate",
                  "static rate control: packets to a slower link are that much further apart")
            .As(&asked::Fabric::staticRate)
            .Otherwise("0")
            .To(&IbSpec::staticRate),
        packets
            .Flag(
                "adaptive-routing",
                "a packet leaves by the shortest queue on a shortest way; NICs take packets in any "
                "order")
            .As(&asked::Fabric::adaptiveRouting)
            .Otherwise("0")
            .To(&IbSpec::adaptiveRouting),
    };
}

namespace
{

/// --fabric=scale-up is --fabric=ib with frames of flits.
/// \return whether frames are flits, which have other defaults
bool
TakeFlits(Validation* v)
{
    Values& values = v->values;
    if (!values.Has(&asked::Fabric::fabric))
    {
        return false;
    }
    if (values.Get(&asked::Fabric::fabric) == kScaleUpFabric)
    {
        v->Decide(&asked::Fabric::fabric, "ib");
        if (values.Given(&asked::Fabric::linkFrames) &&
            values.Get(&asked::Fabric::linkFrames) != "flits")
        {
            v->Fail(&asked::Fabric::linkFrames,
                    std::string("are not those of --fabric=") + kScaleUpFabric +
                        "; allowed: flits, or --fabric=ib");
        }
        v->DecideUnlessGiven(&asked::Fabric::linkFrames, "flits");
    }
    if (!values.Has(&asked::Fabric::linkFrames) ||
        values.Get(&asked::Fabric::linkFrames) != "flits")
    {
        return false;
    }
    v->DecideUnlessGiven(&asked::Fabric::creditBlock, rdma::Bytes(1024));
    v->DecideUnlessGiven(&asked::Fabric::ackEvery, 65536); // a message's last
    return true;
}

} // namespace

void
ApplyInfiniBand(Validation* v)
{
    auto& values = v->values;
    const std::string named = // before it is "ib"
        values.Given(&asked::Fabric::fabric) ? values.Get(&asked::Fabric::fabric) : "ib";
    const bool flits = TakeFlits(v);
    const topo::ScaleUpFrames frames;
    const bool ibNic = rdma::ParseIbLink(values.Get(&asked::Fabric::nic)).has_value();
    v->DecideUnlessGiven(&asked::Fabric::fabric, ibNic ? "ib" : "roce");
    if (values.Get(&asked::Fabric::fabric) == "roce")
    {
        if (ibNic)
        {
            v->Fail(&asked::Fabric::nic,
                    "is InfiniBand's; allowed: --fabric=ib, or " + JoinNames(EthernetNicItems()));
        }
        v->Settle(&asked::Fabric::fabric);
        return;
    }
    if (!values.Given(&asked::Fabric::nic))
    {
        if (!ibNic) // else a server brings it
        {
            v->Decide(&asked::Fabric::nic, flits ? "XDR" : "EDR");
        }
    }
    else if (!ibNic)
    {
        v->Fail(&asked::Fabric::nic,
                "is Ethernet's; allowed with --fabric=" + named + ": " +
                    JoinNames(InfiniBandNicItems()));
    }
    if (values.Get(&asked::Fabric::compat) != "none")
    {
        v->Fail(&asked::Fabric::compat, "is a model of Ethernet; allowed with --fabric=ib: none");
    }
    v->Settle(&asked::Fabric::fabric);
    const auto link = rdma::ParseIbLink(values.Get(&asked::Fabric::nic));
    v->DecideUnlessGiven(&asked::Fabric::ibSwitch,
                         rdma::IbSwitchFor(link ? link->speed : rdma::IbSpeed::kEdr).name);
    const rdma::IbSwitchDevice* device = rdma::FindIbSwitch(values.Get(&asked::Fabric::ibSwitch));
    v->DecideUnlessGiven(&asked::Fabric::switchLatency,
                         flits ? frames.switchDelay : rdma::Duration(device->latency.ps));
    const topo::Family* family = topo::FamilyOfParameters(values.Get(&asked::Network::topology));
    v->DecideUnlessGiven(&asked::Fabric::ibRouting, family ? family->routing : kFileRouting);
    v->DecideUnlessGiven(&asked::Fabric::ibDump, false);
    v->DecideUnlessGiven(&asked::Fabric::lmc, 0);
    // A cable is as long as the fastest links that it is for allow.
    const auto fastest = std::max(link ? link->speed : rdma::IbSpeed::kEdr,
                                  values.Given(&asked::Network::fabricRate) &&
                                          values.Get(&asked::Network::fabricRate) >=
                                              (rdma::IbLink{rdma::IbSpeed::kNdr, 4}.Rate())
                                      ? rdma::IbSpeed::kNdr
                                      : rdma::IbSpeed::kSdr);
    v->DecideUnlessGiven(
        &asked::Network::linkDelay,
        flits ? frames.linkDelay
              : rdma::Duration(rdma::kDelayPerMetre.ps * rdma::IbCableMetres(fastest)));
    v->DecideUnlessGiven(&asked::Fabric::vls, family ? family->lanes : 1);
    v->Settle(&asked::Fabric::vls);
    const uint64_t share = uint64_t{rdma::kIbBlockBytes} *
                           rdma::IbVlBlocks(device->portBuffer, values.Get(&asked::Fabric::vls));
    v->DecideUnlessGiven(&asked::Fabric::vlBuffer,
                         flits ? kFlitLane
                               : rdma::Bytes(std::min<uint64_t>(
                                     share,
                                     rdma::IbMostLaneBytes(CreditShift(static_cast<uint32_t>(
                                         values.Get(&asked::Fabric::creditBlock).value))))));
    v->DecideUnlessGiven(&asked::Fabric::vlHighLimit, 255);
    v->DecideUnlessGiven(&asked::Fabric::cc, "none");
    v->DecideTextUnlessGiven(&asked::Fabric::fecnThreshold,
                             values.Get(&asked::Fabric::cc) == "none" ? "0" : "15");
    v->DecideUnlessGiven(&asked::Fabric::adaptiveRouting, false);
    v->DecideUnlessGiven(&asked::Fabric::staticRate, false);
    if (values.Get(&asked::Fabric::adaptiveRouting))
    {
        v->DecideUnlessGiven(&asked::Fabric::lossRecovery, "out-of-order");
    }
}

void
MakeInfiniBand(Validation* v, FabricSpec* fabric)
{
    const auto& values = v->values;
    fabric->infiniBand = values.Get(&asked::Fabric::fabric) == "ib";
    if (const auto link = rdma::ParseIbLink(fabric->nic))
    {
        fabric->nicRate = link->Rate();
    }
    if (!fabric->infiniBand)
    {
        return;
    }
    fabric->pfc = fabric->ecn = false;
    fabric->frames = rdma::IbFrameSizes();
    IbSpec& ib = fabric->ib;
    v->Fill(&ib);
    if (!values.Has(&asked::Fabric::linkFrames))
    {
        v->Decide(&asked::Fabric::linkFrames, "ib");
    }
    if (values.Get(&asked::Fabric::linkFrames) == "flits")
    {
        ib.flitBytes = static_cast<uint32_t>(topo::ScaleUpFrames().flit.value);
        fabric->frames = rdma::FrameSizes::OfFlits(ib.flitBytes);
        if (!values.Get(&asked::Run::pcap).empty())
        {
            v->Fail(&asked::Run::pcap,
                    "captures have no format for the flits of scale-up links; allowed: with "
                    "--fabric=roce, or --fabric=ib with --link-frames=ib");
        }
    }
    std::vector<std::string> words;
    std::vector<std::string> engines;
    boost::split(words, values.Get(&asked::Fabric::ibRouting), [](char c) { return c == ','; });
    for (const std::string& engine : words)
    {
        const auto items = IbRoutingItems();
        const std::string name = MatchName(engine, items);
        const bool twice = std::find(engines.begin(), engines.end(), name) != engines.end();
        if (name.empty() || twice)
        {
            v->Fail(&asked::Fabric::ibRouting,
                    "'" + rdma::Shown(engine, 60) + "' " +
                        (twice ? "stands there twice" : "is no routing engine") +
                        "; allowed: one of, or several with commas: " + JoinNames(items),
                    twice ? "" : NearestName(engine, items));
            break;
        }
        engines.push_back(name);
    }
    ib.routing = Join(engines, ",");
    v->Decide(&asked::Fabric::ibRouting, ib.routing);
    if (values.Given(&asked::Fabric::ibLfts))
    {
        if (values.Given(&asked::Fabric::ibRouting))
        {
            v->Fail(&asked::Fabric::ibLfts,
                    "takes the place of --ib-routing; allowed: one of them");
        }
        ib.lfts = values.Get(&asked::Fabric::ibLfts);
        if (const std::string why =
                ib.lfts.empty() ? "needs a value" : rdma::WhyUnreadable(ib.lfts);
            !why.empty())
        {
            const bool told = why.find("; allowed: ") != std::string::npos;
            v->Fail(&asked::Fabric::ibLfts,
                    why + (told ? "" : "; allowed: a file") +
                        " as OpenSM's opensm-lfts.dump or ibroute");
        }
    }
    ib.link = rdma::ParseIbLink(values.Get(&asked::Fabric::nic)).value_or(rdma::IbLink{});
    const uint32_t shift = CreditShift(ib.creditBlock);
    const uint64_t least = rdma::IbLeastLaneBytes(fabric->mtu, shift);
    const uint64_t most = rdma::IbMostLaneBytes(shift);
    const std::string allowed = std::to_string(least) + "B to " + CanonicalBytes(most);
    if (ib.laneBuffer.value < least)
    {
        v->Fail(&asked::Fabric::vlBuffer,
                "does not hold one packet; allowed with an MTU of " + std::to_string(fabric->mtu) +
                    " B: " + allowed);
    }
    else if (ib.laneBuffer.value > most)
    {
        v->Fail(&asked::Fabric::vlBuffer,
                "is more than credits of " + std::to_string(ib.creditBlock) +
                    " B can tell; allowed: " + allowed + ", or a larger --credit-block");
    }
    uint32_t served = 0;
    bool readable = true;
    for (const auto option : {&asked::Fabric::vlHigh, &asked::Fabric::vlLow})
    {
        if (!values.Has(option))
        {
            continue;
        }
        const auto table = rdma::ParseIbVlTable(values.Get(option));
        if (!table)
        {
            v->Fail(option, std::string("allowed: ") + rdma::kIbVlTableHelp);
            readable = false;
            continue;
        }
        served |= table->Mask();
        for (uint8_t i = 0; i < table->size && readable; ++i)
        {
            const auto& entry = table->entries[i];
            if (entry.weight > 0 && entry.vl >= ib.lanes)
            {
                v->Fail(option,
                        "names virtual lane " + std::to_string(entry.vl) +
                            ", which links do not have; allowed with --vls=" +
                            std::to_string(ib.lanes) + ": " +
                            (ib.lanes == 1 ? "0" : "0 to " + std::to_string(ib.lanes - 1)));
                readable = false;
            }
        }
        (option == &asked::Fabric::vlHigh ? ib.high : ib.low) = values.Get(option);
    }
    const uint32_t unserved = ((1U << ib.lanes) - 1) & ~served;
    if ((values.Has(&asked::Fabric::vlHigh) || values.Has(&asked::Fabric::vlLow)) && readable &&
        unserved)
    {
        v->Fail(values.Has(&asked::Fabric::vlLow) ? &asked::Fabric::vlLow : &asked::Fabric::vlHigh,
                "gives virtual lane " + std::to_string(__builtin_ctz(unserved)) +
                    " no turn; allowed: each of the " + std::to_string(ib.lanes) +
                    " lanes in --vl-high or --vl-low, with a weight above 0");
    }
}

void
CheckInfiniBandNetwork(Validation* v, const topo::Topology& topology)
{
    for (const topo::Node& node : topology.Nodes())
    {
        if (node.ports.size() > rdma::kIbMaxPort)
        {
            v->Fail(&asked::Network::topology,
                    node.name + " has " + std::to_string(node.ports.size()) +
                        " ports; allowed with --fabric=ib: 254 at most, which is what a forwarding "
                        "table can name");
            return;
        }
    }
    // Latency and buffer were chosen by --nic's generation, before the file was read.
    decltype(topo::Link::rate) fastest{};
    for (const topo::Link& link : topology.Links())
    {
        fastest = std::max(fastest, link.rate);
    }
    const rdma::IbSwitchDevice* device =
        rdma::FindIbSwitch(v->values.Get(&asked::Fabric::ibSwitch));
    if (v->values.Given(&asked::Fabric::ibSwitch) || !device || device->link.Rate() >= fastest)
    {
        return;
    }
    for (const rdma::IbSwitchDevice& other : rdma::IbSwitches())
    {
        if (other.link.Rate() >= fastest)
        {
            v->notes.push_back("latency and buffer of the switches are " +
                               std::string(device->name) + "'s, made for " +
                               rdma::ToString(device->link.Rate()) +
                               "; the fastest links here are of " + rdma::ToString(fastest) +
                               ", for which there is " + "--ib-switch=" + other.name);
            return;
        }
    }
}

} // namespace scenario
