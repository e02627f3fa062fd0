/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What carries flows: RDMA or TCP.
 */
#ifndef DLTRAIN_FLOW_TRANSPORT_H
#define DLTRAIN_FLOW_TRANSPORT_H

#include "scenarios/spec/protocol.h"
#include "transport.h"

#include "ns3/ordinary-stack.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace dltrain
{

/// \param network as which it is with RDMA \param stack of the fabric, with TCP; else it is not
/// used
std::unique_ptr<Transport> MakeFlowTransport(const std::string& network,
                                             const scenario::ProtocolSpec& protocol,
                                             ns3::OrdinaryStack* stack,
                                             const NetworkParts& parts);

/// Adds what TCP sent again; of RDMA's transports nothing.
void AddLosses(const Transport& transport, nlohmann::ordered_json& json);

/// The same for the terminal: "; 12 of 3,400 segments sent again, 1 time-out"; of RDMA "".
std::string LossesText(const Transport& transport);

} // namespace dltrain

#endif // DLTRAIN_FLOW_TRANSPORT_H
