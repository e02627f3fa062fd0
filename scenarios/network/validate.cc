/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/validate.h"

#include "contrib/rdma/core/answered-packets.h"
#include "contrib/rdma/core/congestion-control.h"
#include "contrib/rdma/core/loss-rate.h"
#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/no-congestion-control.h"
#include "contrib/rdma/core/regular-file.h"
#include "contrib/rdma/core/set-up-phase.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/asked/cluster.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/network.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/traffic.h"
#include "scenarios/network/common-options.h"
#include "scenarios/network/compat.h"
#include "scenarios/network/ets-options.h"
#include "scenarios/network/fidelity-options.h"
#include "scenarios/network/infiniband.h"
#include "scenarios/network/link-options.h"
#include "scenarios/network/load-balancing-options.h"
#include "scenarios/network/network-kinds.h"
#include "scenarios/network/nic-names.h"
#include "scenarios/network/place-check.h"
#include "scenarios/network/place-options.h"
#include "scenarios/network/queue-disc-options.h"
#include "scenarios/network/queueing-options.h"
#include "scenarios/network/shaper-options.h"
#include "scenarios/network/traffic-classes.h"
#include "scenarios/network/transport-options.h"
#include "scenarios/options/said.h"
#include "scenarios/traffic/random.h"
#include "topologies/family.h"
#include "topologies/formats/htsim-format.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

namespace scenario
{

namespace
{

/// The preset, and the marking that goes with it: each unless it is given.
void
ChooseCongestionPreset(Validation* v, FabricSpec* f)
{
    const auto& values = v->values;
    const rdma::CongestionControl& control = *rdma::FindCongestionControl(f->cc);
    if (!values.Given(&asked::Fabric::ccPreset) && !control.presets.empty())
    {
        v->Decide(&asked::Fabric::ccPreset, control.presets.front().name);
    }
    f->ccPreset = values.Get(&asked::Fabric::ccPreset);
    if (!f->ccPreset.empty() && !control.Find(f->ccPreset))
    {
        std::vector<std::string> of;
        std::vector<std::string> allowed;
        for (const auto& [name, other] : rdma::CongestionControls())
        {
            if (other.Find(f->ccPreset))
            {
                of.push_back(name);
            }
        }
        for (const auto& preset : control.presets)
        {
            allowed.push_back(preset.name);
        }
        v->Fail(
            &asked::Fabric::ccPreset,
            "is of " + topo::JoinNames(of) + ", not of --cc=" + f->cc +
                (allowed.empty() ? ", which has no presets" : "; allowed: " + Join(allowed, ", ")));
    }
    if (f->cc == rdma::kNoCongestionControl.name && !f->ecn &&
        f->ccPreset != control.presets.front().name)
    {
        v->notes.push_back(values.Where(&asked::Fabric::ccPreset) +
                           " has no effect: with --cc=" + f->cc +
                           " it sets where switches of Ethernet begin to mark packets, and " +
                           (f->infiniBand ? "InfiniBand's have --fecn-threshold" : "none marks"));
    }
    if (f->infiniBand) // whose switches have --fecn-threshold
    {
        return;
    }
    const rdma::EcnParameters marking = rdma::MarkingOf(f->cc, f->ccPreset);
    // Values from the preset in a configuration as run are not the user's choice.
    const auto usual = [v](Member option, bool asPreset) {
        if (asPreset)
        {
            v->IsUsual(option);
        }
    };
    v->DecideUnlessGiven(&asked::Fabric::ecnKmin, rdma::Bytes(marking.kmin.value));
    v->DecideUnlessGiven(&asked::Fabric::ecnKmax, rdma::Bytes(marking.kmax.value));
    v->DecideTextUnlessGiven(&asked::Fabric::ecnPmax, std::to_string(marking.pmax));
    usual(&asked::Fabric::ecnKmin, values.Get(&asked::Fabric::ecnKmin) == marking.kmin);
    usual(&asked::Fabric::ecnKmax, values.Get(&asked::Fabric::ecnKmax) == marking.kmax);
    usual(&asked::Fabric::ecnPmax,
          std::abs(values.Get(&asked::Fabric::ecnPmax) - marking.pmax) < 1e-6); // to six places
    v->Settle(&asked::Fabric::ecn);
}

/// Senders of go-back-N on a network that loses packets: where nothing is marked, losses alone can
/// slow them down, as they slow NICs down.
void
ChooseLossLaw(Validation* v)
{
    const Values& values = v->values;
    const std::string& protocol = values.Get(&asked::Traffic::protocol);
    if (values.Get(&asked::Fabric::fabric) == "ib" || values.Get(&asked::Fabric::pfc) ||
        values.Get(&asked::Fabric::network) != "packet" || protocol == "tcp" || protocol == "udp" ||
        values.Get(&asked::Fabric::lossRecovery) != "go-back-n" ||
        values.Get(&asked::Fabric::transport) != "rc" ||
        values.Get(&asked::Fabric::compat) != "none")
    {
        return;
    }
    const bool chosen = !values.Get(&asked::Fabric::ecn) && !values.Given(&asked::Fabric::cc);
    if (chosen)
    {
        v->Decide(&asked::Fabric::cc, rdma::kLossRate.name);
    }
    if (values.Get(&asked::Fabric::cc) == rdma::kLossRate.name)
    {
        // A packet that goes again may be lost, too; assumed. One NAK a gap leaves that to
        // time-outs of 67 ms.
        v->DecideUnlessGiven(&asked::Fabric::nakInterval, rdma::Microseconds(10));
    }
    if (chosen)
    {
        v->notes.emplace_back("--no-pfc with --no-ecn: senders hear of congestion by losses alone: "
                              "--cc=loss-rate; allowed too: --cc=none");
    }
    else if (values.Get(&asked::Fabric::cc) == rdma::kNoCongestionControl.name)
    {
        v->notes.emplace_back(
            "warning: --cc=none with --no-pfc: losses do not slow senders down, and go-back-N "
            "repeats all behind each; --cc=loss-rate slows down, as NICs do");
    }
}

} // namespace

void
ChooseDimensions(Validation* v)
{
    for (const topo::Family& family : topo::Families())
    {
        // The option of its own name says all of the network: --dims, --wafer.
        if (family.portsOfHost && v->table.Find(family.name) && v->values.Given(family.name))
        {
            v->DecideUnlessGiven(&asked::Network::topology, family.name);
        }
    }
}

FabricSpec
MakeFabric(Validation* v)
{
    FabricSpec f;
    ChooseDimensions(v);
    ApplyFidelity(v);
    ApplyInfiniBand(v);
    ApplyCompat(v);
    f.transport = ApplyTransport(v); // which may have a way of its own to recover
    f.balancing = ApplyLoadBalancing(v);
    f.ets = ApplyEts(v);
    f.queueDisc = ApplyQueueDisc(v);
    f.shapers = ApplyShapers(v);
    DecideForPlaces(v);
    ChooseLossLaw(v);
    const auto& values = v->values;
    v->Fill(&f);
    for (const auto& nic : NicNames())
    {
        if (f.nic == nic.name)
        {
            f.nicRate = nic.rate;
        }
    }
    const bool extensions = values.Get(&asked::Fabric::extensionHeaders);
    if (values.Has(&asked::Fabric::payload))
    {
        f.mtu = values.Get(&asked::Fabric::payload);
        v->Settle(&asked::Fabric::payload);
        if (extensions)
        {
            v->Fail(&asked::Fabric::payload,
                    "is no path MTU; allowed: --mtu=256, 512, 1024, 2048 or 4096, or any payload "
                    "with --no-extension-headers");
        }
    }
    const uint32_t ackBytes = values.Get(&asked::Fabric::ackBytes);
    f.frames = rdma::FrameSizes::Make(values.Get(&asked::Fabric::lineOverhead),
                                      values.Get(&asked::Fabric::headerBytes),
                                      extensions,
                                      ackBytes,
                                      ackBytes + rdma::kCnpReservedBytes - rdma::kAethBytes);
    f.ackPriority = values.Has(&asked::Fabric::ackPriority)
                        ? static_cast<uint8_t>(values.Get(&asked::Fabric::ackPriority))
                        : 8;
    MakeInfiniBand(v, &f);
    if (!f.infiniBand && !f.frames.AreStandard() && !values.Get(&asked::Run::pcap).empty())
    {
        v->Fail(&asked::Run::pcap,
                std::string("the frames ") +
                    (f.compat == "none" ? "of these options" : "of --compat=" + f.compat) +
                    " are not RoCEv2's, so no reader of captures would understand them; allowed: "
                    "captures of standard frames");
    }
    f.pfc = !f.infiniBand && values.Get(&asked::Fabric::pfc);
    f.ecn = !f.infiniBand && values.Get(&asked::Fabric::ecn);
    const rdma::Duration watchdog = values.Get(&asked::Fabric::pfcWatchdog);
    constexpr int64_t kLeastWatchdogPs =
        100000; // how often one looks; as of the switch's attribute
    if (watchdog.ps > 0 && watchdog.ps < kLeastWatchdogPs)
    {
        v->Fail(&asked::Fabric::pfcWatchdog,
                "is too short for a watchdog; allowed: 0 (none), or at least 100ns");
    }
    if (!f.infiniBand)
    {
        v->Settle(&asked::Fabric::pfc);
        v->Settle(&asked::Fabric::pfcWatchdog);
    }
    if (f.ib.adaptiveRouting && values.Get(&asked::Fabric::lossRecovery) != "out-of-order")
    {
        v->Fail(&asked::Fabric::lossRecovery,
                "takes packets that overtook others for lost ones; allowed with "
                "--adaptive-routing: out-of-order");
    }

    ChooseCongestionPreset(v, &f);
    // Recoveries that take any order answer each packet, and so do transports that count credits.
    const std::string& recovery = values.Get(&asked::Fabric::lossRecovery);
    const bool anyOrder = recovery != "go-back-n" && recovery != "none";
    const bool each = anyOrder || rdma::AnswersEachPacket::Is(f.cc, f.ccPreset);
    const uint32_t asked = values.Get(&asked::Fabric::ackEvery);
    f.ackEvery = each ? 1 : asked;
    if (each && values.Given(&asked::Fabric::ackEvery) && asked != 1 &&
        asked != FabricSpec().ackEvery)
    {
        v->notes.push_back(values.Where(&asked::Fabric::ackEvery) + " has no effect with " +
                           (anyOrder ? "--loss-recovery=" + recovery : "--cc=" + f.cc) +
                           ", which has each packet acknowledged");
    }
    if (!f.infiniBand)
    {
        f.ecnKmin = values.Get(&asked::Fabric::ecnKmin);
        f.ecnKmax = values.Get(&asked::Fabric::ecnKmax);
        f.ecnPmax = values.Get(&asked::Fabric::ecnPmax);
    }
    if (f.ecnKmin > f.ecnKmax)
    {
        const bool blameMin = values.Given(&asked::Fabric::ecnKmin);
        v->Fail(blameMin ? "ecn-kmin" : "ecn-kmax",
                blameMin ? "allowed: at most ecn-kmax, " + CanonicalBytes(f.ecnKmax.value)
                         : "allowed: at least ecn-kmin, " + CanonicalBytes(f.ecnKmin.value));
    }
    ApplyQueueing(v, &f);
    ApplyLinks(v, &f);
    if (f.windowBytes > 0 && f.windowBytes < f.mtu)
    {
        v->Fail(&asked::Fabric::window,
                "allowed: 0 (unlimited), or at least one packet of " + std::to_string(f.mtu) +
                    " B");
    }
    // (--protocol of a collective is another matter.)
    const std::string& protocol = values.Get(&asked::Traffic::protocol);
    const bool ordinary = protocol == "tcp" || protocol == "udp";
    const rdma::CongestionControl* law = rdma::FindCongestionControl(f.cc);
    if (!f.infiniBand && !f.ecn && values.Given(&asked::Fabric::ecn) && !ordinary && law &&
        law->needsMarks && !SetsAtPlaces(*v, &asked::Fabric::ecn))
    {
        v->notes.push_back("warning: " + values.Where(&asked::Fabric::ecn) +
                           ": there are no ECN marks, which are all that --cc=" + f.cc +
                           " goes by");
    }
    if (f.variableWindow && f.windowBytes == 0 && f.compat == "none")
    {
        v->Settle(&asked::Fabric::window);
    }
    ApplyTrafficClasses(v, &f);
    ApplyNetwork(v, &f);
    return f;
}

// ---------------------------------------------------------------------------------------------

namespace
{

/// Option that a field of a TopologyRequest comes from; a parameter is its own.
std::string
OptionOfField(const Values& values, const std::string& field, Member hostsOption)
{
    const std::map<std::string, Member> map = {
        {"hosts", hostsOption},
        {"nicsPerServer", &asked::Cluster::nicsPerServer},
        {"linkRate", &asked::Fabric::nic},
        {"fabricRate", &asked::Network::fabricRate},
        {"linkDelay", &asked::Network::linkDelay},
        {"bitErrorRate", &asked::Network::bitErrorRate},
        {"file", &asked::Network::topology},
    };
    const auto known = map.find(field);
    return known == map.end() ? field : values.NameOf(known->second);
}

/// Reads the parameters that were given, of all families. \return false after an error
bool
ReadParameters(Validation* v, topo::Parameters* parameters)
{
    for (const auto& shared : topo::AllParameters())
    {
        const topo::Parameter& p = shared.parameter;
        if (!v->table.Find(p.name) || !v->values.Given(p.name))
        {
            continue;
        }
        switch (p.kind)
        {
        case topo::ParameterKind::kCount:
            parameters->SetCount(p.name, v->values.Integer(p.name));
            break;
        case topo::ParameterKind::kFactor:
            parameters->SetFactor(p.name, v->values.Real(p.name));
            break;
        case topo::ParameterKind::kFlag:
            parameters->SetFlag(p.name, v->values.Flag(p.name));
            break;
        case topo::ParameterKind::kSizes: {
            std::string allowed;
            const auto value = topo::ParseParameter(p, v->values.Text(p.name), &allowed);
            if (!value)
            {
                v->Fail(p.name, "allowed: " + allowed);
                return false;
            }
            parameters->Set(p.name, *value);
            break;
        }
        case topo::ParameterKind::kText:
            parameters->SetText(p.name, v->values.Text(p.name));
            break;
        }
    }
    return true;
}

} // namespace

std::optional<uint32_t>
PortsOfHost(Validation* v)
{
    topo::TopologyRequest request;
    const std::string& name = v->values.Get(&asked::Network::topology);
    const topo::Family* family = topo::FamilyOfParameters(name);
    request.family = name;
    if (!family)
    {
        family = &topo::FamilyOfFile(name);
        request.file = name;
    }
    Validation quiet = *v; // who makes the network says what is wrong
    return family->portsOfHost && ReadParameters(&quiet, &request.parameters)
               ? family->portsOfHost(request)
               : std::nullopt;
}

Network
MakeNetwork(Validation* v,
            uint32_t hosts,
            uint32_t nicsPerServer,
            Member hostsOption,
            FabricSpec* fabric)
{
    const rdma::SetUpPhase phase("building the network");
    Network network;
    auto& values = v->values;
    const std::string& name = values.Get(&asked::Network::topology);
    network.fromFile = !topo::FamilyOfParameters(name);

    topo::TopologyRequest request;
    request.hosts = hosts;
    request.nicsPerServer = nicsPerServer;
    request.linkRate = fabric->nicRate;
    request.linkDelay = fabric->linkDelay;
    if (!ReadParameters(v, &request.parameters))
    {
        return network;
    }
    if (values.Given(&asked::Network::fabricRate))
    {
        request.fabricRate = values.Get(&asked::Network::fabricRate);
    }
    if (values.Given(&asked::Network::bitErrorRate))
    {
        request.bitErrorRate = fabric->bitErrorRate;
    }
    if (network.fromFile)
    {
        request.family = topo::FamilyOfFile(name).name;
        request.file = name;
        const size_t before = v->errors.size();
        v->Settle(&asked::Network::topology);
        if (v->errors.size() != before)
        {
            return network;
        }
    }
    else
    {
        request.family = name;
    }

    topo::TopologyResult made = topo::MakeTopology(request);
    // With all sizes at their defaults there is nothing that was chosen for the user in particular.
    const bool sized =
        values.Given(&asked::Cluster::servers) || values.Given(hostsOption) || network.fromFile;
    const topo::Family* family = topo::FindFamily(request.family);
    const bool departs = family && std::any_of(family->parameters.begin(),
                                               family->parameters.end(),
                                               [&](const topo::Parameter& p) {
                                                   return request.parameters.Has(p.name);
                                               });
    if (sized || departs)
    {
        v->notes.insert(v->notes.end(), made.notes.begin(), made.notes.end());
    }
    for (const auto& e : made.errors)
    {
        const std::string option =
            e.file.empty() ? OptionOfField(values, e.where, hostsOption) : "";
        if (!option.empty() && v->table.Find(option))
        {
            // The message reads on after the value, which we print in front of it.
            std::string message =
                (e.value.empty() || option != values.NameOf(hostsOption) ? "" : e.value + " ") +
                e.problem;
            const std::string with =
                e.with.empty() ? "" : OptionOfField(values, e.with, hostsOption);
            if (!with.empty() && values.Given(with))
            {
                message = "with " + SaidText(v->table, v->values, with) + ": " + message;
            }
            v->errors.push_back(
                {v->values.Where(option), SaidValue(v->table, v->values, option), message, ""});
        }
        else
        {
            v->errors.push_back({"", "", e.Sentence(), ""});
        }
    }
    if (!made.topology)
    {
        return network;
    }
    network.topology = std::move(*made.topology);
    network.valid = true;
    const bool hasHosts = !network.topology.About().dimensions.empty() ||
                          network.topology.About().nics; // each a GPU with a NIC for each link
    if (fabric->infiniBand && hasHosts)
    {
        topo::Description bySubnet = network.topology.About();
        bySubnet.routes.clear(); // the subnet manager makes its own
        network.topology.Describe(std::move(bySubnet));
    }
    if (fabric->network == "dims" && network.topology.About().dimensions.empty())
    {
        v->Fail(&asked::Fabric::network,
                "has formulas for networks of dimensions; allowed with --topology=dims, "
                "ASTRA-sim's words (Ring_Switch), or a network file of ASTRA-sim");
    }
    ApplyTiers(v, &network.topology, fabric);

    const topo::Description& about = network.topology.About();
    for (const topo::Parameter& p : family->parameters)
    {
        if (p.recorded && about.parameters.Has(p.name))
        {
            v->Decide(p.name, topo::ValueText(about.parameters.All().at(p.name)));
        }
    }
    network.name = about.name.empty() ? name : about.name;
    ApplyCompatToNetwork(v, network.topology, fabric);
    if (fabric->infiniBand)
    {
        CheckInfiniBandNetwork(v, network.topology);
    }
    if (hasHosts)
    {
        // Links between routers: those to hosts have no delay.
        std::vector<topo::Link> links;
        for (const topo::Link& link : network.topology.Links())
        {
            if (network.topology.Nodes()[link.a].kind == topo::NodeKind::kSwitch)
            {
                links.push_back(link);
            }
        }
        const auto [slowest, fastest] =
            std::minmax_element(links.begin(), links.end(), [](const auto& a, const auto& b) {
                return a.rate < b.rate;
            });
        fabric->nicRate = fastest->rate;
        fabric->linkDelay = fastest->delay;
        if (!values.Given(&asked::Fabric::switchLatency))
        {
            fabric->switchLatency = {}; // a dimension's delay is all there is
            v->Decide(&asked::Fabric::switchLatency, rdma::Duration(0));
        }
        fabric->nic =
            (slowest->rate == fastest->rate ? "" : rdma::ToString(slowest->rate) + " to ") +
            rdma::ToString(fastest->rate);
    }
    else if (network.fromFile)
    {
        const auto& host = network.topology.Nodes()[network.topology.Hosts()[0]];
        fabric->nicRate = network.topology.Links()[host.ports[0]].rate;
        fabric->linkDelay = network.topology.Links()[host.ports[0]].delay;
        fabric->nic = rdma::ToString(fabric->nicRate) + (fabric->ib.flitBytes ? " scale-up"
                                                         : fabric->infiniBand ? " InfiniBand"
                                                                              : " Ethernet");
        const auto latency = topo::SwitchLatencyOfFile(name);
        if (latency && !values.Given(&asked::Fabric::switchLatency))
        {
            fabric->switchLatency = *latency;
            v->Decide(&asked::Fabric::switchLatency, rdma::Duration(latency->ps));
        }
    }
    ApplyPlaces(v, network.topology, fabric);
    fabric->paths = about.paths;
    return network;
}

} // namespace scenario
