/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/fault-kinds.h"

#include "topologies/names.h"

namespace scenario
{

const std::vector<KnownFault>&
KnownFaults()
{
    static const std::vector<KnownFault> known = {
        {"link-down", FaultKind::kLinkDown, kCables, "for", "", "a cable is cut"},
        {"port-down",
         FaultKind::kPortDown,
         kPorts,
         "for",
         "",
         "a port is dead: its own switch knows at once, the other one as of a cut cable"},
        {"switch-down",
         FaultKind::kSwitchDown,
         kSwitches,
         "for",
         "",
         "a switch is dead, all its ports"},
        {"nic-down", FaultKind::kNicDown, kHosts | kPorts, "for", "", "all NICs of a host, or one"},
        {"flap",
         FaultKind::kFlap,
         kCables,
         "for! period! duty",
         "",
         "a cable is cut and whole in turn: every period=, for the share duty= of it (0.5)"},
        {"rate",
         FaultKind::kRate,
         kCables,
         "for to!",
         "a rate such as 50Gbps, at least 1Mbps and at most that of the link",
         "a link is slower, both ways: to=50Gbps"},
        {"lane-down",
         FaultKind::kLaneDown,
         kCables,
         "for to!",
         "1, 2 or 3, the lanes that are left",
         "of the lanes of a link (most have four) to=1, 2 or 3 are left, which are so much slower"},
        {"ber",
         FaultKind::kBitErrors,
         kCables | kOneWay,
         "for to!",
         "a number above 0, at most 0.001",
         "a link has bit errors: to=1e-9 of them"},
        {"drop",
         FaultKind::kDrop,
         kCables | kOneWay,
         "for to!",
         "a number above 0, at most 1",
         "frames that have come are dropped without a word: to=0.01 of them"},
        {"pause-storm",
         FaultKind::kPauseStorm,
         kPorts | kHosts,
         "for!",
         "",
         "a port (or a host's) pauses its peer all the time"},
        {"gpu-slow",
         FaultKind::kGpuSlow,
         kGpus,
         "for to!",
         "a number from 1 to 1000",
         "a GPU computes to=2 times as long"},
        {"gpu-stop", FaultKind::kGpuStop, kGpus, "for", "", "a GPU computes and sends nothing"},
    };
    return known;
}

const KnownFault*
FindFault(const std::string& name)
{
    for (const KnownFault& known : KnownFaults())
    {
        if (topo::SameName(name, known.name))
        {
            return &known;
        }
    }
    return nullptr;
}

std::vector<std::string>
FaultNames()
{
    std::vector<std::string> names;
    for (const KnownFault& known : KnownFaults())
    {
        names.emplace_back(known.name);
    }
    return names;
}

const std::vector<std::string>&
FaultKeys()
{
    static const std::vector<std::string> keys =
        {"what", "at", "on", "for", "to", "period", "duty"};
    return keys;
}

bool
KnownFault::Takes(const std::string& key) const
{
    return (" " + std::string(keys) + " ").find(" " + key + " ") != std::string::npos || Needs(key);
}

bool
KnownFault::Needs(const std::string& key) const
{
    return (" " + std::string(keys) + " ").find(" " + key + "! ") != std::string::npos;
}

std::string
FaultPlacesText(uint8_t places)
{
    std::vector<std::string> words;
    const auto add = [&](uint8_t place, const char* word) {
        if (places & place)
        {
            words.emplace_back(word);
        }
    };
    add(kCables, "a link (a-b), one of its cables (a-b#1), the one at a port (a:2), all");
    add(kOneWay, "one direction (a->b)");
    add(kPorts, "a port (a:2)");
    add(kHosts, "a host");
    add(kSwitches, "a switch");
    add(kGpus, "a GPU (gpu-3, server-0:gpu-3)");
    return topo::JoinNames(words);
}

} // namespace scenario
