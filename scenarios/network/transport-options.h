/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --transport: a name for a transport, with the settings of NICs and switches that belong to it.
 *
 *   rc    RoCEv2's reliable connection as its drivers set it up: every option has its own default.
 *         Nothing is set.
 *   irn   Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018: selective repeat and
 *         BDP-FC (3.1, 3.2), in a network without PFC.
 *   ndp   Handley et al., "Re-architecting datacenter networks and stacks for low latency and high
 *         performance", SIGCOMM 2017: switches cut payload off what they have no room for, packets
 *         are sprayed, receivers pull. contrib/rdma/transport/ndp-transport.h, rdma-switch.h.
 *   eqds  Olteanu et al., "An edge-queued datagram service for all datacenter traffic", NSDI 2022:
 *         senders say what they could send, receivers give credits. eqds-transport.h there.
 *   uet   Ultra Ethernet's transport in outline: a sender's window by delay and marks (NSCC),
 *         entropy by REPS, trimming, and credits if wanted. uet-transport.h there.
 *
 * A transport sets the defaults of other options. An option that is given beside it wins; it is an
 * error where the transport cannot work with it.
 */
#ifndef SCENARIOS_NETWORK_TRANSPORT_OPTIONS_H
#define SCENARIOS_NETWORK_TRANSPORT_OPTIONS_H

#include "scenarios/job/transport-spec.h"
#include "scenarios/options/validation.h"

#include <string>
#include <utility>
#include <vector>

namespace scenario
{

std::vector<NamedItem> TransportItems();

/// \param transport of --transport \return whether its switches trim packets
bool IsTrimming(const std::string& transport);
/// \param transport of --transport \return whether it gives packets priorities that switches serve
/// strictly
bool Prioritizes(const std::string& transport);

/// Why a transport has no congestion control beside it; empty: it has one.
std::string RefusalOfLaws(const std::string& transport);

/// Why messages of a transport have no priority that a user chooses; empty: they have one.
std::string RefusalOfPriorities(const std::string& transport);

/// \param transport of --transport \return whether its senders always need the marks of switches
bool HearsMarks(const std::string& transport);

/// \return whether READs can be posted
bool HasReads(const TransportSpec& transport);

/// \param group, json where the options stand
std::vector<Option> TransportOptionRows(const Section& section);

/// Decides what belongs to --transport. After ApplyInfiniBand and ApplyCompat, before any other
/// option of the fabric is looked at: ApplyLoadBalancing too.
TransportSpec ApplyTransport(Validation* v);

/// Attributes of ns-3 that the transport has besides those of options. After ApplyTransport.
std::vector<std::pair<std::string, std::string>> TransportAttributes(const Validation& v);

} // namespace scenario

#endif // SCENARIOS_NETWORK_TRANSPORT_OPTIONS_H
