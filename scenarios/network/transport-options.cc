/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/transport-options.h"

#include "scenarios/asked/fabric.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/traffic.h"
#include "scenarios/job/scenario.h"
#include "scenarios/network/network-kinds.h"
#include "scenarios/network/nic-names.h"
#include "scenarios/options/said.h"

#include <cmath>

namespace scenario
{

namespace
{

bool
IsOfCommandLine(const Validation& v, Member option)
{
    return v.values.Where(option).rfind("--", 0) == 0;
}

/// \return whether the user gave an option for this transport: the command line overrides the file,
/// which may be the configuration of a run with another transport
bool
IsMeant(const Validation& v, Member option)
{
    return v.values.Given(option) &&
           (IsOfCommandLine(v, option) || !IsOfCommandLine(v, &asked::Fabric::transport));
}

/// The transport has no other.
void
Insist(Validation* v, Member option, const std::string& value, const std::string& why)
{
    Value only;
    Error error;
    ParseValue(*v->table.Find(option), value, Spell(option), &only, &error);
    const Value& is = v->values.At(option);
    if (IsMeant(*v, option) &&
        (is.text != only.text || is.flag != only.flag || is.integer != only.integer))
    {
        v->Fail(option,
                why + "; allowed with --transport=" + v->values.Get(&asked::Fabric::transport) +
                    ": " + value);
        return;
    }
    v->DecideText(option, value);
}

/// The transport has none of it.
void
Refuse(Validation* v, Member option, const std::string& why)
{
    const Value& is = v->values.At(option);
    if (IsMeant(*v, option) && is.raw != v->table.Find(option)->defaultText)
    {
        v->Fail(option, why + "; allowed with --transport=rc or irn");
    }
}

/// Fixes an option that --transport has decided, so that later code cannot decide it again, and
/// messages name --transport.
void
Settle(Validation* v, Member option)
{
    Value& value = v->values.Slot(option);
    if (!value.given)
    {
        value.where =
            SaidText(v->table, v->values, &asked::Fabric::transport) + ": " + Spell(option);
    }
    value.given = true;
}

void
ApplyIrn(Validation* v)
{
    Insist(v, &asked::Fabric::lossRecovery, "selective-repeat", "is not how IRN recovers");
    Settle(v, &asked::Fabric::lossRecovery);
    if (!IsMeant(*v, &asked::Fabric::pfc))
    {
        v->Decide(&asked::Fabric::pfc, false);
    }
    else if (v->values.Get(&asked::Fabric::pfc))
    {
        v->notes.emplace_back("--transport=irn is meant for a network without PFC; here --pfc is "
                              "on, so nothing is lost but to bit errors");
    }
}

/// A transport whose receivers say when to send, as ns3::RdmaNic::LossRecovery knows it.
struct Receiving
{
    const char* name;
    const char* inWords;
    bool marks;              ///< it hears of ECN
    bool prioritizes;        ///< each packet has a priority that the transport chooses
    const char* balancer;    ///< unless the user says otherwise
    const char* trimPackets; ///< ns3::RdmaSwitch::TrimPackets; empty: UetNetwork says; 0: none
    const char* trimRate;    ///< TrimRate
    const char* trimReturn;  ///< TrimReturn
    const char* ackPriority; ///< ns3::RdmaNic::AckPriority
    bool shapes;             ///< ports hold its credits back, and data takes their way back
};

/// Where packets are trimmed. NDP: its paper. EQDS: main_eqds.cpp of its authors' simulator,
/// DEFAULT_QUEUE_SIZE, with no packet sent back (eqds.cpp: one that comes back is an error). UET: a
/// bandwidth-delay product, see UetNetwork.
/// AckPriority of these is RdmaSwitch::TrimPriority. Homa: its grants have the highest there is
/// (draft-ousterhout-tsvwg-homa-00, "Control packets"); the paper's switches spray. ExpressPass:
/// the queue pairs', as credits alone have one of their own.
constexpr Receiving kReceiving[] = {
    {"ndp", "NDP", false, false, "spray", "8", "0", "1", "5", false},
    {"eqds", "EQDS", false, false, "spray", "35", "0", "0", "5", false},
    {"uet", "UET", true, false, "reps", "", "", "0", "5", false},
    {"homa", "Homa", false, true, "spray", "0", "0", "0", "7", false},
    {"expresspass", "ExpressPass", false, false, "ecmp", "0", "0", "0", "8", true},
};

/// Of ExpressPass's credits: ns3::RdmaNic::PullPriority, and what ports and buffers have by
/// default.
constexpr uint32_t kCreditPriority = 7;

/// The network that UET's queues, marks and target are for. The README of the consortium's
/// simulator has 100 Gb/s and a round trip of 12 us. Of these, 2 us are assumed for a packet of
/// 4,178 B on the six links of a three-tier network; they grow with packets and shrink with rates.
/// The rest, for cables and switches, does not change (assumed).
struct UetNetwork
{
    rdma::BitRate rate;
    uint32_t packet;     ///< bytes on the line
    int64_t roundTrip;   ///< ps
    double productBytes; ///< rate x round trip
};

UetNetwork
UetNetworkOf(const Values& values)
{
    constexpr int64_t kReferencePs = 12000000;
    constexpr uint32_t kLinks = 6;
    constexpr uint32_t kReferencePacket = 4178;
    constexpr uint32_t kOverhead = kReferencePacket - 4096;
    UetNetwork network;
    network.rate = rdma::Gbps(100);
    for (const NicName& nic : NicNames())
    {
        network.rate = values.Get(&asked::Fabric::nic) == nic.name ? nic.rate : network.rate;
    }
    network.packet =
        kOverhead + (values.Has(&asked::Fabric::payload) ? values.Get(&asked::Fabric::payload)
                                                         : values.Get(&asked::Fabric::mtu));
    const int64_t onLine =
        rdma::SerializationTime(rdma::Bytes(network.packet), network.rate).ps -
        rdma::SerializationTime(rdma::Bytes(kReferencePacket), rdma::Gbps(100)).ps;
    network.roundTrip = kReferencePs + kLinks * onLine;
    network.productBytes =
        static_cast<double>(network.roundTrip) * static_cast<double>(network.rate.bps) / 8e12;
    return network;
}

/// \return wire bytes of a full data packet without extension headers
uint32_t
FullWireOf(const Values& values)
{
    return values.Get(&asked::Fabric::headerBytes) + values.Get(&asked::Fabric::lineOverhead) +
           (values.Has(&asked::Fabric::payload) ? values.Get(&asked::Fabric::payload)
                                                : values.Get(&asked::Fabric::mtu));
}

/// In packets: from so many on a port of the NICs' rate trims.
uint32_t
TrimPacketsOf(const UetNetwork& network)
{
    return static_cast<uint32_t>(std::lround(network.productBytes / network.packet));
}

const Receiving*
FindReceiving(const std::string& name)
{
    for (const Receiving& transport : kReceiving)
    {
        if (name == transport.name)
        {
            return &transport;
        }
    }
    return nullptr;
}

/// Where switches mark: a quarter and three quarters of the queue from which on they trim, and all
/// above (generate_permutation_experiments.py of the consortium's simulator: -ecn).
void
DecideMarking(Validation* v)
{
    // Thresholds are told for 100 Gb/s.
    const UetNetwork network = UetNetworkOf(v->values);
    const double queue = network.productBytes * 100e9 / static_cast<double>(network.rate.bps);
    const auto part = [queue](double of) { return std::to_string(std::llround(queue * of)); };
    for (const auto& [option, value] :
         {std::pair{Member(&asked::Fabric::ecnKmin), part(0.25)},
          std::pair{Member(&asked::Fabric::ecnKmax), part(0.75)},
          std::pair{Member(&asked::Fabric::ecnPmax), std::string("1")}})
    {
        if (!IsMeant(*v, option))
        {
            v->DecideText(option, value);
            Settle(v, option);
        }
    }
}

/// Data has to come back on the links that its credits were counted on, and no faster.
void
CheckShaping(Validation* v, const std::string& name)
{
    const std::string with =
        "; allowed with --transport=" + v->values.Get(&asked::Fabric::transport) + ": ";
    if (IsMeant(*v, &asked::Fabric::loadBalancer) &&
        v->values.Get(&asked::Fabric::loadBalancer) != "ecmp")
    {
        v->Fail(&asked::Fabric::loadBalancer,
                "gives data other ways than its credits had, which " + name + " counts on" + with +
                    "ecmp");
    }
    Refuse(v,
           &asked::Fabric::queueDisc,
           "takes the place of the one that shapes " + name + "'s credits");
    Refuse(v,
           &asked::Fabric::bufferPolicy,
           "takes the place of the one that bounds queues of " + name + "'s credits");
    if (IsMeant(*v, &asked::Fabric::trafficClasses))
    {
        v->Fail(&asked::Fabric::trafficClasses,
                "would send what " + name + "'s credits do not count; allowed with --transport=rc");
    }
    if (v->table.Find(&asked::Traffic::priority) && // not of every program
        v->values.Get(&asked::Traffic::priority) == kCreditPriority)
    {
        v->Fail(&asked::Traffic::priority, "is that of " + name + "'s credits" + with + "0 to 6");
    }
}

void
ApplyReceiving(Validation* v, const Receiving& transport)
{
    const std::string name = transport.inWords;
    Insist(v, &asked::Fabric::cc, "none", RefusalOfLaws(transport.name));
    Insist(v,
           &asked::Fabric::pfc,
           "0",
           transport.prioritizes || transport.shapes
               ? "would hold up packets of " + name + ", whose " +
                     (transport.shapes ? "credits" : "grants") + " do so"
               : "would hold packets up, which " + name + "'s switches trim instead");
    if (transport.marks)
    {
        Insist(v,
               &asked::Fabric::ecn,
               "1",
               "leaves " + name + "'s senders without marks to hear of");
        DecideMarking(v);
    }
    else
    {
        Insist(v, &asked::Fabric::ecn, "0", "has nobody to hear of marks with " + name);
    }
    Value& recovery = v->values.Slot(&asked::Fabric::lossRecovery);
    if (IsMeant(*v, &asked::Fabric::lossRecovery)) // its default too: none of them has a part in it
    {
        v->Fail(&asked::Fabric::lossRecovery,
                "takes the place of what " + name +
                    " does itself; allowed with --transport=rc or irn");
    }
    // It is not in the configuration as run, and no later code decides it again.
    recovery.given = true;
    recovery.present = false;
    recovery.text = "out-of-order";
    Refuse(v,
           &asked::Fabric::ackEvery,
           "has no meaning with " + name + ", which answers each packet");
    Refuse(v,
           &asked::Fabric::nakInterval,
           "has no meaning with " + name + ", which answers each packet");
    Refuse(v,
           &asked::Fabric::ackPriority,
           transport.shapes        ? "is that of data with " + name
           : transport.prioritizes ? "is the highest with " + name
                                   : "is that of the queue of headers with " + name);
    if (transport.shapes)
    {
        CheckShaping(v, name);
    }
    if (transport.prioritizes)
    {
        if (v->table.Find(&asked::Traffic::priority)) // not of every program
        {
            Refuse(v, &asked::Traffic::priority, RefusalOfPriorities(transport.name));
        }
        if (IsMeant(*v, &asked::Fabric::ets))
        {
            v->Fail(&asked::Fabric::ets,
                    "would share links by weight, where " + name +
                        " needs strict priority; allowed with --transport=rc or irn");
        }
    }
    const std::string with = "; allowed with --transport=" + std::string(transport.name) + ": ";
    if (v->values.Get(&asked::Fabric::compat) != "none")
    {
        v->Fail(&asked::Fabric::compat, "is of another transport" + with + "none");
    }
    if (v->values.Get(&asked::Traffic::operation) == "read")
    {
        v->Fail(&asked::Traffic::operation,
                "has no " + name + ": a READ's packets are sent by who is asked" + with +
                    "write, send");
    }
    const std::string& balancer = v->values.Get(&asked::Fabric::loadBalancer);
    if (!transport.marks && IsMeant(*v, &asked::Fabric::loadBalancer) &&
        (balancer == "reps" || balancer == "plb"))
    {
        v->Fail(&asked::Fabric::loadBalancer,
                "chooses by what ACKs of RoCE say" + with + "those of switches");
    }
    if (!IsMeant(*v, &asked::Fabric::loadBalancer))
    {
        v->Decide(&asked::Fabric::loadBalancer, transport.balancer);
        Settle(v, &asked::Fabric::loadBalancer);
    }
    if (balancer == "spray" && !IsMeant(*v, &asked::Fabric::spray))
    {
        v->Decide(&asked::Fabric::spray,
                  "permuted"); // as NDP's senders do (EQDS's: nextEntropy, over 64 paths)
        Settle(v, &asked::Fabric::spray);
    }
}

} // namespace

bool
IsTrimming(const std::string& transport)
{
    const Receiving* receiving = FindReceiving(transport);
    return receiving && std::string(receiving->trimPackets) != "0";
}

bool
Prioritizes(const std::string& transport)
{
    const Receiving* known = FindReceiving(transport);
    return known && known->prioritizes;
}

std::string
RefusalOfLaws(const std::string& transport)
{
    const Receiving* known = FindReceiving(transport);
    return known ? std::string("has no part in ") + known->inWords +
                       ", which says itself when to send"
                 : "";
}

std::string
RefusalOfPriorities(const std::string& transport)
{
    const Receiving* known = FindReceiving(transport);
    return known && known->prioritizes ? std::string("has no meaning with ") + known->inWords +
                                             ", which chooses it for each packet"
                                       : "";
}

bool
HearsMarks(const std::string& transport)
{
    const Receiving* known = FindReceiving(transport);
    return known && known->marks;
}

bool
HasReads(const TransportSpec& transport)
{
    return !FindReceiving(transport.name);
}

std::vector<std::pair<std::string, std::string>>
TransportAttributes(const Validation& v)
{
    const Receiving* transport = FindReceiving(v.values.Get(&asked::Fabric::transport));
    if (!transport)
    {
        return {};
    }
    std::vector<std::pair<std::string, std::string>> attributes{
        {"ns3::RdmaNic::LossRecovery", transport->name},
        {"ns3::RdmaNic::AckPriority", transport->ackPriority},
        {"ns3::RdmaSwitch::TrimPackets", transport->trimPackets},
        {"ns3::RdmaSwitch::TrimRate", transport->trimRate},
        {"ns3::RdmaSwitch::TrimReturn", transport->trimReturn}};
    if (transport->prioritizes)
    {
        attributes.emplace_back("ns3::RdmaPort::StrictPriorities", "255");
    }
    if (transport->shapes)
    {
        attributes.emplace_back("ns3::RdmaNic::PullPriority", std::to_string(kCreditPriority));
        attributes.emplace_back("ns3::RdmaPort::QueueDisc", "credit");
        attributes.emplace_back("ns3::RdmaSwitch::BufferPolicy", "credit");
        attributes.emplace_back("ns3::CreditQueueDisc::DataBytes",
                                std::to_string(FullWireOf(v.values)));
        if (!v.values.Has(&asked::Fabric::hashSeed))
        {
            attributes.emplace_back("ns3::EcmpLoadBalancer::HashSeed", "1"); // both ways alike
        }
    }
    if (transport->marks)
    {
        const UetNetwork network = UetNetworkOf(v.values);
        attributes[2].second = std::to_string(TrimPacketsOf(network));
        attributes[3].second = std::to_string(network.rate.bps / 1000000000) + "Gbps";
        // 0.75 round trips (uec.cpp, with trimming).
        attributes.emplace_back("ns3::UetParameters::TargetDelay",
                                std::to_string(network.roundTrip * 3 / 4) + "ps");
        // 15 us and six queues, each of a round trip (main_uec.cpp: UecSrc::_min_rto).
        attributes.emplace_back("ns3::RdmaNic::CreditTimeout",
                                std::to_string(15000000 + 6 * network.roundTrip) + "ps");
    }
    return attributes;
}

std::vector<NamedItem>
TransportItems()
{
    return {{"rc", "reliable connection, as --loss-recovery, --cc and --pfc say"},
            {"irn",
             "selective repeat and at most a bandwidth-delay product in flight, without PFC "
             "(Mittal et al., SIGCOMM 2018)"},
            {"ndp",
             "switches trim packets and spray them, receivers pull (Handley et al., SIGCOMM "
             "2017)"},
            {"eqds",
             "the same, but receivers give credits to who asks for them (Olteanu et al., NSDI "
             "2022)"},
            {"homa",
             "receivers grant the messages with the least left, at priorities of the switches "
             "(Montazeri et al., SIGCOMM 2018)"},
            {"expresspass",
             "one packet a credit, whose rate links bound and receivers adapt (Cho et al., SIGCOMM "
             "2017)"},
            {"uet",
             "Ultra Ethernet's in outline: a window by delay and marks, an entropy a packet, "
             "trimming; credits if wanted (ns3::UetParameters)"}};
}

std::vector<Option>
TransportOptionRows(const Section& section)
{
    return {
        section
            .Name(
                "transport",
                "how messages get through: sets loss recovery and what switches do, each of which "
                "may be given too")
            .As(&asked::Fabric::transport)
            .Names("transport", TransportItems)
            .Default("rc")
            .Example("irn")
            .Only(when::Packets())
            .IdleUnless(when::Rdma())};
}

TransportSpec
ApplyTransport(Validation* v)
{
    TransportSpec spec;
    spec.name = v->values.Get(&asked::Fabric::transport);
    if (spec.name == "rc")
    {
        return spec;
    }
    FabricSpec network;
    network.network = v->values.Get(&asked::Fabric::network);
    if (!HasPackets(network))
    {
        // ApplyNetwork reports this; an error about the transport's decisions would mislead
        return spec;
    }
    if (v->values.Get(&asked::Fabric::fabric) == "ib")
    {
        v->Fail(&asked::Fabric::transport,
                "is for Ethernet, whose switches may drop: InfiniBand's links lose nothing but to "
                "bit errors, and its adapters have the reliable connection only; allowed with "
                "--fabric=ib: rc");
        return spec;
    }
    if (const Receiving* transport = FindReceiving(spec.name))
    {
        ApplyReceiving(v, *transport);
    }
    else
    {
        ApplyIrn(v);
    }
    return spec;
}

} // namespace scenario
