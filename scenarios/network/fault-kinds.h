/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What can go wrong, and what --fault takes to say so.
 */
#ifndef SCENARIOS_NETWORK_FAULT_KINDS_H
#define SCENARIOS_NETWORK_FAULT_KINDS_H

#include "scenarios/network/fault-options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace scenario
{

/// The kinds of names of a fault's place.
enum FaultPlace : uint8_t
{
    kCables = 1, ///< a link a-b, the cable at a port, all
    kOneWay = 2, ///< and a->b, a direction
    kPorts = 4,  ///< a port
    kHosts = 8,  ///< a host, all its NICs
    kSwitches = 16,
    kGpus = 32,
};

/// A kind of fault, with everything that is known about it.
struct KnownFault
{
    const char* name;
    FaultKind kind;
    uint8_t places;
    const char* keys; ///< beside at and on; with '!' those that have to be there
    const char* toAllowed;
    const char* help;

    /// Whether it takes a key beside at and on.
    bool Takes(const std::string& key) const;
    bool Needs(const std::string& key) const;
};

/// In the order in which they are listed.
const std::vector<KnownFault>& KnownFaults();

/// \return the fault of that name; null if there is none
const KnownFault* FindFault(const std::string& name);

std::vector<std::string> FaultNames();

/// All keys of an entry of --fault.
const std::vector<std::string>& FaultKeys();

/// "a link (a-b), a port (a:2)", as errors say it. \param places FaultPlace
std::string FaultPlacesText(uint8_t places);

} // namespace scenario

#endif // SCENARIOS_NETWORK_FAULT_KINDS_H
