/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "parts-of-run.h"

#include "scenarios/launch/ns3-environment.h"
#include "scenarios/launch/part.h"
#include "socket-part.h"

#include "ns3/type-id.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace dltrain
{

namespace
{

/// How the names of the classes in ns-3's module internet begin, and of no class in core and
/// network (ns-3.37, 3.43: all that each of the modules registers).
constexpr const char* OF_INTERNET[] = {"Arp",
                                       "GlobalRouter",
                                       "Icmpv",
                                       "IpL4Protocol",
                                       "Ipv4",
                                       "Ipv6",
                                       "LoopbackNetDevice",
                                       "Ndisc",
                                       "Rip",
                                       "Rtt",
                                       "Tcp",
                                       "Udp"};

/// \return whether the arguments that --Print... has name a class or a group of internet
bool
PrintsInternet(const std::string& argument)
{
    constexpr char ATTRIBUTES[] = "--PrintAttributes=";
    if (argument.rfind(ATTRIBUTES, 0) != 0)
    {
        return argument == "--PrintGroup=Internet";
    }
    const std::string type = argument.substr(sizeof ATTRIBUTES - 1);
    return IsInMissingPart(type.rfind("ns3::", 0) == 0 ? type : "ns3::" + type);
}

} // namespace

bool
IsInMissingPart(const std::string& type)
{
    ns3::TypeId known;
    return !Part<SocketPart>::IsLoaded() && !ns3::TypeId::LookupByNameFailSafe(type, &known) &&
           std::any_of(std::begin(OF_INTERNET), std::end(OF_INTERNET), [&](const char* begin) {
               return type.rfind(std::string("ns3::") + begin, 0) == 0;
           });
}

bool
IsSimulatorOfMpi(const std::string& type)
{
    return type == "ns3::DistributedSimulatorImpl" || type == "ns3::NullMessageSimulatorImpl";
}

std::string
LoadPartsOf(const scenario::RunOptions& run)
{
    const auto settings = scenario::Ns3SettingsOf(run);
    const bool needed =
        run.protocol.IsOrdinary() ||
        std::any_of(settings.begin(),
                    settings.end(),
                    [](const auto& setting) { return IsInMissingPart(setting.first); }) ||
        std::any_of(run.ns3Arguments.begin(), run.ns3Arguments.end(), PrintsInternet);
    if (!needed || Part<SocketPart>::IsLoaded())
    {
        return {};
    }
    try
    {
        if (!run.dryRun || scenario::IsPartBuilt(SocketPart::PART))
        {
            Part<SocketPart>::Get();
        }
    }
    catch (const std::runtime_error& error)
    {
        return error.what();
    }
    return {};
}

} // namespace dltrain
