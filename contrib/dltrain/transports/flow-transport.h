/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What carries flows: RDMA, TCP or UDP.
 */
#ifndef DLTRAIN_FLOW_TRANSPORT_H
#define DLTRAIN_FLOW_TRANSPORT_H

#include "contrib/dltrain/base/transport.h"
#include "scenarios/job/protocol.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace dltrain
{

class SocketStack;

/// \param network as which it is with RDMA \param stack of the fabric, with TCP and UDP; else it is
/// not used \param repeats flows begin again when they have ended, as FlowJob says
std::unique_ptr<Transport> MakeFlowTransport(const std::string& network,
                                             const scenario::ProtocolSpec& protocol,
                                             SocketStack* stack,
                                             const NetworkParts& parts,
                                             bool repeats = false);

/// Adds what TCP sent again, and what UDP lost; of RDMA's transports nothing.
void AddLosses(const Transport& transport, nlohmann::ordered_json& json);

/// The same for the terminal: "; 12 of 3,400 segments sent again, 1 time-out", "; 12 of 3,400
/// datagrams lost"; of RDMA "".
std::string LossesText(const Transport& transport);

} // namespace dltrain

#endif // DLTRAIN_FLOW_TRANSPORT_H
