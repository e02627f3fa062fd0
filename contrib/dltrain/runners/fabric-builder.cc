/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-builder.h"

#include "contrib/dltrain/base/console.h"
#include "contrib/dltrain/ranks/idle-cores.h"
#include "contrib/dltrain/ranks/parts-of-run.h"
#include "contrib/dltrain/ranks/rank-link.h"
#include "contrib/dltrain/ranks/ranks.h"
#include "contrib/rdma/core/no-congestion-control.h"
#include "contrib/rdma/core/shown-text.h"
#include "link-layer-setup.h"
#include "ns3-settings.h"
#include "ordinary-setup.h"
#include "place-settings.h"
#include "reports/base/output-errors.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/network/infiniband.h"
#include "scenarios/options/member.h"
#include "topologies/rank-partition.h"
#include "topologies/routes.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/data-rate.h"
#include "ns3/global-value.h"
#include "ns3/ib-link-layer.h"
#include "ns3/node-window-simulator-impl.h"
#include "ns3/nstime.h"
#include "ns3/object-factory.h"
#include "ns3/quad-heap-scheduler.h"
#include "ns3/rdma-transport-schemes.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

namespace dltrain
{

using ns3::BooleanValue;
using ns3::StringValue;
using ns3::UintegerValue;

namespace
{

/// The congestion control's TypeId. \return false if there is no such name; the error lists those
/// there are
bool
FindCongestionOps(const std::string& name, ns3::TypeId& type, std::string& error)
{
    bool ok = false;
    type = ns3::RdmaCongestionOps::LookupByName(name, ok);
    if (!ok)
    {
        error = scenario::Spell(&scenario::asked::Fabric::cc) + ": '" + rdma::Shown(name, 60) +
                "' is no congestion control; there are";
        for (const auto& [known, typeName] : ns3::RdmaCongestionOps::GetNames())
        {
            error += " " + known;
        }
    }
    return ok;
}

/// The preset of the congestion control as its attribute's default.
bool
SetPreset(const scenario::FabricSpec& spec, std::string& error)
{
    ns3::TypeId type;
    if (!FindCongestionOps(spec.cc, type, error))
    {
        return false;
    }
    ns3::TypeId::AttributeInformation preset;
    if (spec.ccPreset.empty() || spec.cc == rdma::kNoCongestionControl.name)
    {
        return true; // there is no law: presets only set marking
    }
    if (!type.LookupAttributeByName("Preset", &preset))
    {
        error = scenario::Spell(&scenario::asked::Fabric::ccPreset) + "=" +
                rdma::Shown(spec.ccPreset, 60) + ": " + type.GetName() + ", the class of " +
                spec.cc +
                ", has no attribute Preset that takes it; allowed: one as ns3::DcqcnCongestionOps "
                "has, of the presets of its RegisteredCongestionControl";
        return false;
    }
    if (!ns3::Config::SetDefaultFailSafe(type.GetName() + "::Preset", StringValue(spec.ccPreset)))
    {
        error = scenario::Spell(&scenario::asked::Fabric::ccPreset) + ": '" +
                rdma::Shown(spec.ccPreset, 60) + "' is no preset of " + spec.cc +
                "; allowed: " + preset.checker->GetUnderlyingTypeInformation();
        return false;
    }
    return true;
}

/// The scenario's options as defaults of attributes.
bool
SetDefaults(const scenario::FabricSpec& spec, const scenario::RunOptions& run, std::string& error)
{
    const auto set = [](const std::string& name, const ns3::AttributeValue& value) {
        ns3::Config::SetDefault(name, value);
    };
    for (const auto& [name, text] : run.optionAttributes)
    {
        set(name, StringValue(text));
    }
    if (run.protocol.IsOrdinary())
    {
        SetOrdinaryDefaults(run.protocol);
    }
    const rdma::FrameSizes& frames = spec.frames;
    set("ns3::RdmaNic::HeaderBytes", UintegerValue(frames.dataOverhead - frames.lineOverhead));
    set("ns3::RdmaNic::ExtensionHeaders", BooleanValue(frames.HasExtensions()));
    set("ns3::RdmaNic::AckFrameBytes", UintegerValue(frames.ackWire - frames.lineOverhead));
    set("ns3::RdmaNic::CnpFrameBytes", UintegerValue(frames.cnpWire - frames.lineOverhead));
    set("ns3::RdmaNic::LeastFrameBytes",
        UintegerValue(frames.leastWire ? frames.leastWire - frames.lineOverhead : 0));
    set("ns3::RdmaNic::FlitBytes", UintegerValue(frames.flitBytes));
    set("ns3::RdmaPort::LineOverhead", UintegerValue(frames.lineOverhead));
    const scenario::LoadBalancer* scheme = scenario::FindLoadBalancer(spec.balancing.name);
    const bool bySenders = scheme && scheme->where == scenario::LoadBalancer::Where::kSenders;
    const bool byTables = spec.balancing.name == "tables";
    set(spec.infiniBand ? "ns3::IbSwitch::LoadBalancer" : "ns3::RdmaSwitch::LoadBalancer",
        StringValue(byTables ? "" : (bySenders ? "ecmp" : spec.balancing.name)));
    set("ns3::RdmaNic::PathSelector", StringValue(bySenders ? spec.balancing.name : ""));
    return SetPreset(spec, error);
}

/// \return the congestion control of a class; null: there is no such one, and the error says so
ns3::Ptr<ns3::RdmaCongestionOps>
MakeCongestionOps(const scenario::TrafficClass& of, std::string& error)
{
    ns3::TypeId type;
    if (!FindCongestionOps(of.cc, type, error))
    {
        return nullptr;
    }
    ns3::ObjectFactory factory;
    factory.SetTypeId(type);
    ns3::TypeId::AttributeInformation preset;
    if (!of.ccPreset.empty() && type.LookupAttributeByName("Preset", &preset))
    {
        factory.Set("Preset", StringValue(of.ccPreset));
    }
    return factory.Create<ns3::RdmaCongestionOps>();
}

/// Adds the classes beside class 0. \return what is wrong, or nothing
std::string
AddClasses(const scenario::FabricSpec& spec, ns3::RdmaFabricHelper& helper)
{
    for (const scenario::TrafficClass& of : spec.classes)
    {
        std::string error;
        ns3::RdmaTrafficClass own;
        own.prototype = MakeCongestionOps(of, error);
        if (!own.prototype)
        {
            return error;
        }
        own.recovery =
            of.lossRecovery.empty() ? nullptr : ns3::RdmaTransportSchemes::Find(of.lossRecovery);
        own.maxRateBps = of.rate.bps;
        if (of.hearsMarks && spec.ecn)
        {
            own.marking = of.marking.kmax;
            own.markingAt = rdma::Gbps(100);
        }
        helper.AddTrafficClass(own);
    }
    return {};
}

/// Checks the attributes of a congestion control, as a queue pair of such a NIC would do it.
bool
CheckCongestionControl(const scenario::FabricSpec& spec,
                       const ns3::RdmaNic& nic,
                       const scenario::TrafficClass& of,
                       std::string& error)
{
    const ns3::Ptr<ns3::RdmaCongestionOps> ops = MakeCongestionOps(of, error);
    if (!ops)
    {
        return false;
    }
    UintegerValue window;
    UintegerValue maxRate;
    UintegerValue mtu;
    nic.GetAttribute("Window", window);
    nic.GetAttribute("MaxRate", maxRate);
    nic.GetAttribute("Mtu", mtu);
    ns3::RdmaCongestionState state;
    state.port = spec.nicRate;
    state.line = rdma::BitRate(maxRate.Get() ? std::min<uint64_t>(maxRate.Get(), spec.nicRate.bps)
                                             : spec.nicRate.bps);
    state.line = of.rate.bps ? std::min(state.line, of.rate) : state.line;
    state.mtu = static_cast<uint32_t>(mtu.Get());
    state.fullWireBytes = spec.frames.FullWire(state.mtu);
    state.windowAtLine = window.Get();
    error = ops->Check(state);
    const std::string attribute = "ns3::RdmaNic::Window: ";
    if (error.rfind(attribute, 0) == 0) // the option that sets it
    {
        error = scenario::Spell(&scenario::asked::Fabric::window) + " (or " +
                attribute.substr(0, attribute.size() - 2) + "): " + error.substr(attribute.size());
    }
    return error.empty();
}

/// \return the problem with the rates and time-outs of NICs, or nothing
std::string
CheckNicLimits(const ns3::RdmaNic& nic)
{
    // At less than this, 2^63 ps are over before some thousand frames are.
    constexpr uint64_t leastRate = 1000000;
    constexpr uint64_t mostRate = 1000000000000000;
    UintegerValue maxRate;
    ns3::DataRateValue pcie;
    nic.GetAttribute("MaxRate", maxRate);
    nic.GetAttribute("PcieBandwidth", pcie);
    for (const auto& [name, rate] : {std::pair<const char*, uint64_t>{"MaxRate", maxRate.Get()},
                                     {"PcieBandwidth", pcie.Get().GetBitRate()}})
    {
        if (rate && (rate < leastRate || rate > mostRate))
        {
            return std::string("ns3::RdmaNic::") + name + ": " + std::to_string(rate) +
                   " bit/s; allowed: 0 (no limit), or 1 Mb/s to 1 Pb/s";
        }
    }
    ns3::TimeValue low;
    ns3::TimeValue high;
    nic.GetAttribute("RtoLow", low);
    nic.GetAttribute("RtoHigh", high);
    if (low.Get() > high.Get())
    {
        return "ns3::RdmaNic::RtoLow: " + low.SerializeToString(nullptr) +
               " is longer than RtoHigh, " + high.SerializeToString(nullptr) +
               "; allowed: at most as long";
    }
    return "";
}

/// \return the problem with the attributes of switches, or nothing
std::string
CheckSwitch()
{
    const auto device = ns3::ObjectFactory("ns3::RdmaSwitch").Create<ns3::RdmaSwitch>();
    // A watchdog looks that often.
    for (const char* name : {"PfcWatchdogDetection", "PfcWatchdogRestoration"})
    {
        ns3::TimeValue time;
        device->GetAttribute(name, time);
        if (time.Get().IsStrictlyPositive() && time.Get() < ns3::NanoSeconds(100))
        {
            return std::string("ns3::RdmaSwitch::") + name + ": " +
                   time.SerializeToString(nullptr) + "; allowed: 0 (off), or at least 100 ns";
        }
    }
    return {};
}

constexpr char DISTRIBUTED[] = "ns3::DistributedSimulatorImpl";

/// The simulator that several processes, here or planned, have to run on.
std::string
SimulatorOfSeveral(const scenario::RunOptions& run)
{
    return run.engine == "windows" ? ns3::NodeWindowSimulatorImpl::GetTypeId().GetName()
                                   : DISTRIBUTED;
}

/// Null messages need links that ns-3 itself knows as such; several processes need a simulator that
/// keeps them together. \return the problem, or nothing
std::string
CheckSimulator(const scenario::RunOptions& run)
{
    StringValue value;
    ns3::GlobalValue::GetValueByName("SimulatorImplementationType", value);
    const std::string simulator = value.Get();
    const std::string wrong = "SimulatorImplementationType: '" + rdma::Shown(simulator, 60) + "'";
    if (run.processes.Several())
    {
        const std::string needed = SimulatorOfSeveral(run);
        return simulator == needed ? ""
                                   : wrong + "; allowed with " + run.processes.by + ": " + needed;
    }
    // One process runs no MPI, which the distributed one calls.
    return simulator != "ns3::NullMessageSimulatorImpl" && simulator != DISTRIBUTED
               ? ""
               : wrong +
                     " cannot run these networks; allowed: ns3::DefaultSimulatorImpl, "
                     "ns3::RealtimeSimulatorImpl, with several processes " +
                     DISTRIBUTED;
}

/// Checks attributes together, beyond each attribute's own checker.
bool
CheckTogether(const scenario::FabricSpec& spec, const scenario::RunOptions& run, std::string& error)
{
    error = CheckSimulator(run);
    if (!error.empty())
    {
        return false;
    }
    ns3::ObjectFactory factory("ns3::RdmaNic");
    UintegerValue mtu;
    BooleanValue extensions;
    const auto nic = factory.Create<ns3::RdmaNic>();
    nic->GetAttribute("Mtu", mtu);
    nic->GetAttribute("ExtensionHeaders", extensions);
    const uint64_t value = mtu.Get();
    if (extensions.Get() && (value < 256 || value > 4096 || (value & (value - 1))))
    {
        error = "ns3::RdmaNic::Mtu: " + std::to_string(value) +
                " is no path MTU; allowed: 256, 512, 1024, 2048, 4096";
        return false;
    }
    error = nic->ReadPriorityMaps();
    if (error.empty())
    {
        error = CheckNicLimits(*nic);
    }
    if (error.empty())
    {
        error = CheckSwitch();
    }
    if (error.empty())
    {
        error = LinkLayerSetup::Of(spec)->Check(*nic);
    }
    scenario::TrafficClass usual;
    usual.cc = spec.cc; // its preset is a default of its attribute
    if (!error.empty() || !CheckCongestionControl(spec, *nic, usual, error))
    {
        return false;
    }
    return std::all_of(spec.classes.begin(), spec.classes.end(), [&](const auto& of) {
        return CheckCongestionControl(spec, *nic, of, error);
    });
}

/// By itself a program takes no more: hosts stay on one of them, which soon has most to do.
/// Assumed.
constexpr uint32_t MOST_THREADS = 4;

/// Chooses the nodes that this rank of several simulates. scenario::CheckProcesses has accepted the
/// run.
void
Split(const topo::Topology& topology, bool hostsApart, ns3::RdmaFabricHelper& helper)
{
    const Ranks& ranks = Ranks::Get();
    if (!hostsApart)
    {
        Ranks::KeepHostsTogether();
    }
    helper.SetPartition({hostsApart ? topo::PartitionAmongRanks(topology, ranks.Size())
                                    : topo::PartitionSwitchesAmongRanks(topology, ranks.Size()),
                         ranks.Rank(),
                         ranks.Size()});
}

} // namespace

bool
PrepareSimulator(const scenario::FabricSpec& spec,
                 const scenario::RunOptions& run,
                 std::string& error)
{
    TakeNs3Environment();
    error = LoadPartsOf(run);
    if (!error.empty())
    {
        return false;
    }
    error = CheckLogging();
    if (!error.empty())
    {
        return false;
    }
    if (ns3::Time::GetResolution() != ns3::Time::PS)
    {
        ns3::Time::SetResolution(ns3::Time::PS);
    }
    ns3::GlobalValue::Bind("SchedulerType",
                           StringValue(ns3::RdmaQuadHeapScheduler::GetTypeId().GetName()));
    // With ns-3's engine and several processes its MPI module has chosen.
    const bool planned = run.processes.Several() && !Ranks::Get().Several();
    const char* const simulator = "SimulatorImplementationType";
    if (run.engine == "windows" || planned)
    {
        ns3::GlobalValue::Bind(simulator, StringValue(SimulatorOfSeveral(run)));
    }
    else if (!Ranks::Get().Several())
    {
        ns3::GlobalValue::Bind(simulator, StringValue("ns3::DefaultSimulatorImpl"));
    }
    ns3::Config::SetDefault(
        "ns3::NodeWindowSimulatorImpl::Threads",
        ns3::UintegerValue(run.threads ? run.threads : IdleCores(MOST_THREADS)));
    ns3::Config::SetDefault("ns3::NodeWindowSimulatorImpl::Turns", ns3::BooleanValue(true));
    // ns-3's generator takes seeds below this number, and not 0.
    constexpr uint64_t seeds = 4294944442;
    ns3::RngSeedManager::SetSeed(static_cast<uint32_t>(run.seed % seeds + 1));
    ns3::RngSeedManager::SetRun(run.seed / seeds + 1);
    const bool good = SetDefaults(spec, run, error) && ApplyNs3Settings(run, error) &&
                      CheckTogether(spec, run, error);
    if (planned && run.engine != "windows")
    {
        // The checked simulator needs MPI; a dry run simulates nothing.
        ns3::GlobalValue::Bind(simulator, StringValue("ns3::DefaultSimulatorImpl"));
    }
    return good;
}

void
WarnOfSettings(const scenario::FabricSpec& spec,
               const scenario::RunOptions& run,
               const topo::Topology& topology)
{
    static bool told = false; // a run may build several fabrics
    if (told || !Ranks::Get().IsFirst())
    {
        return;
    }
    told = true;
    std::vector<std::string> warnings = UnusedNs3Settings(spec, run);
    const std::vector<std::string> overridden = OverriddenOptions(run);
    warnings.insert(warnings.end(), overridden.begin(), overridden.end());
    warnings.push_back(OrderOfBalancer(spec, run, topology));
    for (const std::string& warning : warnings)
    {
        if (!warning.empty())
        {
            SayNote("warning: " + warning);
        }
    }
}

std::unique_ptr<ns3::RdmaFabric>
BuildFabric(const scenario::FabricSpec& spec,
            const topo::Topology& topology,
            const scenario::RunOptions& run,
            std::string& error)
{
    if (!PrepareSimulator(spec, run, error))
    {
        return nullptr;
    }
    std::vector<ns3::RdmaNodeSpec> nodes;
    nodes.reserve(topology.Nodes().size());
    for (const topo::Node& node : topology.Nodes())
    {
        nodes.push_back({node.name, node.kind == topo::NodeKind::kSwitch, node.isUnit});
        // Parts are what detours go by: of a network that has none each switch is one.
        const std::vector<uint32_t> coordinates =
            topology.Coordinates(static_cast<topo::NodeId>(nodes.size() - 1));
        if (!topology.About().part.empty() && coordinates.size() > 1)
        {
            nodes.back().group = coordinates.front();
        }
    }
    std::vector<ns3::RdmaLinkSpec> links;
    links.reserve(topology.Links().size());
    for (const topo::Link& link : topology.Links())
    {
        const int64_t delay = link.delay.ps + scenario::FecDelay(spec, link.rate).ps;
        links.push_back({link.a, link.b, link.rate.bps, delay, link.bitErrorRate});
    }
    error = PutPlaces(spec, topology, nodes, links);
    if (!error.empty())
    {
        return nullptr;
    }
    ns3::TypeId type;
    if (!FindCongestionOps(spec.cc, type, error))
    {
        return nullptr;
    }
    ns3::ObjectFactory factory;
    factory.SetTypeId(type);
    ns3::RdmaFabricHelper helper;
    helper.SetCongestionOps(factory.Create<ns3::RdmaCongestionOps>());
    error = AddClasses(spec, helper);
    if (!error.empty())
    {
        return nullptr;
    }
    const auto linkLayer = LinkLayerSetup::Of(spec);
    linkLayer->Apply(helper);
    if (spec.ets.given)
    {
        helper.SetNicAttribute("Ets", ns3::BooleanValue(true));
    }
    helper.SetRoutes(topo::StaticRoutes(topology));
    helper.SetSourcePaths(spec.paths);
    helper.SetBond(topology.About().bonded ? topology.About().planes : 1);
    if (run.protocol.IsOrdinary())
    {
        helper.SetLargestFrame(LargestFrameOf(run.protocol));
    }
    if (Ranks::Get().Several())
    {
        Split(topology, run.processes.hostsApart, helper);
    }
    auto fabric = helper.Build(nodes, links, error);
    if (!fabric)
    {
        error = WithOption(spec, run, linkLayer->Explain(error));
        return nullptr;
    }
    if (spec.ets.given)
    {
        for (const auto& port : fabric->GetPorts())
        {
            port->SetStrictMask(spec.ets.strict);
            for (uint8_t priority = 0; priority < ns3::RdmaPort::PRIORITIES; ++priority)
            {
                port->SetWeight(priority, spec.ets.weights[priority]);
            }
        }
    }
    WarnOfSettings(spec, run, topology);
    const ns3::RdmaLinkLayer& built = fabric->GetLinkLayer();
    if (Ranks::Get().IsFirst()) // all say the same
    {
        for (const std::string& note : built.GetNotes())
        {
            SayNote(note);
        }
    }
    if (run.engine == "windows")
    {
        fabric->ConnectRanks([](const auto& to, auto& from) { Ranks::Get().Exchange(to, from); });
    }
    else if (Ranks::Get().Several())
    {
        error = Part<RankLink>::Get().Connect(*fabric);
        if (!error.empty())
        {
            return nullptr;
        }
    }
    const auto& endpoints = topology.Endpoints();
    NS_ABORT_MSG_IF(endpoints.size() != fabric->GetNEndpoints(),
                    "the fabric's endpoints are not the topology's");
    for (uint32_t e = 0; e < endpoints.size(); ++e)
    {
        if (!fabric->IsLocal(e))
        {
            continue;
        }
        const auto port = fabric->GetNic(e)->GetPort();
        NS_ABORT_MSG_IF(port->GetNode() != fabric->GetNodes().Get(endpoints[e].host) ||
                            port->GetIfIndex() != endpoints[e].port,
                        "the fabric numbers its endpoints otherwise than the topology");
    }
    return fabric;
}

std::string
WriteSubnet(const ns3::RdmaFabric& fabric,
            const scenario::FabricSpec& spec,
            const scenario::RunOptions& run)
{
    if (run.out.empty())
    {
        return {};
    }
    const ns3::IbSubnetHelper* subnet = ns3::IbLinkLayer::GetSubnet(fabric);
    if (subnet && spec.ib.dump)
    {
        const std::string error = subnet->Dump(run.out);
        // "PATH: cannot be written: WHY"
        static const std::string words = ": cannot be written: ";
        if (const std::size_t at = error.find(words); at != std::string::npos)
        {
            reports::OutputErrors::Add(error.substr(0, at), error.substr(at + words.size()));
        }
        return error;
    }
    // Those of an earlier run go, but not what this one has read.
    for (const char* name : {"/opensm-lfts.dump", "/opensm-sl2vl.dump"})
    {
        std::error_code unknown;
        const std::string path = run.out + name;
        if (std::filesystem::is_regular_file(std::filesystem::symlink_status(path, unknown)) &&
            (spec.ib.lfts.empty() || !std::filesystem::equivalent(path, spec.ib.lfts, unknown)))
        {
            std::filesystem::remove(path, unknown);
        }
    }
    return {};
}

} // namespace dltrain
