/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/link-options.h"

#include "scenarios/asked/fabric.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/network.h"
#include "scenarios/options/format.h"
#include "scenarios/options/member.h"

namespace scenario
{

namespace
{

constexpr const char* kCredits = "cbfc";

} // namespace

std::vector<Option>
LinkOptionRows()
{
    const Section ethernet =
        Section{"/fabric", "Fabric"}.Only(when::Packets()).Only(when::Ethernet());
    return {
        ethernet.Name("flow-control", "what keeps lossless priorities from overflowing buffers")
            .As(&asked::Fabric::flowControl)
            .Names("flow control",
                   {{"pfc", "a full buffer pauses the sender (IEEE 802.1Qbb)"},
                    {kCredits,
                     "a sender has credits for the receiver's buffer (Ultra Ethernet's CBFC)"}})
            .Otherwise("pfc")
            .Example(kCredits)
            .Sets("ns3::RdmaPort::FlowControl")
            .Only(when::On("pfc").Usual()),
        ethernet
            .Bytes("credit-buffer",
                   "receive buffer of a lossless priority of a port; 0: as by default")
            .As(&asked::Fabric::creditBuffer)
            .Otherwise("what one priority needs for the whole rate")
            .Range(0, 268435200)
            .Example("64kB")
            .Sets("ns3::RdmaPort::CreditBuffer"),
        ethernet
            .Flag("link-retry",
                  "links send frames with bit errors again, so that transports see no loss (Ultra "
                  "Ethernet's LLR)")
            .As(&asked::Fabric::linkRetry)
            .Otherwise("0")
            .Example("1")
            .Sets("ns3::RdmaPort::LinkRetry"),
    };
}

void
ApplyLinks(Validation* v, FabricSpec* fabric)
{
    const Values& values = v->values;
    fabric->linkRetry =
        values.Has(&asked::Fabric::linkRetry) && values.Get(&asked::Fabric::linkRetry);
    fabric->linkCredits = values.Has(&asked::Fabric::flowControl) &&
                          values.Get(&asked::Fabric::flowControl) == kCredits;
    if (fabric->linkRetry && fabric->cutThrough)
    {
        v->Fail(&asked::Fabric::linkRetry,
                "judges frames when they are whole; allowed without --cut-through");
    }
    if (!fabric->linkCredits)
    {
        return;
    }
    if (fabric->cutThrough)
    {
        v->Fail(&asked::Fabric::flowControl,
                "counts what is in buffers, and what cuts through is in none; allowed without "
                "--cut-through");
    }
    if (values.Get(&asked::Fabric::pfcWatchdog).ps > 0)
    {
        v->Fail(&asked::Fabric::flowControl, "has no pauses; allowed without --pfc-watchdog");
    }
    if (!fabric->linkRetry && values.Has(&asked::Network::bitErrorRate) &&
        values.Get(&asked::Network::bitErrorRate) > 0)
    {
        v->Fail(&asked::Fabric::flowControl,
                "loses the credits of frames with bit errors; allowed with --bit-error-rate: "
                "--link-retry");
    }
}

std::string
LinksText(const FabricSpec& fabric)
{
    std::string text = fabric.linkCredits ? "credits (CBFC) instead of PFC" : "";
    if (fabric.linkRetry)
    {
        text += text.empty() ? "" : ", ";
        text += "frames with bit errors are sent again (LLR)";
    }
    return text;
}

} // namespace scenario
