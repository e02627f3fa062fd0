/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/spec/transport-options.h"

namespace scenario
{

namespace
{

bool
IsOfCommandLine(const Validation& v, const std::string& option)
{
    return v.values.Where(option).rfind("--", 0) == 0;
}

/// \return whether who gave an option meant it for this transport: the command line overrides the
/// file, which may be the configuration of a run with another transport
bool
IsMeant(const Validation& v, const std::string& option)
{
    return v.values.Given(option) &&
           (IsOfCommandLine(v, option) || !IsOfCommandLine(v, "transport"));
}

/// The transport has no other.
void
Insist(Validation* v, const std::string& option, const std::string& value, const std::string& why)
{
    Value only;
    Error error;
    ParseValue(*v->table.Find(option), value, "--" + option, &only, &error);
    const Value& is = v->values[option];
    if (IsMeant(*v, option) &&
        (is.text != only.text || is.flag != only.flag || is.integer != only.integer))
    {
        v->Fail(option,
                why + "; allowed with --transport=" + v->values.Text("transport") + ": " + value);
        return;
    }
    v->Decide(option, value);
}

/// The transport has none of it.
void
Refuse(Validation* v, const std::string& option, const std::string& why)
{
    const Value& is = v->values[option];
    if (IsMeant(*v, option) && is.raw != v->table.Find(option)->defaultText)
    {
        v->Fail(option, why + "; allowed with --transport=rc or irn");
    }
}

void
ApplyIrn(Validation* v)
{
    Insist(v, "loss-recovery", "selective-repeat", "is not how IRN recovers");
    v->values.Slot("loss-recovery").given = true; // nobody decides otherwise
    if (!IsMeant(*v, "pfc"))
    {
        v->Decide("pfc", "0");
    }
    else if (v->values.Flag("pfc"))
    {
        v->notes.emplace_back("--transport=irn is meant for a network without PFC; here --pfc is "
                              "on, so nothing is lost but to bit errors");
    }
}

void
ApplyNdp(Validation* v)
{
    Insist(v, "cc", "none", "has no part in NDP, whose receivers say when to send");
    Insist(v, "pfc", "0", "would hold packets up, which NDP's switches trim instead");
    Insist(v, "ecn", "0", "has nobody to hear of marks with NDP");
    Refuse(v, "loss-recovery", "takes the place of what NDP does itself");
    // Not in the configuration as run, and nobody decides it anew.
    Value& recovery = v->values.Slot("loss-recovery");
    recovery.given = true;
    recovery.present = false;
    recovery.text = "out-of-order";
    Refuse(v, "ack-every", "has no meaning with NDP, which answers each packet");
    Refuse(v, "nak-interval", "has no meaning with NDP, which answers each packet");
    Refuse(v, "ack-priority", "is that of the queue of headers with NDP");
    if (v->values.Text("compat") != "none")
    {
        v->Fail("compat", "is of another transport; allowed with --transport=ndp: none");
    }
    if (v->table.Find("operation") && v->values.Text("operation") == "read")
    {
        v->Fail("operation",
                "has no NDP: a READ's packets are sent by who is asked; allowed with "
                "--transport=ndp: write, send");
    }
    const std::string& balancer = v->values.Text("load-balancer");
    if (IsMeant(*v, "load-balancer") && (balancer == "reps" || balancer == "plb"))
    {
        v->Fail("load-balancer",
                "chooses by what ACKs of RoCE say; allowed with --transport=ndp: those of "
                "switches");
    }
    if (!IsMeant(*v, "load-balancer"))
    {
        v->Decide("load-balancer", "spray");
        v->values.Slot("load-balancer").given = true; // nobody decides otherwise
    }
}

} // namespace

std::vector<std::pair<std::string, std::string>>
TransportAttributes(const Validation& v)
{
    if (v.values.Text("transport") != "ndp")
    {
        return {};
    }
    return {{"ns3::RdmaNic::LossRecovery", "ndp"},
            {"ns3::RdmaNic::AckPriority", "5"}, // RdmaSwitch::TrimPriority
            {"ns3::RdmaSwitch::TrimPackets", "8"}};
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
             "2017)"}};
}

std::vector<Option>
TransportOptionRows(const std::string& group, const std::string& json)
{
    return {Opt("transport",
                Kind::kName,
                json,
                group,
                "how messages get through: sets loss recovery and what switches do, each of which "
                "may be given too")
                .Names("transport", TransportItems)
                .Default("rc")
                .Example("irn")};
}

TransportSpec
ApplyTransport(Validation* v)
{
    TransportSpec spec;
    spec.name = v->values.Text("transport");
    if (spec.name == "rc")
    {
        return spec;
    }
    if (v->values.Text("fabric") == "ib")
    {
        v->Fail("transport",
                "is for Ethernet, whose switches may drop: InfiniBand's links lose nothing but to "
                "bit errors, and its adapters have the reliable connection only; allowed with "
                "--fabric=ib: rc");
        return spec;
    }
    spec.name == "irn" ? ApplyIrn(v) : ApplyNdp(v);
    return spec;
}

} // namespace scenario
