/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-transport.h"

#include "contrib/dltrain/ranks/socket-part.h"

#include <nlohmann/json.hpp>

namespace dltrain
{

std::unique_ptr<Transport>
MakeFlowTransport(const std::string& network,
                  const scenario::ProtocolSpec& protocol,
                  SocketStack* stack,
                  const NetworkParts& parts,
                  bool repeats)
{
    return protocol.IsOrdinary() ? stack->MakeTransport(protocol, parts, repeats)
                                 : NetworkKind::Make(network, parts);
}

void
AddLosses(const Transport& transport, nlohmann::ordered_json& json)
{
    if (const auto* counts = dynamic_cast<const LossCounts*>(&transport))
    {
        counts->AddLosses(json);
    }
}

std::string
LossesText(const Transport& transport)
{
    const auto* counts = dynamic_cast<const LossCounts*>(&transport);
    return counts ? counts->LossesText() : "";
}

} // namespace dltrain
