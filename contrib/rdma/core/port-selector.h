/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a text means when ports are selected by name. Whoever checks a selector before there is a
 * network, and who captures at its ports, ask here, so that neither takes what the other refuses.
 *
 *     all         every port
 *     node        all ports of a node
 *     node:2      its port 2, the number as it is printed: node:02 is none
 *     a->b, a-b   the ports of node a on its links to b
 */
#ifndef RDMA_CORE_PORT_SELECTOR_H
#define RDMA_CORE_PORT_SELECTOR_H

#include <cstdint>
#include <string>
#include <string_view>

namespace rdma
{

enum class Selection : uint8_t
{
    kNo,
    kAll,
    kNode,
    kPort,
    kLink
};

/// \return whether port `number` of `node` is selected, by the node's name or its own
inline Selection
SelectsByNode(std::string_view selector, std::string_view node, uint32_t number)
{
    if (selector.substr(0, node.size()) != node)
    {
        return Selection::kNo;
    }
    const std::string_view rest = selector.substr(node.size());
    if (rest.empty())
    {
        return Selection::kNode;
    }
    return rest[0] == ':' && rest.substr(1) == std::to_string(number) ? Selection::kPort
                                                                      : Selection::kNo;
}

/// The same for a port on a link. \param peer the node on the other side; empty if there is none
inline Selection
SelectsPort(std::string_view selector,
            std::string_view node,
            uint32_t number,
            std::string_view peer)
{
    if (selector == "all")
    {
        return Selection::kAll;
    }
    const Selection byNode = SelectsByNode(selector, node, number);
    if (byNode != Selection::kNo || peer.empty() || selector.size() <= node.size() + 1 ||
        selector.substr(0, node.size()) != node || selector[node.size()] != '-')
    {
        return byNode;
    }
    const std::string_view rest = selector.substr(node.size() + 1);
    return rest == peer || (rest[0] == '>' && rest.substr(1) == peer) ? Selection::kLink
                                                                      : Selection::kNo;
}

} // namespace rdma

#endif // RDMA_CORE_PORT_SELECTOR_H
